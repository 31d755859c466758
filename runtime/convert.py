"""Put the weights of a distributed training together: a state dict of the undistributed model, exact.

    python -m onescience_check.runtime.convert runs/checkpoints plain.pt

The way back needs no conversion: ``--pretrained-checkpoint plain.pt`` takes weights, and ``--load`` a whole run, at any
layout.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .checkpoint.convert import gather
from .checkpoint.files import write_tensors
from .errors import UserError
from .language import local


def main(argv: Sequence[str] | None = None) -> int:
    """Convert as the command line says; 0 if done, 1 with a message if not."""
    description, rest = __doc__.split("\n\n", 1)
    parser = argparse.ArgumentParser(
        prog="python -m onescience_check.runtime.convert",
        description=description,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", type=Path, help="folder of checkpoints, or one iter_* folder")
    parser.add_argument("target", type=Path, help="plain state dict to write (.pt)")
    options = parser.parse_args(argv)
    try:
        convert(options.source, options.target)
    except (UserError, OSError) as error:
        print(local(f"error: {error}"), file=sys.stderr)
        return 1
    print(local(f"wrote {options.target}"))
    return 0


def convert(source: Path, target: Path) -> None:
    """Write the weights of the newest checkpoint in `source` to `target`.

    Raises:
        UserError: there is none, it is damaged, or the target exists.
    """
    if target.exists():
        raise UserError(f"{target} exists and is left alone: choose another name")
    weights = gather(source).model
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.incomplete")
    write_tensors(draft, weights)
    os.rename(draft, target)


if __name__ == "__main__":
    sys.exit(main())
