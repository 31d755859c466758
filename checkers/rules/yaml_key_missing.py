"""E7518"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..files.discovery import display
from ..finding import Finding
from ..language import tr
from ..project.config_reads import ConfigLoad, Configs, KeyRead, section_missing
from ..project.training import Training, TrainingScript
from ..project.yaml_config import MissingKey, look_up
from ..rule import Rule, Symptom
from ..tpstate.events import Site
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class YamlKeyMissing(Rule):
    """The training script reads a key that its YAML file does not have."""

    code, symbol = "E7518", "yaml-key-missing"
    message = "`%(read)s`: %(file)s has no key `%(key)s`%(section)s"
    advice = "Add `%(key)s:` to %(file)s%(section)s%(present)s."
    why = (
        "The script stops only when that line runs: often after the model is built and every rank has joined."
    )
    symptom = Symptom.CRASH
    runtime = "AttributeError: No such attribute: train_time, or KeyError: 'train_time'"
    limits = (
        "Paths count from the folder of the script, and an option means its default. Silent for files that are "
        "missing, invalid or templated, for keys the script sets or asks for first, and inside try."
    )
    guide = "3 the training interface"

    bad = """
    import yaml
    from megatron.training import pretrain
    from steps import Fields, forward_step, model_provider


    def datasets(samples):
        with open("config.yaml") as file:  # its section `data` holds val_time alone
            cfg = yaml.safe_load(file)
        return Fields(cfg["data"]["train_time"]), None, None  # [yaml-key-missing]


    pretrain(datasets, model_provider, None, forward_step)
    """
    good = """
    import yaml
    from megatron.training import pretrain
    from steps import Fields, forward_step, model_provider


    def datasets(samples):
        with open("config.yaml") as file:  # its section `data` holds val_time alone
            cfg = yaml.safe_load(file)
        return Fields(cfg["data"]["val_time"]), None, None


    pretrain(datasets, model_provider, None, forward_step)
    """
    beside = {"config.yaml": "data:\n  val_time: [2001]\n"}

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            configs = Configs(script)
            for load in configs.loads.values():
                yield from self._check_load(script, load)
            for read in configs.reads():
                if not read.is_guarded and not section_missing(read.load):
                    yield from self._check_read(script, read)

    def _check_load(self, script: TrainingScript, load: ConfigLoad) -> Iterator[Finding]:
        place = place_of(script.module, load.node)
        if load.problem:
            name = display(load.file.path) if load.file is not None else ast.unparse(load.node)
            yield self.finding(
                place,
                decided=False,
                message="the keys of %(file)s cannot be checked: %(problem)s",
                advice="",
                file=name,
                problem=load.problem,
            )
        elif section_missing(load) and load.file is not None:
            near = _like(str(load.section), [str(key) for key in load.file.data])
            name, text = display(load.file.path), ast.unparse(load.node)
            yield self.finding(
                place,
                object=str(load.section),
                read=text,
                file=name,
                key=load.section,
                section=tr(" at its top"),
                present=tr(", or read the section that is there: `%(near)s`", near=near) if near else "",
            )

    def _check_read(self, script: TrainingScript, read: KeyRead) -> Iterator[Finding]:
        file = read.load.file
        if file is None or read.load.problem:
            return
        try:
            look_up(file.data, read.keys)
        except MissingKey as missing:
            key, above = read.keys[missing.index], ".".join(read.keys[: missing.index])
            near = _like(key, missing.present)
            evidence = (
                at(
                    Site(script.module, read.load.node),
                    tr("%(file)s is loaded here", file=display(file.path)),
                ),
            )
            yield self.finding(
                place_of(script.module, read.node),
                object=key,
                evidence=evidence,
                read=ast.unparse(read.node),
                file=display(file.path),
                key=key,
                section=tr(" in `%(above)s`", above=above) if above else "",
                present=tr(", or read the key that is there: `%(near)s`", near=near) if near else "",
            )


def _like(key: str, present: Sequence[str]) -> str | None:
    """A key that is there and holds the same kind of value: another spelling, or another set of the same thing.

    `train_time` and `val_time` are alike; `train_time` and `train_ratio` are near in letters alone.
    """
    for name in difflib.get_close_matches(key, present, 5, 0.5):
        mine, other = key.split("_"), name.split("_")
        last = difflib.SequenceMatcher(None, mine[-1], other[-1]).ratio()
        first = difflib.SequenceMatcher(None, "_".join(mine[:-1]), "_".join(other[:-1])).ratio()
        if last >= 0.75 and (first >= 0.75 or len(mine) == len(other) > 1):
            return name
    return None
