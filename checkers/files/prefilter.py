"""A byte prefilter: files that cannot matter are thrown out before anything is parsed."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Plain substring tests run at memory speed; one regular expression of the same words takes ten times as long.
WORDS = (
    b"ParallelLinear",  # Megatron, vLLM, SGLang, fairscale ... name their layers so
    b"ColumnParallel",
    b"RowParallel",
    b"TensorParallel",  # nanotron
    b"tensor_parallel",
    b"tensor_model_parallel",
    b"pipeline_model_parallel",
    b"parallel_state",
    b"is_pipeline_",
    b"torch.roll(",  # shifted windows
    b"parallel_cross_entropy",
    b"_REGISTRY",  # wrappers such as OneFuser(style=...)
    b"set_input_tensor",
    b"pg_collection",  # the groups of a Megatron model
    b"sequence_parallel",
    b"finalize_model_grads",
    b"forward_step",
    b"stage_shapes",
    b"PipelineTensorShapeConfig",
    b"pretrain(",
    b"initialize_megatron",
    b"tp_group",  # groups by their short names
    b"pp_group",
    b"dp_group",
    b"get_world_size(",  # torch.distributed by hand
    b"all_reduce(",
    b"all_gather(",
    b"new_group(",
    b"parallelize_module(",  # plans of torch's own tensor parallelism
    b"distributed.pipelining",
    b"distributed.checkpoint",
    b"dist_checkpointing",
    b"deepspeed.initialize(",
    b"TiedLayerSpec(",
    b"init_device_mesh(",
    b"all_to_all",
    b"dist.broadcast(",
    b"get_context_parallel",
    b"batch_isend_irecv",
    b"dist.isend",
    b"dist.send(",
    b"dist.recv(",
    b"dist.irecv(",
    b"functional_collectives",
    b"all_to_all",
    b"reduce_scatter",
    b"Linear1D_",  # Colossal-AI
    b"tensorrt_llm",
)
# Most files hold none of the words that share a part: one look for the part stands for a look for each.
_PARTS = (b"arallel", b"p_group", b"dist.")
_GROUPS = (
    *((part, tuple(word for word in WORDS if part in word)) for part in _PARTS),
    *((word, (word,)) for word in WORDS if not any(part in word for part in _PARTS)),
)
# Each pattern is tried only on files that hold its word. It begins with plain text, which is looked for ten times as
# fast as anything else; what must stand before that text is looked back for.
PATTERNS = (
    (b"One", re.compile(rb"One(?<=\bOne)[A-Z]\w+\s*\(")),  # a registry wrapper is built
    (b"tage", re.compile(rb"tage(?<=[Ss]tage)_?\d")),  # a pipeline stage
    (b"Distributed", re.compile(rb"Distributed(?:(?<=\wDistributed)[A-Z]|M[lL])")),
    (b"Distributed", re.compile(rb"class (?<=\bclass )\w*Distributed")),
)


def is_relevant(data: bytes, more: Sequence[bytes] = ()) -> bool:
    """Whether a file with these bytes can hold, build or call anything that a rule speaks of.

    `more` are words of the user's settings: the names of layers.
    """
    for part, words in _GROUPS:
        if part in data and any(word in data for word in words):
            return True
    return any(word in data for word in more) or any(
        word in data and pattern.search(data) is not None for word, pattern in PATTERNS
    )


def is_in(data: bytes, mark: str, pattern: re.Pattern[str]) -> bool:
    """Whether a file has a text, looked for only where it has `mark`."""
    return mark.encode() in data and pattern.search(data.decode(errors="replace")) is not None


def words_in(data: bytes) -> bytes:
    """Each word of a text once."""
    return b"\n".join(dict.fromkeys(data.translate(_BETWEEN).split()))


def longest_word(text: bytes) -> bytes:
    """The longest of the words of a text."""
    return max(text.translate(_BETWEEN).split(), key=len, default=b"")


_BETWEEN = bytes(
    byte if byte >= 128 or chr(byte).isalnum() or byte == ord("_") else ord(" ") for byte in range(256)
)

_SPLIT = re.compile(
    rb"(?:Column|Row|Tensor)Parallel|ParallelLinear|_parallel|\wDistributed[A-Z]|[Ss]tage_?\d|set_input_tensor"
)


def speaks_of_ranks(data: bytes) -> bool:
    """Whether a relevant file can hand split values on, or decide what is split: a plain model cannot."""
    return _SPLIT.search(data) is not None
