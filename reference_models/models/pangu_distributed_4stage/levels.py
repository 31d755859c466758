"""Which pressure levels a window-parallel rank embeds and recovers, and all of them together again.

# B batch, V variable, P pressure level, Y latitude, X longitude (cyclic)
"""

import torch

from ...modules.padding import split_padding
from ...modules.window_parallel import gather_fields, own_levels, shares_of_levels
from ..pangu.grids import PRESSURE_LEVELS, SURFACE_VARIABLES, UPPER_AIR_VARIABLES, token_levels


def own_pressure_levels(patch_size) -> tuple[bool, range]:
    """Whether this rank has the surface, and which of the pressure levels it has.

    Raises:
        ValueError: the levels cannot be shared.
    """
    tokens = own_levels(token_levels(patch_size[0]))
    return tokens.start == 0, _pressure_levels(tokens, patch_size[0])


def gather_levels(surface: torch.Tensor | None, upper_air: torch.Tensor, patch_size):
    """The fields of all window-parallel ranks: surface (B, V, Y, X), upper air (B, V, P, Y, X).

    surface: None where this rank has it not; upper_air: (B, V, levels of this rank, Y, X).
    """
    shares = shares_of_levels(token_levels(patch_size[0]))
    if len(shares) == 1:
        return surface, upper_air
    channels = [UPPER_AIR_VARIABLES * len(_pressure_levels(tokens, patch_size[0])) for tokens in shares]
    channels[0] += SURFACE_VARIABLES  # the surface is the first level of tokens
    mine = upper_air.flatten(1, 2)
    if surface is not None:
        mine = torch.cat([surface, mine], dim=1)
    first, *others = gather_fields(mine, channels)
    upper_air = [first[:, SURFACE_VARIABLES:], *others]
    upper_air = torch.cat([part.unflatten(1, (UPPER_AIR_VARIABLES, -1)) for part in upper_air], dim=2)
    return first[:, :SURFACE_VARIABLES], upper_air


def _pressure_levels(tokens: range, depth: int) -> range:
    """The pressure levels of these levels of tokens, of which level 0 is the surface; ``depth`` of them in a patch."""
    levels = token_levels(depth)
    before, after = split_padding(PRESSURE_LEVELS, (levels - 1) * depth)
    first, end = (max(0, (level - 1) * depth) for level in (tokens.start, tokens.stop))
    if len(tokens) < levels and (before or after > 1 or first == end):
        raise ValueError(
            f"window parallelism needs patches that cut {PRESSURE_LEVELS} pressure levels with at most one level of "
            f"padding, and two levels of tokens a rank; these are of {depth} levels"
        )
    return range(first, min(end, PRESSURE_LEVELS))
