"""Command-line flags, by Megatron's own names, and the TransformerConfig made of them."""

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence

import torch

from .errors import UserError
from .language import local

_args: argparse.Namespace | None = None


class _Parser(argparse.ArgumentParser):
    """Raises UserError instead of exiting, so that one rank speaks for all."""

    def error(self, message: str):
        raise UserError(f"{message}. See {self.prog} --help")

    def print_help(self, file=None) -> None:
        self.description = local(self.description or "")
        for group in self._action_groups:
            group.title = local(group.title or "")
        for action in self._actions:
            action.help = local(action.help or "")
        if int(os.environ.get("RANK", 0)) == 0:
            super().print_help(file)


def get_args() -> argparse.Namespace:
    """The flags of this run.

    Raises:
        RuntimeError: nothing was parsed yet.
    """
    if _args is None:
        raise RuntimeError("get_args() before pretrain() or parse_args(): there are no flags yet")
    return _args


def set_args(args: argparse.Namespace | None) -> None:
    """Make `args` what `get_args` returns."""
    global _args
    _args = args


def parse_args(
    args_defaults: dict | None = None,
    extra_args_provider: Callable[[argparse.ArgumentParser], argparse.ArgumentParser] | None = None,
    argv: Sequence[str] | None = None,
) -> argparse.Namespace:
    """Parse and check the flags, and keep them for `get_args`.

    Args:
        args_defaults: other defaults, keyed by flag name with underscores (``{"dataloader_type":
            "cyclic"}``).
        extra_args_provider: adds the script's own flags to the parser and returns it.
        argv: the words of the command line, None for ``sys.argv[1:]``.

    Raises:
        UserError: an unknown flag or default, a bad value, or flags that contradict each other.
    """
    parser = build_parser()
    if extra_args_provider is not None:
        parser = extra_args_provider(parser)
    known = {action.dest: action for action in parser._actions}
    for name, value in (args_defaults or {}).items():
        if name not in known:
            raise UserError(
                f"unknown flag {name!r} among the defaults: write it as in --help, with underscores"
            )
        _check_default(known[name], name, value)
    parser.set_defaults(**(args_defaults or {}))
    args = parser.parse_args(sys.argv[1:] if argv is None else list(argv))
    check_args(args)
    set_args(args)
    return args


def build_parser() -> argparse.ArgumentParser:
    """The parser with every flag of the runtime."""
    parser = _Parser(description="Tensor- and pipeline-parallel training", allow_abbrev=False)
    group = parser.add_argument_group("parallelism")
    group.add_argument("--tensor-model-parallel-size", type=int, default=1, help="ranks that share one layer")
    group.add_argument("--pipeline-model-parallel-size", type=int, default=1, help="ranks in a pipeline")
    group.add_argument(
        "--num-virtual-stages-per-pipeline-rank",
        type=int,
        help="model chunks per rank: the interleaved schedule",
    )
    group.add_argument(
        "--window-parallel-size", type=int, default=1, help="ranks that hold some windows of the grid each"
    )
    group.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    group.add_argument(
        "--distributed-backend", choices=["nccl", "gloo"], help="default: what the devices allow"
    )
    group.add_argument("--distributed-timeout-minutes", type=float, default=10)
    group.add_argument(
        "--use-cpu-initialization", action="store_true", help="initial weights equal at every layout"
    )

    group = parser.add_argument_group("model (for layers that ask the TransformerConfig)")
    group.add_argument("--num-layers", type=int)
    group.add_argument("--hidden-size", type=int)
    group.add_argument("--num-attention-heads", type=int)
    group.add_argument("--bf16", action="store_true", help="bfloat16 weights with float32 master copies")
    group.add_argument(
        "--recompute-granularity", choices=["full"], help="stages recompute layers in backward"
    )

    group.add_argument(
        "--cuda-graph",
        action="store_true",
        help="start the passes of a micro-batch with one call (GPUs, no pipeline)",
    )

    group = parser.add_argument_group("training")
    group.add_argument("--micro-batch-size", type=int, default=1)
    group.add_argument(
        "--global-batch-size", type=int, help="samples per step (default: one micro-batch per replica)"
    )
    group.add_argument("--train-iters", type=int, default=100)
    group.add_argument(
        "--exit-interval", type=int, help="save and stop when the iteration is a multiple of this"
    )
    group.add_argument(
        "--exit-duration-in-mins", type=float, help="save and stop before so many minutes are over"
    )
    group.add_argument(
        "--skip-nonfinite-steps",
        type=int,
        default=0,
        help="go on after so many steps of which loss or gradient is not finite; they change no weight",
    )
    group.add_argument("--seed", type=int, default=1234)
    group.add_argument(
        "--eval-interval", type=int, default=0, help="validate every so many iterations, 0 for never"
    )
    group.add_argument("--eval-iters", type=int, default=1, help="steps per validation")
    group.add_argument(
        "--full-validation", action="store_true", help="validate on each sample once, instead of --eval-iters"
    )
    group.add_argument(
        "--dataloader-type", choices=["cyclic", "single"], default="cyclic", help="shuffled, or in order"
    )
    group.add_argument("--num-workers", type=int, default=0, help="loader processes per rank")

    group = parser.add_argument_group("optimizer (AdamW)")
    group.add_argument("--lr", type=float, default=5e-4)
    group.add_argument("--min-lr", type=float, default=0.0)
    group.add_argument("--lr-decay-style", choices=["constant", "linear", "cosine"], default="cosine")
    group.add_argument("--lr-decay-iters", type=int, help="default: --train-iters")
    group.add_argument("--lr-warmup-iters", type=int, default=0)
    group.add_argument("--weight-decay", type=float, default=0.01)
    group.add_argument("--adam-beta1", type=float, default=0.9)
    group.add_argument("--adam-beta2", type=float, default=0.999)
    group.add_argument("--adam-eps", type=float, default=1e-8)
    group.add_argument(
        "--clip-grad", type=float, default=1.0, help="largest global gradient norm, 0 for no limit"
    )

    group = parser.add_argument_group("checkpoints and records")
    group.add_argument("--save", help="folder to write checkpoints to")
    group.add_argument("--save-interval", type=int, default=100)
    group.add_argument("--keep-last", type=int, help="delete all but so many of the newest checkpoints")
    group.add_argument(
        "--keep-best", type=int, default=0, help="and besides keep so many with the lowest validation loss"
    )
    group.add_argument(
        "--load", help="folder to resume from; the same as --save to go on after an interruption"
    )
    group.add_argument(
        "--pretrained-checkpoint",
        help="plain checkpoint (.pt) or folder of checkpoints to take the first weights from",
    )
    group.add_argument("--log-interval", type=int, default=1)
    group.add_argument("--log-dir", help="folder for loss.csv and loss.png")
    group.add_argument("--tensorboard-dir", help="folder for TensorBoard events")
    return parser


def _check_default(action: argparse.Action, name: str, value) -> None:
    """A default from a YAML file must be of the flag's type, as a word of the command line would be."""
    if value is None:
        return
    switch = action.nargs == 0
    kind = bool if switch else (action.type or str)
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or (isinstance(value, bool) and not switch):
        raise UserError(f"{name}: {value!r} is not of type {kind.__name__}")
    if action.choices and value not in action.choices:
        raise UserError(f"{name}: choose one of {', '.join(map(str, action.choices))}, not {value!r}")


def check_args(args: argparse.Namespace) -> None:
    """Raise UserError for values that cannot be meant."""
    for name in ("micro_batch_size", "train_iters", "save_interval", "log_interval", "eval_iters"):
        if getattr(args, name) < 1:
            raise UserError(f"--{name.replace('_', '-')} must be 1 or more, not {getattr(args, name)}")
    for name in (
        "lr",
        "min_lr",
        "weight_decay",
        "clip_grad",
        "lr_warmup_iters",
        "eval_interval",
        "num_workers",
        "skip_nonfinite_steps",
        "keep_best",
    ):
        if not 0 <= getattr(args, name) < math.inf:
            raise UserError(f"--{name.replace('_', '-')} must be 0 or more, not {getattr(args, name)}")
    for name in ("exit_interval", "exit_duration_in_mins", "keep_last"):
        value = getattr(args, name)
        if value is not None and not value >= (1 if isinstance(value, int) else 0):
            raise UserError(f"--{name.replace('_', '-')} must be 1 or more, not {value}")
    if args.keep_best and (args.keep_last is None or not args.eval_interval):
        raise UserError("--keep-best needs --keep-last, which deletes, and --eval-interval, which compares")
    if args.keep_best and args.save_interval % args.eval_interval:
        raise UserError(
            f"--keep-best compares checkpoints that are validated: --save-interval {args.save_interval} must be a "
            f"multiple of --eval-interval {args.eval_interval}"
        )
    if args.cuda_graph and (args.pipeline_model_parallel_size > 1 or not torch.cuda.is_available()):
        raise UserError("--cuda-graph needs a GPU, and --pipeline-model-parallel-size 1: leave it out")
    virtual = args.num_virtual_stages_per_pipeline_rank
    if virtual is not None and virtual < 2:
        raise UserError("--num-virtual-stages-per-pipeline-rank must be 2 or more; leave it out for 1F1B")
    decay = args.lr_decay_iters or args.train_iters
    if args.lr_warmup_iters >= decay:
        raise UserError(
            f"--lr-warmup-iters {args.lr_warmup_iters} leaves nothing of the {decay} iterations of the decay"
        )
    if args.min_lr > args.lr:
        raise UserError(f"--min-lr {args.min_lr} is above --lr {args.lr}")
    heads = args.num_attention_heads
    if heads is not None and heads % args.tensor_model_parallel_size:
        raise UserError(
            f"--num-attention-heads {heads} is not a multiple of --tensor-model-parallel-size "
            f"{args.tensor_model_parallel_size}"
        )


def core_transformer_config_from_args(args: argparse.Namespace):
    """The megatron-core TransformerConfig that these flags mean.

    Weather models give their widths to the modules themselves; the width fields that TransformerConfig
    insists on take the smallest values that pass its checks unless flags set them.
    """
    from megatron.core.transformer import TransformerConfig

    dtype = torch.bfloat16 if args.bf16 else torch.float32
    tensor, pipeline = args.tensor_model_parallel_size, args.pipeline_model_parallel_size
    virtual = args.num_virtual_stages_per_pipeline_rank
    heads = args.num_attention_heads or tensor
    return TransformerConfig(
        num_layers=args.num_layers or pipeline * (virtual or 1),
        hidden_size=args.hidden_size or heads,
        num_attention_heads=heads,
        tensor_model_parallel_size=tensor,
        pipeline_model_parallel_size=pipeline,
        context_parallel_size=args.window_parallel_size,
        virtual_pipeline_model_parallel_size=virtual,
        use_cpu_initialization=args.use_cpu_initialization
        or args.device == "cpu"
        or not torch.cuda.is_available(),
        params_dtype=dtype,
        pipeline_dtype=dtype,
        bf16=args.bf16,
        gradient_accumulation_fusion=False,
        recompute_granularity=args.recompute_granularity,
        recompute_method="uniform" if args.recompute_granularity else None,
        recompute_num_layers=1 if args.recompute_granularity else None,
        # The interleaved schedule sends while it computes, but for its warm-up and end (`overlap_p2p_comm_warmup_flush`
        # hung over NCCL with two ranks); 1F1B waits for each message.
        overlap_p2p_comm=virtual is not None,
        batch_p2p_comm=virtual is None,
        batch_p2p_sync=False,
        deallocate_pipeline_outputs=True,
        cuda_graph_scope=[],
    )
