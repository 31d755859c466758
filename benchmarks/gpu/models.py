"""The models that are measured, and how the runtime is told to build them without a configuration file."""

import math
from functools import partial
from typing import NamedTuple

import torch

from onescience_check.reference_models.models import pangu_distributed_4stage
from onescience_check.reference_models.models.pangu import Pangu, pangu_loss
from onescience_check.reference_models.models.pangu.grids import INPUT_CHANNELS, OUTPUT_CHANNELS, token_grids
from onescience_check.runtime import process_groups
from onescience_check.runtime.core import mpu
from onescience_check.runtime.flags import core_transformer_config_from_args, get_args, parse_args
from onescience_check.runtime.pipelinetensorshapeconfig import PipelineTensorShapeConfig

FULL = {
    "img_size": (721, 1440),
    "patch_size": (2, 4, 4),
    "embed_dim": 192,
    "num_heads": (6, 12, 12, 6),
    "window_size": (2, 6, 12),
    "depths": (2, 6, 6, 2),
}
# Heads of 32 channels, as at full size; latitude needs padding, longitude has several windows.
SMALL = FULL | {
    "img_size": (89, 192),
    "embed_dim": 64,
    "num_heads": (2, 4, 4, 2),
    "depths": (2, 4, 4, 2),
}
TINY = SMALL | {"img_size": (37, 96), "embed_dim": 32, "num_heads": (2, 2, 2, 2), "depths": (1, 2, 2, 1)}
WIDE = FULL | {"embed_dim": 256, "num_heads": (8, 16, 16, 8)}  # four ranks cannot share six heads
SIZES = {"full": FULL, "wide": WIDE, "small": SMALL, "tiny": TINY}


class Layout(NamedTuple):
    """How a world is split; ``chunks`` per rank for the interleaved schedule."""

    tensor: int = 1
    pipeline: int = 1
    chunks: int | None = None
    window: int = 1
    size: str = "full"

    @property
    def ranks(self) -> int:
        return self.tensor * self.pipeline * self.window

    def start(self, device: str, bf16: bool) -> process_groups.World:
        """Parse flags that say so, and split the world."""
        words = ["--tensor-model-parallel-size", str(self.tensor)]
        words += ["--pipeline-model-parallel-size", str(self.pipeline)]
        words += ["--window-parallel-size", str(self.window), "--device", device]
        words += [] if self.chunks is None else ["--num-virtual-stages-per-pipeline-rank", str(self.chunks)]
        words += ["--bf16"] if bf16 else []
        parse_args({}, None, [*words, "--lr", "1e-4", "--use-cpu-initialization"])
        return process_groups.initialize_process_groups(
            self.tensor, self.pipeline, self.chunks, device=device, window_parallel_size=self.window
        )


# What is timed, by name: on as many GPUs as a layout has ranks.
LAYOUTS = {
    "one": Layout(),
    "tp2": Layout(tensor=2),
    "wp2": Layout(window=2),
    "pp2": Layout(pipeline=2),
    "pp2_interleaved": Layout(pipeline=2, chunks=2),
    "pp4": Layout(pipeline=4),
    "tp2_pp2": Layout(tensor=2, pipeline=2),
    "tp2_pp2_interleaved": Layout(tensor=2, pipeline=2, chunks=2),
    "wp2_pp2": Layout(window=2, pipeline=2),
    "one_wide": Layout(size="wide"),
    "tp4_wide": Layout(tensor=4, size="wide"),
    "tp2_pp4": Layout(tensor=2, pipeline=4),
    "wp2_pp4": Layout(window=2, pipeline=4),
}


def without_pipeline(layout: Layout) -> str | None:
    """Name of the layout that splits what this one splits, but for the stages."""
    wanted = layout._replace(pipeline=1, chunks=None)
    return next((name for name, other in LAYOUTS.items() if other == wanted), None)


def plain(size: dict, device, dtype) -> Pangu:
    """The undistributed model without drop-path, the same weights at every call."""
    torch.manual_seed(0)
    model = Pangu(**size, drop_path=0.0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias_table"):
                parameter.normal_(std=0.2)  # at their small start, wrong biases would hardly be seen
    return model.to(device=device, dtype=dtype)


def batch(size: dict, count: int, device, seed: int = 1) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """``count`` pairs of input and target, standard normal, float32."""
    generator = torch.Generator().manual_seed(seed)
    rows, columns = size["img_size"]
    return [
        tuple(
            torch.randn(1, channels, rows, columns, generator=generator).to(device)
            for channels in (INPUT_CHANNELS, OUTPUT_CHANNELS)
        )
        for _ in range(count)
    ]


def stage_provider(size: dict):
    """A guide-style ``model_provider`` of the four stages."""

    def model_provider(pre_process=False, post_process=True):
        args = get_args()
        number = mpu.get_pipeline_model_parallel_rank()
        stage = getattr(pangu_distributed_4stage, f"Pangu_stage{number}")
        fine, coarse = token_grids(size["img_size"], size["patch_size"])
        boundary = [[1, math.prod(coarse), 2 * size["embed_dim"]], [1, math.prod(fine), size["embed_dim"]]]
        args.pipeline_tensor_shape_config = PipelineTensorShapeConfig(
            4, [boundary] * 3, args.window_parallel_size
        )
        return stage(**size, drop_path=0.0, config=core_transformer_config_from_args(args))

    return model_provider


def forward_step(data_iterator, model):
    """One micro-batch for the schedule; tensors are on the device already."""
    x, target = next(data_iterator)
    output = model(x if model.pre_process else None)

    def loss_func(target, output):
        loss = pangu_loss(output, target)
        count = torch.ones((), dtype=torch.int, device=loss.device)
        return loss, count, {"loss": torch.stack([loss.detach(), count.to(loss)])}

    return output, partial(loss_func, target)
