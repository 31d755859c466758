"""How the code of each case that crashes or hangs is brought to fail: `run.py` beside it, on ranks of one machine."""

from __future__ import annotations

HEAD = """import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer import TransformerConfig

dist.init_process_group("gloo")
parallel_state.initialize_model_parallel({tp}, {pp})
model_parallel_cuda_manual_seed(1)
cfg = TransformerConfig(
    num_layers=4, hidden_size=64, num_attention_heads=4, use_cpu_initialization=True, tensor_model_parallel_size={tp},
    pipeline_model_parallel_size={pp}, pipeline_dtype=torch.float32, batch_p2p_comm=False,
)
first, last = parallel_state.is_pipeline_first_stage(), parallel_state.is_pipeline_last_stage()
"""
SCHEDULE = """get_forward_backward_func()(forward_step_func={step}, data_iterator={data}, model=model,
    num_microbatches=2, seq_length=8, micro_batch_size=2, forward_only=False)"""
OWN = """from onescience_check.runtime.pipeline.chunk import PipelineChunk
from onescience_check.runtime.pipeline.schedule import run_schedule
from onescience_check.runtime.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from onescience_check.runtime.training import get_args
from onescience_check.runtime.training.arguments import parse_args

sizes = ["--tensor-model-parallel-size", "1", "--pipeline-model-parallel-size", "2", "--micro-batch-size", "{batch}"]
parse_args(argv=sizes)
shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[{shapes}])


def loss_func(output):
    loss, tokens = output[0].mean(), torch.ones((), dtype=torch.int)
    return loss, tokens, {{"loss": torch.cat([loss.detach().view(1), tokens.view(1)])}}


def forward_step(data_iterator, model):
    return model(next(data_iterator) if first else None), loss_func


"""
_FIELDS = "iter([{'field': torch.randn(8, 2, 64), 'label': torch.randn(8, 2, 64), 'area': torch.rand(8, 2, 64)}] * 2)"
_STAGE = """class Stage(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.config, self.body, self.label_shape = cfg, torch.nn.Linear(64, 64), (8, 2, 64)
        self.model_type = None

    def set_input_tensor(self, tensors):
        self.received = tensors[0]

    def forward(self, x):
        return self.body(x if x is not None else self.received)


model = Stage()
"""

# Sizes tp and pp, and what the program does after its groups are there.
RUNS: dict[str, tuple[int, int, str]] = {
    "all-reduce-returned": (2, 1, "bad.Pair(64, 128, cfg)(torch.randn(4, 64))"),
    "broadcasts-do-not-pair": (
        2, 1, "for _ in range(3):\n"
        "    data = iter([{'field': torch.randn(4, 4), 'label': torch.randn(4, 4), 'lead': torch.randn(3)}])\n"
        "    bad.tp_batch(data, (4, 4), 3)",
    ),
    "config-none": (1, 2, "bad.first_thing_the_schedule_does(bad.DecoderStage(64, cfg))"),
    "early-return-before-reduce": (
        2, 1, "class Done:\n    def done(self):\n        return True\n\n\nqueue = bad.WriteQueue()\n"
        "if dist.get_rank() == 0:\n    queue.running[0] = Done()\nqueue.finished()",
    ),
    "end-stage-attribute": (
        1, 2, "bad.FieldModel(cfg, 8, 64, 1, pre_process=first, post_process=last)",
    ),
    "float-token-count": (1, 2, _STAGE + SCHEDULE.format(step="bad.forward_step", data=_FIELDS)),
    "fused-latent-split": (2, 1, "bad.LatentDown(64, 32, 16, cfg)(torch.randn(2, 5, 64))"),
    "gated-width": (2, 1, "bad.GatedMlp(32, 64, config=cfg)(torch.randn(4, 32))"),
    "gather-on-rank-zero": (
        2, 1, "from megatron.core.tensor_parallel import ColumnParallelLinear\n\nlayer = ColumnParallelLinear("
        "64, 64, config=cfg, init_method=cfg.init_method, gather_output=False)\n"
        "bad.export_weights(torch.nn.Sequential(layer), 'w.pt')",
    ),
    "gather-without-sp": (2, 1, "bad.LatentQuery(64, 32, cfg)(torch.randn(8, 2, 64), torch.randn(8, 1, 32))"),
    "gathered-then-row": (2, 1, "bad.GatheredThenRow(32, 64, config=cfg)(torch.randn(4, 32))"),
    "heads-floor-assigned": (2, 1, "bad.SurfaceAttention(60, 5, cfg)(torch.randn(2, 5, 60))"),
    "import-cycle": (2, 1, "import fuser.onefuser"),
    "input-tensor-stops": (
        1, 2, "model = bad.FieldModelStage(64, first, cfg)\nmodel.set_input_tensor([torch.randn(4, 2, 64)])\n"
        "model(torch.randn(4, 2, 64) if first else None)",
    ),
    "integer-meta": (
        1, 2, OWN.format(shapes="[[2, 3, 4, 5, 64], [4]]", batch=2)
        + "model = bad.EncoderStage(64, cfg)\n"
        "chunks = [PipelineChunk([model], 0 if first else 1, shapes, cfg)]\n"
        "run_schedule(forward_step, [iter([torch.randn(2, 3, 4, 5, 64)] * 2)], chunks, 2)",
    ),
    "kv-heads-fewer-than-tp": (2, 1, "bad.GroupedAttention(64, 4, 1, cfg)(torch.randn(2, 5, 64))"),
    "label-sent-by-hand": (1, 2, _STAGE + SCHEDULE.format(step="bad.forward_step", data=_FIELDS)),
    "local-drop-rates": (1, 2, "bad.EncoderStage([1, 1], config=cfg)"),
    "local-heads-on-replicated": (2, 1, "bad.WholeAttention(64, 4, cfg)(torch.randn(2, 5, 64))"),
    "loss-unpacks-two-of-three": (
        1, 2, "model = bad.TwoHeads(cfg, 64, first, last)\nmodel.model_type = None\n"
        + SCHEDULE.format(step="bad.forward_step", data="iter([(torch.randn(8, 2, 64), torch.randn(8, 2, 64))] * 2)"),
    ),
    "mask-between-stages": (
        1, 2, OWN.format(shapes="[[8, 2, 64], [8, 2]]", batch=8)
        + "model = bad.MaskedStage(64, 2, cfg)\n"
        "chunks = [PipelineChunk([model], 0 if first else 1, shapes, cfg)]\n"
        "run_schedule(forward_step, [iter([torch.randn(8, 2, 64)] * 2)], chunks, 2)",
    ),
    "middle-stage-data": (
        1, 3, _STAGE + SCHEDULE.format(
            step="bad.forward_step",
            data="iter([(torch.randn(8, 2, 64), torch.randn(8, 2, 64))] * 2) if first or last else None",
        ),
    ),
    "odd-heads": (2, 1, "bad.OddHeadAttn(60, 5, 2, config=cfg)(torch.randn(4, 2, 60))"),
    "per-rank-size-into-layer": (2, 1, "bad.Att(64, 4, cfg)(torch.randn(4, 64))"),
    "residual-through-list": (2, 1, "bad.Model(64, 64, 2, cfg)(torch.zeros(2, 5, dtype=torch.long))"),
    "steps-from-missing-loader": (2, 1, "bad.training_steps(list(range(64)), 2, 1, 4)"),
    "tuple-in-attention": (2, 1, "bad.WindowAttn(64, 4, 2, config=cfg)(torch.randn(8, 2, 64))"),
    "tuple-on-stock-schedule": (
        1, 2, "model = (bad.EncoderHalf if first else bad.DecoderHalf)(64, cfg)\n\n\n"
        "def forward_step(data, model):\n"
        "    return model(next(data)), lambda output: (output[0].mean(), {'loss': output[0].detach().mean()})\n\n\n"
        + SCHEDULE.format(step="forward_step", data="iter([torch.randn(8, 2, 64)] * 2)"),
    ),
}  # fmt: skip


# Modules of the training framework, which is not installed, that a case imports and does not need here.
ABSENT = """import sys
import types

for name in ("megatron.training", "weather", "weather.data"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["megatron.training"].get_args = sys.modules["megatron.training"].pretrain = None
sys.modules["weather.data"].datasets = types.SimpleNamespace()
"""


def program(name: str, text: str) -> str:
    """The text of `run.py` beside a case that reads `text`; "" where the case is a folder."""
    tp, pp, body = RUNS[name]
    absent = ABSENT if "megatron.training" in text else ""
    imported = "import bad\n" if text else ""
    return f"{absent}{imported}{HEAD.format(tp=tp, pp=pp)}{body}\ndist.barrier()\n"
