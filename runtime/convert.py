"""Convert checkpoints between a plain state dict and any tensor x pipeline layout. Exact in both directions.

    python -m onescience_check.runtime.convert runs/checkpoints plain.pt
    python -m onescience_check.runtime.convert runs/checkpoints other --tensor-model-parallel-size 1 ...
    python -m onescience_check.runtime.convert plain.pt start --tensor-model-parallel-size 2 \\
        --pipeline-model-parallel-size 4 --script train.py [flags of train.py]

A name ending in .pt is a plain state dict of the undistributed model. Of a plain one the training script
tells which stage holds a weight and how it is cut. Optimizer state moves between layouts, so that training
goes on from there.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .checkpoint.convert import Blueprint, Whole, adopt_plain, gather, scatter
from .checkpoint.files import Layout, write_tensors
from .checkpoint.resume import read_plain, stage_state
from .checkpoint.sharding import cuts_of
from .errors import UserError
from .scripts import read_script


def main(argv: Sequence[str] | None = None) -> int:
    """Convert as the command line says; 0 if done, 1 with a message if not."""
    description, examples = __doc__.split("\n\n", 1)
    parser = argparse.ArgumentParser(
        prog="python -m onescience_check.runtime.convert",
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "source", type=Path, help="plain .pt file, folder of checkpoints, or one iter_* folder"
    )
    parser.add_argument("target", type=Path, help="plain .pt file, or folder for the checkpoint")
    parser.add_argument("--tensor-model-parallel-size", type=int, default=1)
    parser.add_argument("--pipeline-model-parallel-size", type=int, default=1)
    parser.add_argument("--num-virtual-stages-per-pipeline-rank", type=int, default=1)
    parser.add_argument(
        "--script", nargs=argparse.REMAINDER, help="training script and its flags; comes last"
    )
    options = parser.parse_args(argv)
    try:
        print(f"wrote {convert(options)}")
    except (UserError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def convert(options: argparse.Namespace) -> Path:
    """Convert `options.source` to `options.target`. Returns what was written.

    Raises:
        UserError: the two do not fit, or the target exists.
    """
    sizes = (
        options.tensor_model_parallel_size,
        options.pipeline_model_parallel_size,
        options.num_virtual_stages_per_pipeline_rank,
    )
    if min(sizes) < 1:
        raise UserError("parallel sizes must be 1 or more")
    if options.source.suffix == ".pt":
        if options.target.suffix == ".pt":
            raise UserError("both names end in .pt: a plain checkpoint is converted to a folder")
        if not options.script:
            raise UserError(
                "a plain checkpoint does not tell its stages: add --script train.py and its flags, last"
            )
        plain = read_plain(options.source)
        whole = adopt_plain(plain, blueprint_of_script(options.script, sizes[0]))
    else:
        whole = gather(options.source)
    if options.target.suffix == ".pt":
        return _write_plain(whole, options.target)
    return scatter(whole, Layout(*sizes, stages=whole.blueprint.num_stages), options.target)


def blueprint_of_script(command: Sequence[str], tensor_size: int) -> Blueprint:
    """Stages and cuts of the model of a training script, which is run up to its call of ``pretrain``.

    The stages are built in this process as tensor-parallel rank 0 of a world that has no other members.

    Args:
        command: the script and its flags.
        tensor_size: tensor-parallel ranks to build for.
    """
    import torch.distributed as dist
    from megatron.core import parallel_state
    from torch.testing._internal.distributed.fake_pg import FakeStore

    from . import cpu_emulation
    from .flags import parse_args
    from .pipeline.build import build_chunks, named_stages
    from .process_groups import destroy_process_groups

    script = read_script(command)
    cpu_emulation.install()
    args = parse_args(script.args_defaults, script.extra_args_provider, script.flags)
    args.tensor_model_parallel_size, args.pipeline_model_parallel_size = tensor_size, 1
    args.num_virtual_stages_per_pipeline_rank, args.device = None, "cpu"
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=tensor_size)
    try:
        parallel_state.initialize_model_parallel(tensor_size, 1, create_gloo_process_groups=False)
        chunks = build_chunks(script.model_provider, script.model_type)
        blueprint = Blueprint(chunks[0].num_stages)
        for number, stage in named_stages(chunks):
            blueprint.cuts.update(cuts_of(stage))
            for name in stage_state(stage):
                blueprint.stages.setdefault(name, []).append(number)
        return blueprint
    finally:
        destroy_process_groups()


def _write_plain(whole: Whole, target: Path) -> Path:
    if target.exists():
        raise UserError(f"{target} exists and is left alone: choose another name")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.incomplete")
    write_tensors(draft, whole.model)
    os.rename(draft, target)
    return target


if __name__ == "__main__":
    sys.exit(main())
