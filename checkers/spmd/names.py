"""Names of the libraries: rank and group functions with their mesh axes, and collectives with their group argument."""

from __future__ import annotations

import re

from ..language import listed, tr

Axes = frozenset[str]

TP, PP, DP, CP, EP = (frozenset({axis}) for axis in ("tp", "pp", "dp", "cp", "ep"))
NONE: Axes = frozenset()
# An embedding group holds the end stages alone: a test on the stage is the right way to enter it.
EMBEDDING: Axes = frozenset({"embedding"})
MODEL = TP | PP
EXPERT = EP | frozenset({"expert tp", "expert dp"})
WORLD: Axes = TP | PP | DP | CP | EP | EMBEDDING | frozenset({"expert tp", "expert dp"})

_WORDS: tuple[tuple[str, Axes], ...] = (
    (r"tensor_and_data_parallel", TP | DP),
    (r"tensor_and_context_parallel", TP | CP),
    (r"tensor_and_expert_parallel", TP | EP),
    (r"data_modulo_expert_parallel|expert_data_parallel", frozenset({"expert dp"})),
    (r"expert_tensor_parallel|moe_tensor_parallel|moe_tp", frozenset({"expert tp"})),
    (r"expert_model_parallel|expert_parallel|moe_expert_parallel|moe_ep|ep", EP),
    (r"tensor_model_parallel|tensor_parallel|attention_tp|tp", TP),
    (r"pipeline_model_parallel|pipeline_parallel|pipe_parallel|pp", PP),
    (r"data_parallel|dp", DP),
    (r"context_parallel|cp", CP),
    (r"model_parallel|mp", MODEL),
    (r"position_embedding|embedding", EMBEDDING),
    (r"world", WORLD),
)
RANK = [(re.compile(rf"get_(?:{words})_rank"), axes) for words, axes in _WORDS if axes != EMBEDDING]
GROUP = [(re.compile(rf"get_(?:{words})_group(?:_gloo)?"), axes) for words, axes in _WORDS]
SIZE = [(re.compile(rf"get_(?:{words})_(?:world_)?size"), axes) for words, axes in _WORDS]
SOURCE = [
    (re.compile(rf"get_(?:{words})_(?:src|first|last)_rank"), axes) for words, axes in _WORDS if axes != WORLD
]
GROUP_NAME = {
    "tp_group": TP, "tensor_parallel_group": TP, "tensor_model_parallel_group": TP,
    "pp_group": PP, "pipeline_parallel_group": PP, "dp_group": DP, "data_parallel_group": DP, "dp_cp_group": DP | CP,
    "cp_group": CP, "ep_group": EP, "mp_group": MODEL, "model_parallel_group": MODEL, "embd_group": EMBEDDING,
}  # fmt: skip
COLLECTION = {
    "tp": TP,
    "pp": PP,
    "dp": DP,
    "cp": CP,
    "ep": EP,
    "mp": MODEL,
    "dp_cp": DP | CP,
    "embd": EMBEDDING,
}
"""Attributes of Megatron's `pg_collection`."""

MESH = {
    "tp": TP, "tensor": TP, "tensor_parallel": TP, "pp": PP, "pipe": PP, "pipeline": PP, "dp": DP, "data": DP,
    "fsdp": DP, "ddp": DP, "replicate": DP, "dp_replicate": DP, "dp_shard": DP, "cp": CP, "context": CP, "sp": CP,
    "sequence": CP, "ulysses": CP, "ep": EP, "expert": EP,
}  # fmt: skip
"""Names that people give the dimensions of a `DeviceMesh`."""

FIRST_STAGE = frozenset({"is_pipeline_first_stage", "is_pp_first_stage"})
LAST_STAGE = frozenset({"is_pipeline_last_stage", "is_pp_last_stage"})
MAIN_RANK = frozenset(
    "is_rank_0 is_rank_zero is_main_process is_global_rank_zero is_world_process_zero is_master is_global_zero".split()
)

# torch.distributed: where the group stands among the positional arguments.
TORCH_COLLECTIVES = {
    "all_reduce": 2, "broadcast": 2, "reduce": 3, "all_gather": 2, "all_gather_into_tensor": 2, "_all_gather_base": 2,
    "gather": 3, "scatter": 3, "reduce_scatter": 3, "reduce_scatter_tensor": 3, "all_to_all": 2, "all_to_all_single": 4,
    "barrier": 0, "monitored_barrier": 0, "all_gather_object": 2, "gather_object": 3, "broadcast_object_list": 2,
    "scatter_object_list": 3, "new_group": -1, "new_subgroups": -1,
}  # fmt: skip
TORCH_ROOT = {
    "broadcast": 1,
    "reduce": 1,
    "gather": 2,
    "scatter": 2,
    "broadcast_object_list": 1,
    "gather_object": 2,
}
"""Where the global rank of the one that sends, or gets, stands."""

POINT_TO_POINT = frozenset(
    "send recv isend irecv batch_isend_irecv send_object_list recv_object_list".split()
)

COORDINATOR = frozenset(
    "all_reduce all_gather all_gatherv reduce_scatter gather broadcast broadcast_object broadcast_object_list "
    "broadcast_tensor_dict barrier all_gather_object".split()
)
"""Methods of the group objects of vLLM and SGLang that the whole group enters."""

NAMED_COLLECTIVES = [
    (re.compile(r"(reduce|gather)_from_tensor_model_parallel_region"), TP),
    (re.compile(r"gather_from_sequence_parallel_region|reduce_scatter_to_sequence_parallel_region"), TP),
    (re.compile(r"tensor_model_parallel_(all_reduce|all_gather|reduce_scatter|gather)"), TP),
    (re.compile(r"vocab_parallel_cross_entropy"), TP),
    (re.compile(r"broadcast_data"), TP),
    (re.compile(r"average_losses_across_data_parallel_group"), DP),
]


def lookup(table: list[tuple[re.Pattern[str], Axes]], name: str) -> Axes | None:
    """The axes of a function by its last name."""
    key = (id(table), name)
    if key not in _looked_up:
        _looked_up[key] = next((axes for pattern, axes in table if pattern.fullmatch(name)), None)
    return _looked_up[key]


_looked_up: dict[tuple[int, str], Axes | None] = {}
"""Answers for the tables above, which stay as long as the module: code asks for few names, over and over."""


def text_of(axes: Axes) -> str:
    """How a message names a group: `tp`, `tp and pp`, `all ranks`."""
    return tr("world") if axes == WORLD else listed(" and ", sorted(axes, key="tp pp dp cp ep".find))
