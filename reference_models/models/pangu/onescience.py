"""Take up weights that were trained with OneScience's own Pangu-Weather (`onescience.models.pangu`).

    python -m onescience_check.reference_models.models.pangu.onescience model.pth plain.pt

`plain.pt` is a state dict of our `Pangu`, which `--pretrained-checkpoint` takes at any layout. All weights are the same
numbers under other names. Where the two models compute something else, README.md of the example says.
"""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from onescience_check.runtime.checkpoint.files import read_tensors, write_tensors
from onescience_check.runtime.errors import UserError
from onescience_check.runtime.language import local

from .grids import SURFACE_VARIABLES

_NAMES = (
    (re.compile(r"^module\."), ""),
    (re.compile(r"^(patchembed[23]d)\.embedder\."), r"\1.embedding."),
    (re.compile(r"\.attn\.attentioner\."), ".attn.attention."),
    (re.compile(r"\.mlp\.(fc[12])\."), r".mlp.mlp.\1."),
)
_BUFFERS = ("earth_position_index", "attn_mask")  # made anew from the sizes
_SECOND_NAMES = re.compile(
    r"\.(Fuser|Sampler|Reconvery)\."
)  # of what is `fuser`, `sampler`, `recovery` already


def from_onescience(
    theirs: Mapping[str, torch.Tensor], window: Sequence[int] = (2, 6, 12)
) -> dict[str, torch.Tensor]:
    """The state dict of our `Pangu` that holds the weights of theirs.

    Args:
        theirs: their state dict.
        window: cells of a window (pressure, latitude, longitude), by which they flatten the position bias.

    Raises:
        UserError: a position bias is not of such windows.
    """
    ours = {}
    for name, value in theirs.items():
        if name.rsplit(".", 1)[-1] in _BUFFERS or _SECOND_NAMES.search(name):
            continue
        for pattern, new in _NAMES:
            name = pattern.sub(new, name)
        if ".qkv." in name:
            for part, rows in zip("qkv", value.chunk(3), strict=True):
                ours[name.replace(".qkv.", f".{part}_proj.")] = rows.clone()
        elif name.endswith("earth_position_bias_table"):
            ours[name] = _bias_table(name, value, window)
        else:
            ours[name] = value
    embedding = ours.get("patchembed2d.embedding.proj.weight")
    if embedding is not None:  # their masks are land, soil, topography; ours land, topography, soil
        land = SURFACE_VARIABLES
        order = [*range(land + 1), land + 2, land + 1]
        ours["patchembed2d.embedding.proj.weight"] = embedding[:, order].clone()
    return ours


def _bias_table(name: str, table: torch.Tensor, window: Sequence[int]) -> torch.Tensor:
    """Theirs has key before query and types and heads last: (key P, query P, key Y, query Y, distance), T, H."""
    w_p, w_y, w_x = window
    if table.ndim != 3 or len(table) != w_p**2 * w_y**2 * (2 * w_x - 1):
        raise UserError(
            f"{name} of shape {list(table.shape)} is not of windows of {list(window)} cells: give --window"
        )
    types, heads = table.shape[1:]
    return table.view(w_p, w_p, w_y, w_y, 2 * w_x - 1, types, heads).permute(5, 6, 1, 3, 0, 2, 4).contiguous()


def main(argv: Sequence[str] | None = None) -> int:
    """Convert as the command line says; 0 if done, 1 with a message if not."""
    parser = argparse.ArgumentParser(
        prog="python -m onescience_check.reference_models.models.pangu.onescience",
        description=__doc__.split("\n")[0],
    )
    parser.add_argument("source", type=Path, help="what their training script saved: model.pth")
    parser.add_argument("target", type=Path, help="plain state dict to write (.pt)")
    parser.add_argument("--window", type=int, nargs=3, default=[2, 6, 12], help="default: 2 6 12")
    options = parser.parse_args(argv)
    try:
        content = read_tensors(options.source)
        theirs = content.get("model_state_dict", content) if isinstance(content, dict) else None
        if not isinstance(theirs, dict) or not all(
            isinstance(value, torch.Tensor) for value in theirs.values()
        ):
            raise UserError(f"{options.source} holds no state dict")
        if options.target.exists():
            raise UserError(f"{options.target} exists and is left alone: choose another name")
        write_tensors(options.target, from_onescience(theirs, options.window))
    except (UserError, OSError) as error:
        print(local(f"error: {error}"), file=sys.stderr)
        return 1
    print(local(f"wrote {options.target}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
