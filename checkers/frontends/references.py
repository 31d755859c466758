"""Which file and line of the reference models shows the right way, and the words that it shows it with."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

_ATTENTION = "modules/attention/earthdistributedattention3d.py"
_MLP = "modules/mlp/pangudistributedmlp.py"
_FUSER = "modules/fuser/pangudistributedfuser.py"
_XIHE_FUSER = "modules/fuser/xihedistributedfuser.py"
_WINDOWS = "modules/attention/windows.py"
_FIRST = "models/pangu_distributed_4stage/pangu_stage0.py"
_MIDDLE = "models/pangu_distributed_4stage/pangu_stage1.py"
_LAST = "models/pangu_distributed_4stage/pangu_stage3.py"
_XIHE_FIRST = "models/xihe_distributed_4stage/xihe_stage0.py"
_XIHE_MIDDLE = "models/xihe_distributed_4stage/xihe_stage1.py"
_SCRIPT = "examples/earth/pangu_weather_distributed_4stage/train.py"

_HEADS = (_ATTENTION, "self.num_heads_per_rank = num_heads // tp_size")
_PROJECTIONS = (_ATTENTION, "self.q_proj = ColumnParallelLinear(")
_SHAPES = (_SCRIPT, "stage_shapes=[")
_DICT = (_XIHE_FUSER, 'x, mask = obj["x"], obj.get("mask")')
_RECEIVED = (_MIDDLE, "x, skip = self.input_tensor")
_READ = (_SCRIPT, "if is_first_stage or is_last_stage:")
_DRAWS = (_MLP, "get_cuda_rng_tracker().fork()")

REFERENCES = {
    "parallel-linear-tuple-used": (_MLP, "x, _ = self.fc2(x)"),
    "input-is-parallel-mismatch": (
        "modules/attention/xihedistributedfeatureungroupattention.py",
        "self.concat_proj = RowParallelLinear(",
    ),
    "input-is-parallel-implicit": (_MLP, "input_is_parallel=True"),
    "full-heads-on-sharded-value": _HEADS,
    "heads-per-rank-missing": _HEADS,
    "heads-not-divisible-by-tp": (_ATTENTION, "if num_heads % tp_size:"),
    "heads-divisibility-unchecked": (_ATTENTION, "if num_heads % tp_size:"),
    "parallel-attention-incomplete": _PROJECTIONS,
    "fused-qkv-not-tp-invariant": _PROJECTIONS,
    "plain-linear-in-distributed": ("modules/sample/pangudistributeddownsample.py", "RowParallelLinear("),
    "redundant-tp-collective": (_MLP, "gather_output=False"),
    "bias-dropped": (_MLP, "skip_bias_add=False"),
    "partition-mark-wrong": (_ATTENTION, "set_tensor_model_parallel_attributes("),
    "sharded-parameter-unmarked": (_ATTENTION, "set_tensor_model_parallel_attributes("),
    "same-init-on-all-ranks": (_ATTENTION, "def _own_heads_of_new_table"),
    "stage-attribute-missing": (_MIDDLE, "self.share_embeddings_and_output_weights = None"),
    "stage-input-tensor-unset": (_MIDDLE, "self.input_tensor = None"),
    "stage-set-input-tensor-missing": (_MIDDLE, "def set_input_tensor(self, input_tensor):"),
    "stage-kwargs-missing": (_MIDDLE, "**kwargs"),
    "stage-takes-yaml-config": (_SCRIPT, "embed_dim=cfg.embed_dim"),
    "first-stage-reads-input-tensor": (_FIRST, "def forward(self, x):"),
    "stage-ignores-input-tensor": _RECEIVED,
    "stage-input-not-list-safe": _RECEIVED,
    "stage-passthrough-changed": (_MIDDLE, "return x, skip"),
    "stage-output-not-tuple": (_FIRST, "return x, skip"),
    "last-stage-packs-passthrough": (_LAST, "return torch.cat([surface, upper_air.flatten(1, 2)], dim=1)"),
    "stage-passes-mask": (_XIHE_MIDDLE, "change_mask("),
    "mask-logic-replaced": (_XIHE_FIRST, "change_mask("),
    "mask-path-not-loaded": ("models/xihe/mask.py", "def load_mask"),
    "drop-path-not-from-total-depth": (_MIDDLE, "drop_path=rates["),
    "stage-not-checkpointed": (_MIDDLE, "checkpoint(self.layer2, False, x)"),
    "checkpoint-of-non-tensor": (_XIHE_FIRST, "checkpoint(self.run_block1, False, x, mask1)"),
    "checkpoint-flag-missing": (_MIDDLE, "checkpoint(self.layer2, False, x)"),
    "stage-imbalance": ("models/pangu_distributed_4stage/__init__.py", "Where the cuts are."),
    "raw-config-forwarded": (_FIRST, "config = core_transformer_config_from_args(get_args())"),
    "stage-checkpoint-methods-missing": ("models/pipeline_stage.py", "def sharded_state_dict"),
    "depth-differs-from-original": (_MIDDLE, "depth=depth2 - front2"),
    "block-numbers-restart": (_FUSER, "first_block"),
    "fuser-mask-access-unsafe": _DICT,
    "fuser-input-not-normalized": _DICT,
    "submodule-not-given-dict": _DICT,
    "config-parameter-missing": (_FUSER, "config,"),
    "config-not-forwarded": (_FUSER, "config=config"),
    "unknown-module-style": ("modules/fuser/onefuser.py", '"PanguDistributedFuser": PanguDistributedFuser'),
    "distributed-module-unregistered": (
        "modules/fuser/onefuser.py",
        '"PanguDistributedFuser": PanguDistributedFuser',
    ),
    "wrapper-import-in-distributed": (_XIHE_FUSER, "from .xihedistributedlocalsiefuser import"),
    "distributed-import-cycle": (_XIHE_FUSER, "from .xihedistributedlocalsiefuser import"),
    "stage-shapes-count": _SHAPES,
    "stage-shapes-mismatch": _SHAPES,
    "stage-shapes-batch": _SHAPES,
    "stage-shapes-hard-coded": _SHAPES,
    "stage-shapes-not-attached": (_SCRIPT, "args.pipeline_tensor_shape_config = PipelineTensorShapeConfig("),
    "stage-map-incomplete": (_SCRIPT, "stages = {0: Pangu_stage0"),
    "pretrain-call-incomplete": (_SCRIPT, "pretrain("),
    "provider-not-distributed": (_SCRIPT, "train_valid_test_dataset_provider.is_distributed = True"),
    "provider-returns-dataloader": (_SCRIPT, "return train_dataset, val_dataset, test_dataset"),
    "batch-not-float32": (_SCRIPT, ".cuda().float()"),
    "data-read-on-every-stage": _READ,
    "label-missing-on-last-stage": _READ,
    "sp-dropout-not-forked": _DRAWS,
    "rng-fork-misplaced": _DRAWS,
    "roll-unroll-mismatch": (_WINDOWS, "shifts=(pressure, latitude, longitude)"),
    "cyclic-axis-masked": (_WINDOWS, "Longitude is"),
    "windows-not-undone": (_WINDOWS, "def merge(self, windows"),
}
"""By symbol, as a person chose: the file below reference_models, and a piece of its text. A test reads each."""


def reference(symbol: str) -> str:
    """The file to look at; empty where none shows it."""
    found = REFERENCES.get(symbol)
    return f"reference_models/{found[0]}" if found is not None else ""


def line_of(symbol: str) -> tuple[str, int] | None:
    """File and line where that stands right which the rule asks for: those above, else what a mistake of the rule's
    kind replaced. `docs/make_ground_truth.py` writes them."""
    found = _lines().get(symbol)
    return (found[0], found[1]) if found else None


@cache
def _lines() -> dict[str, tuple[str, int]]:
    text = Path(__file__).with_name("templates").joinpath("references.json").read_text("utf-8")
    return {symbol: (path, line) for symbol, (path, line) in json.loads(text).items()}
