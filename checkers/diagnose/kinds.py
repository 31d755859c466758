"""What kind of failure a message tells of, and which rules find its causes in the source."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .record import Failure


@dataclass(frozen=True)
class Kind:
    """One kind of failure. `symbols` are rules that explain it, the likeliest first; `follows` marks what a rank says
    when another one is gone."""

    name: str
    patterns: tuple[str, ...]
    symbols: tuple[str, ...] = ()
    follows: bool = False

    def matches(self, text: str) -> bool:
        return any(re.search(pattern, text) for pattern in self.patterns)


_WIDTHS = (
    "input-is-parallel-mismatch", "sharded-value-escapes", "parallel-linear-width-mismatch", "per-rank-size-given",
    "input-is-parallel-implicit", "full-heads-on-sharded-value", "local-heads-on-full-value", "heads-per-rank-missing",
    "parallel-attention-incomplete", "partial-sum-escapes", "sp-region-unconditional", "boundary-layout-changed",
    "stage-passthrough-changed", "cat-of-shards", "plain-linear-in-distributed", "argument-of-another-name",
    "stage-ignores-input-tensor", "received-tensor-changed-in-place", "depth-differs-from-original",
    "heads-not-divisible-by-tp", "heads-divisibility-unchecked", "tensor-unpacked-as-pair", "full-on-sequence-shard",
    "sp-input-not-scattered", "stage-flag-of-other-stage", "mask-path-not-loaded", "differs-from-original",
)  # fmt: skip
_BOUNDARY = (
    "stage-shapes-mismatch", "stage-shapes-count", "stage-shapes-batch", "stage-shapes-not-attached",
    "schedule-argument-mismatch", "stage-passthrough-changed", "stage-passes-mask", "stage-passes-non-tensor",
    "stage-output-not-tuple", "boundary-dtype-mismatch", "boundary-layout-changed", "pipeline-dtype-missing",
    "multi-tensor-on-stock-schedule", "last-stage-packs-passthrough", "stage-shapes-hard-coded",
    "stage-map-incomplete", "boundary-tensor-duplicated",
)  # fmt: skip
_WAITING = (
    "collective-in-rank-branch", "collectives-differ-in-branches", "collective-after-local-return",
    "data-read-on-every-stage", "p2p-in-forward-step", "boundary-tensor-without-gradient", "stage-passes-mask",
    "boundary-dtype-mismatch", "stage-shapes-count", "stage-shapes-mismatch", "stage-shapes-batch",
    "stage-shapes-not-attached", "schedule-argument-mismatch", "data-read-in-try",
    "broadcast-src-not-in-group", "reduced-over-wrong-group", "none-on-some-ranks", "loop-result-not-carried",
)  # fmt: skip
_ARGUMENTS = (
    "style-arguments-rejected", "parallel-layer-argument-missing", "forward-arguments-rejected",
    "config-parameter-missing", "config-not-forwarded", "stage-kwargs-missing", "stage-takes-yaml-config",
    "loss-label-binding", "model-provider-signature", "pretrain-call-incomplete", "checkpoint-flag-missing",
    "submodule-not-given-dict", "stage-signature-drift",
)  # fmt: skip
_NOTHING = (
    "forward-returns-none", "label-missing-on-last-stage", "none-on-some-ranks", "set-input-tensor-not-forwarded",
    "config-none-dereferenced", "raw-config-forwarded", "collective-result-is-none", "first-stage-reads-input-tensor",
    "stage-input-tensor-unset", "fuser-mask-access-unsafe", "config-not-forwarded", "stage-ignores-input-tensor",
    "boundary-tensor-without-gradient",
)  # fmt: skip
_NAMES = (
    "stage-attribute-missing", "stage-set-input-tensor-missing", "attribute-never-set", "stage-only-attribute-used",
    "set-input-tensor-not-forwarded", "module-in-plain-container", "fuser-input-not-normalized",
    "fuser-mask-access-unsafe", "stage-input-tensor-unset", "stage-flag-of-other-stage", "checkpoint-of-non-tensor",
)  # fmt: skip

KINDS = (
    Kind("port-in-use", (r"EADDRINUSE", r"[Aa]ddress already in use")),
    Kind("duplicate-gpu", (r"Duplicate GPU detected",)),
    Kind("out-of-memory", (r"CUDA out of memory", r"HIP out of memory", r"OutOfMemoryError",
         r"CUBLAS_STATUS_ALLOC_FAILED"),
         ("stage-imbalance", "stage-not-checkpointed", "plain-linear-in-distributed", "redundant-tensor-copy",
          "non-distributed-style-in-chain", "stage-module-unused", "boundary-tensor-duplicated")),
    Kind("wrapped-attribute-missing", (r"couldn't find attribute",), ("stage-attribute-missing", *_NAMES)),
    Kind("checkpoint-load", (r"Error\(s\) in loading state_dict", r"[Mm]issing key\(s\) in state_dict",
         r"[Uu]nexpected key\(s\) in state_dict", r"size mismatch for ", r"CheckpointingException",
         r"the model wants \[", r"(?:[Gg]lobal|[Ll]ocal) shape mismatch", r"ShardedTensor",
         r"Missing key in checkpoint",
         r"checkpoint .{0,60}(?:not found|does not exist|lacks)", r"has no (?:weight|parameter)s? ",
         r"lacks weights of",
         r"loaded state dict contains a parameter group"),
         ("differs-from-original", "depth-differs-from-original", "per-rank-size-given", "sharded-parameter-unmarked",
          "parameter-dropped", "heads-per-rank-missing", "stage-checkpoint-methods-missing",
          "saved-state-not-restored", "fused-qkv-not-tp-invariant", "argument-of-another-name", "file-name-lacks-axis",
          "parallel-attention-incomplete", "plain-linear-in-distributed", "module-in-plain-container")),
    Kind("circular-import", (r"partially initialized module", r"circular import"),
         ("distributed-import-cycle", "wrapper-import-in-distributed")),
    Kind("import-missing", (r"cannot import name", r"No module named", r"has no attribute '\w+' .*registry"),
         ("registry-target-missing", "foreign-training-import", "distributed-module-unregistered")),
    Kind("pair-as-tensor", (r"must be Tensor, not tuple", r"'tuple' object has no attribute",
         r"got <class 'tuple'>", r"and 'tuple'", r"'tuple' and ", r"but got tuple", r"not 'tuple'",
         r"can only concatenate tuple", r"'tuple' object is not callable",
         r"tuple indices must be", r"expected Tensor.{0,60}tuple"),
         ("parallel-linear-tuple-used", "submodule-not-given-dict", "tensor-unpacked-as-pair",
          "checkpoint-of-non-tensor", "forward-arguments-rejected",
          "stage-input-not-list-safe", "registry-entry-called", "multi-tensor-on-stock-schedule")),
    Kind("list-as-tensor", (r"must be Tensor, not list", r"'list' object has no attribute", r"and 'list'",
         r"but got list", r"list indices must be integers", r"not list$"),
         ("stage-input-not-list-safe", "stage-output-not-tuple", "parallel-linear-tuple-used")),
    Kind("unpacking", (r"not enough values to unpack", r"too many values to unpack", r"cannot unpack non-iterable",
         r"iteration over a 0-d tensor", r"len\(\) of a 0-d tensor"),
         ("loss-output-arity", "loss-return-contract", "stage-ignores-input-tensor", "stage-shapes-count",
          "stage-input-not-list-safe", "last-stage-packs-passthrough", "parallel-linear-tuple-used",
          "stage-passthrough-changed", "provider-returns-dataloader", "forward-arguments-rejected")),
    Kind("p2p-mismatch", (r"returned tensors of shapes .* but entry", r"must return a tuple of \d+ tensors",
         r"op\.preamble\.length <= op\.nbytes", r"[Dd]ata size doesn't match", r"[Mm]essage truncated",
         r"Expected ``?tensor``? to be of type (?:torch\.)?Tensor", r"Invalid ``?tensor``?", r"P2POp",
         r"Mismatch in shape: grad_output",
         r"[Dd]etected mismatch between collectives", r"stage_shapes", r"NCCL.{0,80}[Mm]ismatch",
         r"only Tensors .{0,40}(?:sent|recv)", r"Tensor list .{0,30}(?:count|size)"),
         (*_BOUNDARY, *_WAITING[:5])),
    Kind("not-contiguous", (r"[Tt]ensors? must be contiguous", r"non-contiguous tensor.{0,40}(?:send|P2P|recv)",
         r"input tensor is not contiguous"), ("stage-output-not-contiguous", "redundant-tensor-copy")),
    Kind("heads-not-divisible", (r"(?:is not|must be|not) (?:evenly )?divisible", r"must be a multiple of",
         r"not a multiple of", r"divisible by"),
         ("heads-not-divisible-by-tp", "heads-divisibility-unchecked", "per-rank-size-given", "heads-per-rank-missing",
          "layer-split-drops-remainder")),
    Kind("transpose-of-many", (r"t\(\) expects a tensor with <= 2 dimensions",),
         ("parallel-layer-bypassed", "parallel-linear-tuple-used", "sharded-value-escapes")),
    Kind("dtype-mismatch", (r"Input type \(.+?\) and (?:bias|weight) type", r"expected scalar type",
         r"must have the same dtype", r"same dtype", r"result type \w+ can't be cast", r"Expected .{0,60}scalar types?",
         r"dtype mismatch", r"not implemented for '\w+'", r"Found dtype \w+ but expected",
         r"returned tensor \d+ as torch",
         r"[Ii]nput dtype .* (?:not|differ)", r"expected m1 and m2"),
         ("batch-not-float32", "boundary-dtype-mismatch", "pipeline-dtype-missing", "loss-return-contract")),
    Kind("no-gradient", (r"does not require grad",
         r"[Bb]ackward sending grads", r"has gradients None", r"\.grad is not None", r"grad can be implicitly created",
         r"not have been used in the graph",
         r"custom_backward", r"backward.{0,80}NoneType", r"NoneType.{0,80}(?:grad|backward)",
         r"Trying to backward through the graph a second time", r"'NoneType' object has no attribute 'grad"),
         ("boundary-tensor-without-gradient", "stage-module-unused", "stage-passes-mask", "boundary-dtype-mismatch",
          "stage-ignores-input-tensor", "received-tensor-changed-in-place",)),
    Kind("changed-in-place", (r"modified (?:by an )?inplace", r"is being modified inplace", r"in-place operation"),
         ("received-tensor-changed-in-place", "boundary-tensor-duplicated")),
    Kind("widths-do-not-fit", (r"mat1 and mat2 shapes cannot be multiplied", r"size mismatch, (?:m1|got)",
         r"mat1 dim 1 must match", r"same reduction dim"), _WIDTHS),
    Kind("shapes-do-not-fit", (r"shape '\[.*\]' is invalid for input", r"size of tensor a .* must match",
         r"normalized_shape", r"Sizes of tensors must match", r"split_with_sizes", r"[Tt]he expanded size",
         r"same number of dimensions", r"cannot be broadcast", r"[Ee]xpected size .* got", r"einsum\(\)",
         r"weight of size .* expected input", r"view size is not compatible", r"must match the existing size",
         r"dimension out of range", r"Dimension out of range", r"cannot reshape", r"shape mismatch", r"Shape mismatch",
         r"number of dims don't match", r"must be smaller than the window", r"cannot be padded to",
         r"[Ii]nput and output sizes should be greater", r"The shape of the .{0,30}mask",
         r"unflatten: Provided sizes", r"Size does not match at dimension"), _WIDTHS),
    Kind("unexpected-argument", (r"unexpected keyword argument", r"missing \d+ required", r"got multiple values for",
         r"takes (?:from )?\d+ .*positional arguments?", r"takes no arguments", r"takes no keyword"), _ARGUMENTS),
    Kind("stop-iteration", (r"^StopIteration", r"generator raised StopIteration"),
         ("data-read-on-every-stage", "data-read-in-try", "sampler-over-world", "none-on-some-ranks",
          "provider-returns-dataloader")),
    Kind("timed-out", (r"[Ww]atchdog caught", r"[Tt]imed out waiting", r"monitoredBarrier", r"Wait timeout",
         r"NCCL.{0,80}time(?:d ?)?out", r"collective.{0,40}time(?:d ?)?out", r"has not responded for",
         r"passed the (?:heartbeat|timeout)", r"wait timeout after"), _WAITING),
    Kind("value-is-none", (r"'NoneType' object", r"not NoneType", r"and 'NoneType'", r"'NoneType' and",
         r"but got None", r"object of type 'NoneType'", r"NoneType"), _NOTHING),
    Kind("attribute-missing", (r"object has no attribute", r"has no attribute '"), _NAMES),
    Kind("device-mismatch", (r"Expected all tensors to be on the same device", r"Input type .*cuda.* and weight type"),
         ("module-in-plain-container", "replicated-parameter-unsynced")),
    Kind("index-out-of-range", (r"index out of range in self", r"device-side assert",
         r"(?:index|Target) .* is out of bounds",
         r"list index out of range", r"tuple index out of range"),
         ("drop-path-not-from-total-depth", "sharded-value-escapes", "depth-differs-from-original")),
    Kind("configuration", (r"^KeyError", r"unrecognized arguments", r"^ConfigAttributeError", r"^UserError", r"YAML",
         r"unknown \w+ style", r"choose one of"),
         ("yaml-key-missing", "unknown-module-style", "distributed-module-unregistered",
          "stage-map-incomplete", "fuser-mask-access-unsafe",
          "provider-not-distributed", "stage-shapes-not-attached", "pretrain-call-incomplete",
          "drop-path-not-from-total-depth",
          "argument-of-another-name", "layer-split-drops-remainder", "depth-differs-from-original")),
    Kind("file-missing", (r"^FileNotFoundError", r"No such file or directory")),
    Kind("nccl-failed", (r"NCCL error", r"ncclUnhandledCudaError", r"ncclSystemError", r"ncclInternalError",
         r"ncclInvalidUsage", r"NCCL WARN")),
    Kind("peer-lost", (r"Connection closed by peer", r"[Cc]onnection reset by peer", r"Broken pipe", r"ncclRemoteError",
         r"remote process exited", r"NCCL communicator was aborted", r"DistNetworkError", r"ChildFailedError",
         r"ProcessExitedException", r"ProcessRaisedException", r"SignalException", r"[Ss]ocket (?:[Tt]imeout|closed)",
         r"recvValue failed", r"Connection refused", r"KeyboardInterrupt", r"store->get", r"SIGTERM",
         r"client socket has timed out", r"which keeps the store of the world, is gone"), follows=True),
)  # fmt: skip

OTHER = Kind("other", ())
INTERRUPTED = Kind("interrupted", (), _WAITING)
LOSS = Kind("loss-nan", (), (
    "loss-scaled-wrongly", "bias-added-before-reduce", "partial-sum-escapes", "batch-not-float32",
    "same-init-on-all-ranks", "stage-output-not-contiguous", "local-grad-norm", "collective-result-discarded",
    "parallel-loss-on-gathered", "replicated-parameter-unsynced", "differs-from-original",
))  # fmt: skip
KILLED = Kind("killed", ())
NONE = Kind("none-seen", ())

BY_NAME = {kind.name: kind for kind in (*KINDS, OTHER, INTERRUPTED, LOSS, KILLED, NONE)}
_LAUNCHERS = ("ChildFailedError", "ProcessExitedException", "ProcessRaisedException", "SignalException")
_SPAWNED = re.compile(r"-- Process \d+ terminated")
_ORDER = {kind.name: place for place, kind in enumerate(KINDS)}


def kind_of(failure: Failure) -> Kind:
    """The first kind whose words the failure says; a lost peer only where nothing else fits."""
    if failure.type in _LAUNCHERS or failure.type == "KeyboardInterrupt" or _SPAWNED.match(failure.message):
        return BY_NAME["peer-lost"]
    text = failure.text[:4000]
    if "UserError" in text[:20] and not any(kind.matches(failure.message) for kind in KINDS[:-2]):
        return BY_NAME["configuration"]
    lost = BY_NAME["peer-lost"]
    if (
        lost.matches(text)
        and not BY_NAME["port-in-use"].matches(text)
        and failure.type != "FileNotFoundError"
    ):
        return BY_NAME["timed-out"] if BY_NAME["timed-out"].matches(text) else lost
    for kind in KINDS:
        if kind.matches(text) or (kind.name == "no-gradient" and _in_backward(failure)):
            return kind
    return OTHER


def _in_backward(failure: Failure) -> bool:
    """A None that appears while gradients are sent back."""
    return "NoneType" in failure.message and any(
        frame.function in ("send_backward", "backward_step", "custom_backward", "deallocate_output_tensor")
        for frame in failure.frames[-4:]
    )
