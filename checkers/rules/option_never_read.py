"""W7546"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..finding import Evidence, Finding
from ..language import listed, tr
from ..project.project import Project
from ..project.training import TrainingScript
from ..rule import Rule, Symptom
from ..spmd.frames import Frame
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_WHOLE = re.compile(
    r"vars\(\s*args\s*\)|\*\*\s*args\b|args\.__dict__|getattr\(\s*args\s*,\s*[^'\"\s]|\*\*vars\("
)
_BY_NAME = re.compile(r"getattr\(\s*\w*args\s*,\s*[^'\"\s]")
_BESIDE = re.compile(r"(?m)^\s*(?:from|import)\s+((?:tasks|tools|examples)\b[\w.]*)")
"""Packages that lie beside Megatron's own in its tree and read the arguments too."""
_ARGUMENTS = ("args", "_args", "opt", "opts", "options", "hparams", "flags", "FLAGS")
_BOUND = re.compile(r"(\w+)\s*=\s*(?:\w+\.)*(?:get_args|parse_args|initialize_megatron)\(")
_MOST = 400
"""Files of one script that are looked into."""


class OptionNeverRead(Rule):
    """A training script adds an option to the command line that nothing reads."""

    code, symbol = "W7546", "option-never-read"
    message = "%(options)s: parsed and never read; setting it changes nothing"
    advice = "Read `args.%(name)s` where it should count, or take the option out."
    why = "The command line is where a run is described. An option that nothing reads looks as if it had been used."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; the run does what the code says, not what the command says."
    limits = (
        "Options of the function that Megatron is handed as `extra_args_provider`. Silent where any file of the tree "
        "reads such an attribute of the arguments or of a `config`, or hands them on as a whole, and where a part of "
        "Megatron's tree that reads arguments is imported and not there."
    )
    guide = "beyond the guide"

    bad = """
    from megatron.training import get_args, pretrain


    def add_arguments(parser):
        parser.add_argument("--crop-size", type=int, default=64)  # [option-never-read]
        parser.add_argument("--num-levels", type=int, default=13)
        return parser


    def datasets(sizes):
        args = get_args()
        return list(range(args.num_levels)), None, None


    def main(model_provider, forward_step):
        pretrain(datasets, model_provider, None, forward_step, extra_args_provider=add_arguments)
    """
    good = """
    from megatron.training import get_args, pretrain


    def add_arguments(parser):
        parser.add_argument("--crop-size", type=int, default=64)
        parser.add_argument("--num-levels", type=int, default=13)
        return parser


    def datasets(sizes):
        args = get_args()
        return list(range(args.num_levels * args.crop_size)), None, None


    def main(model_provider, forward_step):
        pretrain(datasets, model_provider, None, forward_step, extra_args_provider=add_arguments)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for module in project.modules:
            if "extra_args_provider" not in module.text or project.is_framework(module):
                continue
            script = TrainingScript(project, module)
            for frame in _providers(script, project):
                if not project.is_asked(frame.module) or any(
                    _WHOLE.search(reader.text) or _reads_elsewhere(project, reader)
                    for reader in (module, frame.module)
                ):
                    continue
                options = list(_options(frame))
                near = _within_reach(project, script) if options else []
                unread = [found for found in options if not _is_named(project, near, *found[1:])]
                if unread:
                    yield self._found(frame, unread)

    def _found(self, frame: Frame, unread: list[tuple[ast.Call, str, str]]) -> Finding:
        first = unread[0]
        return self.finding(
            place_of(frame.module, first[0]),
            object=frame.function_name,
            evidence=tuple(
                Evidence(
                    frame.module.display, call.lineno, tr("`%(option)s` is not read either", option=option)
                )
                for call, option, _ in unread[1:]
            ),
            options=listed(", ", [f"`{option}`" for _, option, _ in unread]),
            name=first[2],
        )


def _providers(script: TrainingScript, project: Project) -> Iterator[Frame]:
    """The functions that add options for a call of the framework."""
    seen: set[int] = set()
    for call, scope in script.calls:
        for word in call.keywords:
            found = script.function(word.value, scope) if word.arg == "extra_args_provider" else None
            if (
                found is not None
                and id(found.function) not in seen
                and not project.is_framework(found.module)
            ):
                seen.add(id(found.function))
                yield Frame(project, found)


def _options(frame: Frame) -> Iterator[tuple[ast.Call, str, str]]:
    """Each `add_argument("--x")`: the call, the option, and the attribute that it fills."""
    for node in frame.scope.nodes:
        if (
            not isinstance(node, ast.Call)
            or not isinstance(node.func, ast.Attribute)
            or node.func.attr != "add_argument"
        ):
            continue
        names = [
            arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
        ]
        long = next((name for name in names if name.startswith("--")), "")
        given = [word.value for word in node.keywords if word.arg == "dest"]
        is_action = any(
            word.arg == "action"
            and not (isinstance(word.value, ast.Constant) and str(word.value.value).startswith("store"))
            for word in node.keywords
        )
        if long and len(names) == len(node.args) and not given and not is_action:
            yield node, long, long.lstrip("-").replace("-", "_")


def _is_named(project: Project, near: list[ModuleFacts], option: str, name: str) -> bool:
    """Whether a file that can hold the arguments reads the attribute: one that asks for them, or that the script
    imports, all of which are `near`. Fields of the framework's own configurations are filled by name."""
    word = re.escape(name)
    field = re.compile(rf"(?m)^ +{word}\s*:|\bargs\.{word}\b")
    holders = project.knowledge(_Holders)
    quoted = [f"{one}{name}{other}" for one in "'\"" for other in "'\""]
    for module in near:
        if name not in (module.words if name.isidentifier() else module.text):
            continue
        if project.is_framework(module):
            if field.search(_without(option, module.text)):
                return True
        elif f".{name}" in module.text or any(text in module.text for text in quoted):
            read = rf"\b(?:{holders.of(module)})(?:\.{word}\b|(?:\.get\(|,\s*|\[)['\"]{word}['\"])"
            if re.search(read, _without(option, module.text)):
                return True
        if any(text in module.text for text in quoted) and module.says(_BY_NAME):
            return True  # `for name in ("crop_size", …): getattr(args, name)`
    # A configuration made of the arguments has their names: Megatron copies each that it has a field for.
    of_config = re.compile(rf"config\.(?<=\bconfig\.){word}\b(?!\s*=[^=])")
    mark = f"config.{name}"
    return project.files.unread_has(mark, of_config) or any(
        mark in module.text and of_config.search(module.text)
        for module in project.modules
        if (name in module.words or not name.isidentifier()) and not project.is_framework(module)
    )


def _without(option: str, text: str) -> str:
    return text.replace(option, "") if option in text else text


def _reads_elsewhere(project: Project, module: ModuleFacts) -> bool:
    """Whether a file imports a part of Megatron's tree that is not there, and that reads arguments of its own."""
    return any(
        not isinstance(project.find_module(found[1], module), ModuleFacts)
        for found in _BESIDE.finditer(module.text)
    )


class _Holders:
    """The names under which the files of a tree hold the arguments, as sides of a pattern."""

    def __init__(self, _: Project) -> None:
        self._known: dict[int, str] = {}

    def of(self, module: ModuleFacts) -> str:
        if id(module) not in self._known:
            bound = _BOUND.finditer(module.text) if module.says(_BOUND) else ()
            self._known[id(module)] = "|".join(sorted({*_ARGUMENTS, *(found[1] for found in bound)}))
        return self._known[id(module)]


def _within_reach(project: Project, script: TrainingScript) -> list[ModuleFacts]:
    """The script, what it imports however far, every file that asks for the arguments, and the framework."""
    found, known = [script.module], {id(script.module)}
    for module in found:  # grows as it is read
        for edge in module.edges if not project.is_framework(module) and len(found) < _MOST else ():
            base = module.absolute(edge.module)
            for dotted in (base, *(f"{base}.{name}" for name in edge.names)):
                target = project.find_module(dotted, module)
                if isinstance(target, ModuleFacts) and id(target) not in known:
                    known.add(id(target))
                    found.append(target)
    return found + [
        module
        for module in project.modules
        if id(module) not in known and (project.is_framework(module) or "get_args" in module.words)
    ]
