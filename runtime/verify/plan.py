"""What one verification is asked to do. Plain data: it is handed to every process."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Plan:
    """One target, one layout.

    Args:
        script: training script by the guide, an absolute path.
        original: the plain model as "module:Class", or "" where there is none.
        stages: classes of the stages as "module:Class", in order, where no script builds them; `script` is then the
            file of the first.
        roots: folders from which absolute imports of the user's tree start.
        renamed: packages that are installed under another name than their folder's: {dotted name: folder}.
        aliases: {imported name: name of the module that stands for it}.
        stubs: modules that need not exist: whatever is imported from them is an empty stand-in.
        tp, pp, dp: the layout.
        overrides: {dotted key of a YAML file: value}.
        script_args: flags for the script itself.
        input_shape: of one micro-batch of the original, or empty to find it.
        names: {pattern of a stage's parameter name: replacement}, which gives the original's name.
        limit: seconds that one process may take.
        memory: GiB that one process may take.
    """

    script: str
    original: str = ""
    stages: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    stubs: tuple[str, ...] = ()
    tp: int = 1
    pp: int = 1
    dp: int = 1
    overrides: dict[str, object] = field(default_factory=dict)
    script_args: tuple[str, ...] = ()
    input_shape: tuple[int, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    limit: float = 60.0
    memory: float = 12.0

    @property
    def parts(self) -> int:
        """Ranks that share tokens (windows, a sequence), by the script's own flag: Megatron's context-parallel."""
        flags = [word for flag in self.script_args for word in flag.split("=", 1)]
        for flag, value in itertools.pairwise(flags):
            if flag in ("--window-parallel-size", "--context-parallel-size") and value.isdigit():
                return max(1, int(value))
        return 1
