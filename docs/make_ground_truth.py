"""Write docs/ground-truth.md from tests/mutants/mutants.json and the rules: `python docs/make_ground_truth.py`."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from onescience_check.checkers.frontends.references import REFERENCES as CHOSEN
from onescience_check.checkers.frontends.references import reference
from onescience_check.checkers.rule import Rule, Symptom
from onescience_check.checkers.rules import all_rules

DOCS = Path(__file__).parent
DATA = DOCS.parent / "tests" / "mutants" / "mutants.json"
TEMPLATES = DOCS.parent / "checkers" / "frontends" / "templates"
EVIDENCE = TEMPLATES / "evidence.json"
REFERENCES = TEMPLATES / "references.json"
HEAD = """# Ground truth: what each rule's mistake does at run time

Made by `python docs/make_ground_truth.py` from `tests/mutants/mutants.json`; `python -m tests.mutants.matrix` measures
again.

Each row is one mistake made in the reference models: the rule that reading reports, where, and what
`onescience-check verify --numbers` shows first when the model runs with it.
"""

LANGUAGE = (
    "a language model of Megatron's: vocabulary-parallel embedding, loss and tied weights, grouped queries"
)
SEQUENCE = (
    "a transformer with sequence parallelism, as Megatron's GPT: windows need the whole grid on each rank"
)
EXPERTS = "a model with a mixture of experts"
ONE_CLASS = "one class for all stages, which reads pre_process and post_process, as Megatron's GPT"
OWN_LOOP = (
    "a training loop written in one place: the runtime spreads this over functions that reading does not join"
)
OWN_SCRIPT = "a script that reads files, sets options and writes results itself: the references leave it to the runtime"
PLAIN = "parallelism written by hand on torch.distributed, without Megatron"
RANGE = "a stage whose range of layers may be left out"
OWN_NORM = "a norm of its own, in 16 bits"
DICTS = "stages that send dicts on a schedule of their own"
NEEDS = {
    "parallel-loss-on-gathered": LANGUAGE,
    "tensor-unpacked-as-pair": LANGUAGE,
    "tied-weight-unsynced": LANGUAGE,
    "kv-heads-tiled": LANGUAGE,
    "collective-without-autograd": LANGUAGE,
    "sp-input-not-scattered": SEQUENCE,
    "full-on-sequence-shard": SEQUENCE,
    "sp-gather-grad-of-replicated": SEQUENCE,
    "sequence-shards-joined": SEQUENCE,
    "sp-dropout-not-forked": SEQUENCE,
    "replicated-parameter-unsynced": SEQUENCE,
    "marked-gradients-unsummed": SEQUENCE,
    "loss-of-own-tokens": EXPERTS,
    "auxiliary-loss-dropped": EXPERTS,
    "boundary-layout-changed": ONE_CLASS,
    "final-norm-on-every-stage": ONE_CLASS,
    "loss-output-arity": ONE_CLASS,
    "multi-tensor-on-stock-schedule": "stages on Megatron's stock schedule",
    "cyclic-axis-masked": "a window mask written by slices of the grid, as OneScience's Pangu has",
    "rank-offset-missing": "a table that every rank holds whole and cuts in forward",
    "batch-not-float32": "a data set whose numbers are not float32 already",
    "offset-ignored": "layer numbers to which a function adds the offset of the stage",
    "saved-state-not-restored": OWN_LOOP,
    "file-name-lacks-axis": OWN_LOOP,
    "rng-tracker-not-seeded": OWN_LOOP,
    "clipped-before-complete": OWN_LOOP,
    "index-not-local": LANGUAGE,
    "layer-range-unset": RANGE,
    "boundary-keys-differ": DICTS,
    "norm-result-not-cast": OWN_NORM,
    "batch-size-of-file": OWN_SCRIPT,
    "output-folder-missing": OWN_SCRIPT,
    "loader-ends-early": OWN_SCRIPT,
    "checkpoint-model-not-list": OWN_SCRIPT,
    "default-overridden": OWN_SCRIPT,
    "warmup-ignored": OWN_SCRIPT,
    "file-written-by-every-rank": OWN_SCRIPT,
    "stages-seeded-alike": OWN_SCRIPT,
    "replica-lengths-differ": OWN_SCRIPT,
    "rank-and-size-of-different-axes": PLAIN,
    "group-made-by-some-ranks": PLAIN,
    "wrapped-over-all-ranks": PLAIN,
    "groups-used-before-init": PLAIN,
    "device-of-wrong-axis": PLAIN,
}


def page() -> str:
    """The text of the page."""
    mutants = json.loads(DATA.read_text("utf-8"))
    by_symbol: dict[str, list[dict]] = defaultdict(list)
    for row in mutants:
        for symbol in dict.fromkeys(symbol for symbol, *_ in row["static"]):
            by_symbol[symbol].append(row)
    rules = [rule for rule in all_rules() if rule.code[0] in "EW"]
    shown = [rule for rule in rules if rule.symbol in by_symbol]
    parts = [HEAD, *_figures(mutants, rules, shown), "## Rules and their mistakes\n"]
    parts += ["| rule | mistake | found at | a run shows |\n| --- | --- | --- | --- |"]
    for rule in sorted(shown, key=lambda rule: rule.code[1:]):
        parts += [_row(rule, row) for row in by_symbol[rule.symbol]]
    parts += [
        "\n## Mistakes that only a run shows\n",
        "| mistake | file | a run shows |\n| --- | --- | --- |",
    ]
    parts += [
        f"| {_cell(row['title'])} | {_name(row['edits'][0][0])} | {_run(row)} |"
        for row in mutants
        if not row["static"] and row["run"]
    ]
    quiet = [row for row in mutants if row["harm"] != "none" and not row["run"] and not row["static"]]
    if quiet:
        parts += ["\n## Harmful mistakes that neither shows\n"]
        parts += [f"- {row['title']} ({_name(row['edits'][0][0])})" for row in quiet]
    harmless = {rule.symbol: rule for rule in shown if not any(row["run"] for row in by_symbol[rule.symbol])}
    parts += ["\n## Rules whose mistakes no run here shows, and why they exist\n"]
    parts += [f"- {rule.code} {rule.symbol}: {_first(rule.why)}" for rule in harmless.values()]
    parts += ["\n## Rules that the reference models cannot express\n"]
    parts += ["Their bad examples are in `tests/rules/<symbol>/`. What could express them:\n"]
    missing = [rule for rule in rules if rule.symbol not in by_symbol]
    needs = dict.fromkeys(NEEDS[rule.symbol] for rule in missing if rule.symbol in NEEDS)
    for need in needs:
        names = [f"{rule.code} {rule.symbol}" for rule in missing if NEEDS.get(rule.symbol) == need]
        parts.append(f"- {need}: {', '.join(names)}")
    later = [f"{rule.code} {rule.symbol}" for rule in missing if rule.symbol not in NEEDS]
    if later:
        parts += ["\n## Rules without a mistake yet\n", ", ".join(later)]
    return "\n".join(parts) + "\n"


def _figures(mutants: list[dict], rules: list[Rule], shown: list[Rule]) -> list[str]:
    harmful = [row for row in mutants if row["harm"] != "none"]
    read = sum(bool(row["static"]) for row in harmful)
    ran = sum(bool(row["run"]) for row in harmful)
    either = sum(bool(row["static"] or row["run"]) for row in harmful)
    return [
        f"{len(mutants)} mistakes, {len(harmful)} of them harmful: reading finds {read}, a run {ran}, both together "
        f"{either}. {len(shown)} of {len(rules)} E and W rules have a mistake here.\n"
    ]


def _row(rule: Rule, row: dict) -> str:
    path, line = next((path, line) for symbol, path, line in row["static"] if symbol == rule.symbol)
    return f"| {rule.code} {rule.symbol} | {_cell(row['title'])} | {_name(path)}:{line} | {_run(row)} |"


def _run(row: dict) -> str:
    run = row["run"]
    if run is None:
        return "nothing: it works today" if row["harm"] == "none" else "nothing"
    place = f" at {_name(run['path'])}:{run['line']}" if run["path"] else ""
    return f"{run['kind']}: {_cell(run['message'][:160])}{place}"


def _first(text: str) -> str:
    """The first sentence of a text."""
    return " ".join(text.split()).split(". ")[0].rstrip(".") + "."


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def evidence() -> str:
    """For `explain`: of each rule a mistake that a run shows, and what it shows.

    A mistake made for the rule comes before one that it finds alone. Where others find it, too, what the run shows may
    be theirs: it stands for rules only whose mistakes show in a run.
    """
    shows = (Symptom.CRASH, Symptom.HANG, Symptom.WRONG_NUMBERS)
    seen = {rule.symbol for rule in all_rules() if rule.symptom in shows}
    found: dict[str, tuple[int, list[str]]] = {}
    for row in json.loads(DATA.read_text("utf-8")):
        run, named = row["run"], {symbol for symbol, *_ in row["static"]}
        for symbol in named if run else ():
            worth = 0 if row.get("rule") == symbol else 1 if named == {symbol} else 2
            is_better = symbol not in found or worth < found[symbol][0] or worth == 0
            if is_better and (worth < 2 or symbol in seen):
                message = " ".join(run["message"].split())[:160]
                found[symbol] = (worth, [row["title"], f"{run['kind']}: {message}"])
    rows = {symbol: row for symbol, (_, row) in sorted(found.items())}
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def references() -> str:
    """For `--format agent`: of each rule the line of the reference models that a person chose, else one that a mistake
    of its kind replaced, so where it stands right. A mistake made for the rule, in one place, comes before others."""
    found: dict[str, tuple[tuple[bool, int, int], str, int]] = {}
    for row in json.loads(DATA.read_text("utf-8")):
        for number, edit in enumerate(row["edits"]):
            line = _replaced(*edit)
            if line is None:
                continue
            for symbol in {row["rule"], *(symbol for symbol, *_ in row["static"])} - {""}:
                worth = (row["rule"] != symbol, len(row["edits"]), number)
                if symbol not in found or worth < found[symbol][0]:
                    found[symbol] = (worth, edit[0], line)
    places = {symbol: [path, line] for symbol, (_, path, line) in found.items()}
    for symbol, (_, piece) in CHOSEN.items():
        path = reference(symbol)
        text = (DOCS.parent / path).read_text("utf-8")
        places[symbol] = [path, text[: text.index(piece)].count("\n") + 1]
    return json.dumps(dict(sorted(places.items())), indent=1) + "\n"


def _replaced(path: str, right: str, wrong: str) -> int | None:
    """The first line of code of the reference models that a mistake takes away; None where it only adds some."""
    if not (path.startswith("reference_models/") and path.endswith(".py")):
        return None
    text = (DOCS.parent / path).read_text("utf-8")
    kept = {line.strip() for line in wrong.splitlines()}
    first = text[: text.index(right)].count("\n") + 1
    lines = text.splitlines()[first - 1 : first + right.count("\n")]
    for number, line in enumerate(map(str.strip, lines), first):
        is_code = line not in kept and not line.startswith(("import ", "from ", "#")) and len(line) > 3
        if is_code and line.strip("()[]{},"):
            return number
    return None


if __name__ == "__main__":
    (DOCS / "ground-truth.md").write_text(page(), "utf-8")
    EVIDENCE.write_text(evidence(), "utf-8")
    REFERENCES.write_text(references(), "utf-8")
