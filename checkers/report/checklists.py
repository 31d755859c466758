"""The three checklists of the guide, line by line: which rules watch over a line, and what must have been looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..finding import Finding
from ..language import Translatable, tr
from . import looks_compared as against
from . import looks_parallel as parallel
from . import looks_stages as stages
from . import looks_training as training
from .answers import Answers, line_name
from .looks import Look, Nothing, Scene, Unseen, nothing
from .model import At, Checklist, Line, Mark

SHORTENED = "%(text)s"
"""The key of a text that is cut in English; where a language needs less room, its catalog gives the whole."""
_MAX_NOTE = 160


def _speaks_of_row(_: Scene, finding: Finding) -> bool:
    return any("row-parallel" in step.text for step in finding.evidence)


@dataclass(frozen=True)
class Check:
    """One line. `only` keeps the findings of a shared rule that this line is about."""

    text: str
    guide: str
    rules: str
    look: Look
    only: Callable[[Scene, Finding], bool] | None = None


STAGES = (
    Check("Each stage sets pre_process, share_embeddings_and_output_weights, config and input_tensor", "1.2",
          "stage-attribute-missing stage-input-tensor-unset raw-config-forwarded "
          "stage-flag-of-other-stage", stages.attributes),
    Check("Each stage has set_input_tensor", "1.2",
          "stage-set-input-tensor-missing set-input-tensor-not-forwarded", stages.setters),
    Check("The first stage does not read input_tensor", "1.3", "first-stage-reads-input-tensor", stages.first_stage),
    Check("Later stages compute from input_tensor, list or tuple", "1.3",
          "stage-ignores-input-tensor stage-input-not-list-safe received-tensor-changed-in-place", stages.later_stages),
    Check("Middle stages hand skip and meta on unchanged", "1.3", "stage-passthrough-changed", stages.middle_stages),
    Check("Sending stages return a tuple; the last one returns its result alone", "1.3",
          "stage-output-not-tuple last-stage-packs-passthrough", stages.forms),
    Check("Only tensors cross: no int, shape, None or list", "1.4; Principle 11",
          "stage-passes-non-tensor boundary-dtype-mismatch pipeline-dtype-missing", stages.tensors_sent),
    Check("No mask crosses, and each stage computes its masks as the original does", "Principle 11, traps 2 and 3",
          "stage-passes-mask mask-logic-replaced mask-path-not-loaded", stages.masks),
    Check("At most three feature tensors cross, and nothing that a stage can compute", "Principle 11",
          "stage-passes-too-many stage-passes-computable boundary-tensor-duplicated", stages.features_sent),
    Check("What crosses is contiguous and carries a gradient", "beyond the guide",
          "stage-output-not-contiguous boundary-tensor-without-gradient gradient-cut-on-path "
          "boundary-layout-changed", stages.received_tensors),
    Check("drop_path slices are those of the original", "1.4", "drop-path-not-from-total-depth", against.drop_path),
    Check("Layers are recomputed with checkpoint()", "1.4", "stage-not-checkpointed checkpoint-of-non-tensor "
          "checkpoint-flag-missing recompute-branch-wrong", stages.recomputed),
    Check("The work of the stages is within 20 % of their mean", "Principle 9 (balance)", "stage-imbalance",
          against.balance),
    Check("No needless copies, no unused modules, no dynamic batch size", "1.4; Principle 9 (balance)",
          "redundant-tensor-copy stage-module-unused dynamic-batch-in-stage device-sync-in-forward "
          "elementwise-loop-in-forward", stages.closed_forwards),
    Check("Stages take the original's parameters, as scalars with config, and **kwargs", "Principle 8; 11, trap 4",
          "stage-signature-drift stage-takes-yaml-config stage-kwargs-missing", stages.parameters),
    Check("The stages together hold the original's layers, so that its weights load", "Important principles; 1.4",
          "depth-differs-from-original layer-split-drops-remainder final-norm-on-every-stage layer-range-unset",
          against.original_depths),
    Check("Stages and modules compute what the original computes", "1.2",
          "differs-from-original training-differs-from-original", against.compared),
    Check("Weights can be saved: sharded_state_dict or state_dict_for_save_checkpoint", "beyond the guide",
          "stage-checkpoint-methods-missing file-name-lacks-axis saved-state-not-restored", stages.saved),
)  # fmt: skip

TENSOR = (
    Check("Distributed modules are there, named by the rule and registered", "2.2; detection steps 1 and 3",
          "distributed-counterpart-missing distributed-module-unregistered registry-target-missing "
          "unknown-module-style registry-entry-called distributed-naming module-reimplemented "
          "differs-from-original", parallel.counterparts),
    Check("Every One* style, Mlp and nn.Linear on the way down is a distributed one", "2.1; detection step 2",
          "non-distributed-style-in-chain plain-linear-in-distributed", parallel.distributed_chain),
    Check("Distributed modules take config, and it reaches every parallel layer", "2.3",
          "config-parameter-missing config-not-forwarded config-none-dereferenced parallel-layer-argument-missing",
          parallel.handed_config),
    Check("Two layers in a row: gather_output=False, then input_is_parallel=True", "2.4",
          "redundant-tp-collective parallel-linear-width-mismatch per-rank-size-given", parallel.paired_widths),
    Check("A layer on its own says gather_output or input_is_parallel", "2.4", "input-is-parallel-implicit",
          parallel.parallel_layers),
    Check("What is concatenated from full tensors goes in with input_is_parallel=False", "2.4",
          "input-is-parallel-mismatch cat-of-shards", parallel.concatenated_inputs, parallel.is_of_concatenation),
    Check("The output of a RowParallelLinear is treated as full", "2.4", "input-is-parallel-mismatch",
          parallel.row_inputs, _speaks_of_row),
    Check("Every input_is_parallel fits its input", "2.4", "input-is-parallel-mismatch", parallel.row_inputs),
    Check("A split value reaches nothing that needs the whole dimension", "2.4",
          "sharded-value-escapes bias-added-before-reduce partial-sum-escapes parallel-loss-on-gathered "
          "parallel-layer-bypassed",
          parallel.split_values),
    Check("The (output, bias) pair of a parallel layer is taken apart", "Principle 9 (return value)",
          "parallel-linear-tuple-used bias-dropped tensor-unpacked-as-pair", parallel.pairs),
    Check("Attention is parallel inside: q, k, v column, out row, heads per rank", "Principle 10",
          "parallel-attention-incomplete heads-per-rank-missing full-heads-on-sharded-value "
          "local-heads-on-full-value fused-qkv-not-tp-invariant kv-heads-tiled",
          parallel.attention),
    Check("One num_heads for a fuser, a multiple of the tensor-parallel size", "Principles 8 and 9",
          "heads-not-divisible-by-tp heads-divisibility-unchecked split-num-heads-parameter", parallel.heads),
    Check("Fusers take a dict or an object, and hand a dict on", "Principle 12",
          "fuser-mask-access-unsafe fuser-input-not-normalized submodule-not-given-dict", parallel.fusers),
    Check("Modules are given the arguments they take, and use them", "beyond the guide",
          "style-arguments-rejected forward-arguments-rejected forward-returns-none parameter-dropped "
          "argument-of-another-name loop-result-not-carried attribute-never-set module-in-plain-container "
          "name-never-set module-given-as-tensor",
          parallel.chain),
    Check("No import cycle, no wrapper imported into its own family", "Important principles",
          "distributed-import-cycle wrapper-import-in-distributed", parallel.distributed_modules),
    Check("Parameters and collectives are right on every rank", "beyond the guide",
          "collective-in-rank-branch collectives-differ-in-branches collective-after-local-return "
          "broadcast-src-not-in-group collective-result-is-none reduced-over-wrong-group sp-region-unconditional "
          "sp-input-not-scattered full-on-sequence-shard sequence-shards-joined loss-of-own-tokens "
          "sp-dropout-not-forked sp-gather-grad-of-replicated local-grad-norm grad-norm-counts-replicas "
          "none-on-some-ranks stage-only-attribute-used seed-of-wrong-axis stages-seeded-alike tied-weight-unsynced "
          "replicated-parameter-unsynced same-init-on-all-ranks collective-result-discarded sharded-parameter-unmarked "
          "rng-fork-misplaced dropout-in-evaluation mode-not-switched marked-gradients-unsummed "
          "auxiliary-loss-dropped offset-ignored rng-tracker-not-seeded clipped-before-complete "
          "collective-without-autograd partition-mark-wrong local-reduction-used column-input-not-copied "
          "rank-offset-missing share-divided-again rank-part-misplaced index-not-local "
          "reduced-twice replica-lengths-differ norm-result-not-cast rank-and-size-of-different-axes "
          "group-made-by-some-ranks named-for-other-axis gathered-into-one-tensor argument-of-one-rank "
          "gradients-in-other-order unpacked-in-other-order collective-never-awaited "
          "collective-of-view wrapped-over-all-ranks groups-used-before-init "
          "device-of-wrong-axis boundary-keys-differ backward-not-mirrored shared-parameter-unsummed "
          "gather-dim-mismatch neighbour-of-other-end gradient-count-mismatch "
          "lookup-not-masked parallel-plan-mismatch optimizer-part-not-shared ring-receives-first "
          "received-without-gradient exchange-not-undone quotient-of-own-count",
          parallel.own_parameters),
    Check("Windows are rolled back as they were rolled; the longitude axis stays periodic", "beyond the guide",
          "roll-unroll-mismatch cyclic-axis-masked windows-not-undone own-token-masked reshape-mixes-axes "
          "attention-axes attention-kernel-misused block-numbers-restart",
          parallel.windows),
)  # fmt: skip

TRAINING = (
    Check("stage_shapes agree with what each stage returns", "3.1; Principle 11, trap 1",
          "stage-shapes-count stage-shapes-mismatch stage-shapes-hard-coded stage-shapes-batch "
          "schedule-argument-mismatch stage-shapes-not-attached launch-sizes-mismatch", training.stage_shapes),
    Check("The stage map holds every rank", "3.1", "stage-map-incomplete", training.stage_map),
    Check("dataset_provider returns Datasets, not DataLoaders", "3.3",
          "provider-returns-dataloader dataset-splits-confused", training.dataset_provider),
    Check("loss_func gets the label by closure or partial, and returns (loss, num_tokens, dict)", "3.2",
          "loss-label-binding loss-return-contract loss-output-arity loss-scaled-wrongly batch-items-confused",
          training.loss),
    Check("Data is turned into float32", "3.2", "batch-not-float32 batch-left-on-cpu", training.float_data),
    Check("The first stage reads the input, the last one the label, no other reads, none in a try",
          "3.2; Principle 11, trap 5", "data-read-on-every-stage label-missing-on-last-stage data-read-in-try "
          "dataset-random-per-process sampler-over-world p2p-in-forward-step batch-size-of-file file-read-in-step "
          "loader-ends-early output-folder-missing file-written-by-every-rank data-missing-on-rank",
          training.data_read),
    Check("is_distributed = True is set", "3.4", "provider-not-distributed dataset-read-by-one-rank",
          training.pretrain),
    Check("pretrain gets its keywords, model_type=None and dataloader_type cyclic", "3.4",
          "pretrain-call-incomplete option-never-read option-value-unknown warmup-ignored default-overridden "
          "checkpoint-model-not-list",
          training.pretrain),
    Check("Imports come from the framework, and model_provider has its signature", "3, 3.1",
          "foreign-training-import import-not-exported model-provider-signature multi-tensor-on-stock-schedule",
          training.model_provider),
    Check("Every YAML key that is read is there", "Principle 8",
          "yaml-key-missing yaml-key-unread config-values-impossible",
          training.yaml_files),
    Check("The script lies in {model}_distributed", "Place of the training script", "training-script-location",
          training.scripts),
)  # fmt: skip

CHECKLISTS = {"Stage split": STAGES, "Tensor parallel": TENSOR, "Training script": TRAINING}


def checklists(scene: Scene) -> tuple[Checklist, ...]:
    """The filled-in checklists."""
    answers = Answers(scene.subject)
    named = {rule for checks in CHECKLISTS.values() for check in checks for rule in check.rules.split()}
    others = [rule.symbol for rule in scene.subject.run.rules if rule.symbol not in named]
    rest = (
        (Check("What the other rules find", "beyond the guide", " ".join(others), nothing),) if others else ()
    )
    return tuple(
        Checklist(title, tuple(_answered(_line(scene, check), answers) for check in (*checks, *more)))
        for (title, checks), more in zip(CHECKLISTS.items(), ((), rest, ()), strict=True)
    )


def _answered(line: Line, answers: Answers) -> Line:
    """An open line that a comment answers, as long as the code is that which was looked at."""
    named = replace(line, name=line_name(line.text), state=answers.state)
    answer = answers.of(named.name) if line.mark is Mark.OPEN else None
    if answer is None:
        return named
    if answer.state != answers.state:
        return replace(
            named,
            note=tr(
                "%(note)s; the code has changed since it was checked by hand (%(at)s)",
                note=line.note,
                at=answer.at,
            ),
        )
    return replace(
        named, mark=Mark.YES, note=tr("by hand: %(reason)s", reason=answer.reason), places=(answer.at,)
    )


def _line(scene: Scene, check: Check) -> Line:
    names = tuple(check.rules.split())
    wrong, undecided, suppressed = (
        [f for f in found if f.symbol in names and (check.only is None or check.only(scene, f))]
        for found in (scene.subject.findings, scene.subject.undecided, scene.subject.suppressed)
    )

    def line(mark: Mark, note: str, found: list[Finding]) -> Line:
        places = tuple(dict.fromkeys(At(f.place.path, f.place.line) for f in found))
        return Line(tr(check.text), check.guide, mark, note, places, names)

    if wrong:
        return line(Mark.NO, _messages(wrong), wrong)
    off = [name for name in names if name not in {rule.symbol for rule in scene.subject.run.rules}]
    if off:
        return line(Mark.OPEN, tr("switched off by the settings: %(off)s", off=", ".join(off)), [])
    if undecided:
        return line(Mark.OPEN, _messages(undecided), undecided)
    try:
        note = check.look(scene)
    except Unseen as reason:
        return line(Mark.OPEN, str(reason), [])
    except Nothing as reason:
        return line(Mark.NONE, str(reason), [])
    if suppressed:
        note = tr("%(note)s; %(number)s switched off by a comment", note=note, number=len(suppressed))
    return line(Mark.YES, note, suppressed)


def _messages(found: list[Finding]) -> str:
    text = found[0].message
    if len(text) > _MAX_NOTE:
        text = Translatable(f"{text[: _MAX_NOTE - 1].rstrip()}…", SHORTENED, {"text": text})
    return text if len(found) == 1 else tr("%(text)s (and %(number)s more)", text=text, number=len(found) - 1)
