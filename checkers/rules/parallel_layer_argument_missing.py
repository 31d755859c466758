"""E7311"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Edit, Finding, Fix
from ..language import listed, tr
from ..rule import Rule, Symptom
from ..tpstate.config_chain import is_unknown_copy, provider_of
from ..tpstate.events import Built
from ..tpstate.fixes import add_keyword, insert_before, unsafe
from ..tpstate.provider_table import Provider
from ..tpstate.providers import accepts
from ..tpstate.verdicts import by_site, first_certain, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ParallelLayerArgumentMissing(Rule):
    """A parallel linear is built without an argument it requires, by position where it takes a keyword, or with one
    it does not have."""

    code, symbol = "E7311", "parallel-layer-argument-missing"
    message = "`%(cls)s` (%(provider)s) is built %(problem)s"
    advice = "%(hint)s"
    why = (
        "Megatron-Core's layers take everything after the two sizes by keyword, and give no default to `config` and "
        "`init_method`, nor, for a row-parallel layer, to `bias`, `input_is_parallel` and `skip_bias_add`."
    )
    symptom = Symptom.CRASH
    runtime = "TypeError: __init__() missing 1 required keyword-only argument: 'init_method'"
    limits = (
        "Silent where `**kwargs` are passed on. A layer whose source is not in the tree is only checked for what "
        "Megatron-Core has required since 0.3. A missing `config` alone is the matter of config-not-forwarded."
    )
    guide = "2.4: parameters of the parallel linears"
    maturity = "stable"
    fix_kind = "unsafe"
    fix_note = (
        "Names and values of the arguments are guessed from what stands there and from what the layers "
        "beside it are given."
    )

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
    from torch import nn


    class Mlp(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc1 = ColumnParallelLinear(dim, dim, config=config)  # [parallel-layer-argument-missing]
            self.fc2 = RowParallelLinear(  # [parallel-layer-argument-missing]
                dim, dim, config, init_method=config.init_method, bias=True,
                input_is_parallel=True, skip_bias_add=False,
            )
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
    from torch import nn


    class Mlp(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc1 = ColumnParallelLinear(
                dim, 4 * dim, config=config, init_method=config.init_method, gather_output=False
            )
            self.fc2 = RowParallelLinear(
                4 * dim, dim, config=config, init_method=config.init_method, bias=True,
                input_is_parallel=True, skip_bias_add=False,
            )
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, Built):
            wrong = [
                (event, problem) for event in events for problem in [_problem(event)] if problem is not None
            ]
            event = first_certain([event for event, _ in wrong])
            if event is None:
                continue
            text, hint = next(problem for other, problem in wrong if other is event)
            row = provider_of(event)
            assert row is not None
            yield self.finding(
                site_place(event.site),
                decided=not is_unknown_copy(analysis.project, event),
                object=owner_name(event),
                cls=event.obj.cls.dotted.rsplit(".", 1)[-1],
                provider=row.name,
                fix=_typed(event, row),
                problem=text,
                hint=hint,
            )


def _problem(event: Built) -> tuple[str, str] | None:
    """What does not fit, and what to type."""
    row = provider_of(event)
    if row is None or not isinstance(event.site.node, ast.Call):
        return None
    problems, hints = [], []
    surplus = row.keyword_only and event.positional > len(row.positional) and "*" not in event.keywords
    if surplus:
        problems.append(
            tr(
                "with %(positional)s arguments by position, of which only %(number)s may be",
                positional=event.positional,
                number=len(row.positional),
            )
        )
        hints.append(_by_keyword(row))
    known = accepts(row)
    unknown = [
        name for name in event.keywords if known is not None and name not in known and name not in ("**", "*")
    ]
    if unknown:
        problems.append(tr("with `%(unknown)s`, which it does not take", unknown=unknown[0]))
        hints.append(tr("It takes: %(names)s.", names=", ".join(sorted(known or ()))))
    missing = [] if event.open_keywords else [name for name in row.required if name not in event.obj.args]
    if surplus or missing == ["config"]:
        missing = [name for name in missing if name != "config"]
    if missing:
        problems.append(tr("without %(missing)s", missing=", ".join(f"`{name}`" for name in missing)))
        hints.append(
            tr("Pass %(missing)s.", missing=", ".join(f"`{name}={_value(name)}`" for name in missing))
        )
    return (listed(" and ", problems), listed(" ", hints)) if problems else None


def _typed(event: Built, row: Provider) -> Fix | None:
    """The missing arguments that have one usual value, and `config=` in front of a config given by position."""
    call = event.site.node
    known = accepts(row)
    if not isinstance(call, ast.Call) or any(
        name not in (known or event.keywords) for name in event.keywords
    ):
        return None
    edits: list[Edit | None] = []
    config = next((ast.unparse(k.value) for k in call.keywords if k.arg == "config"), "config")
    surplus = call.args[len(row.positional) :] if row.keyword_only else []
    if len(surplus) > 1 or any("config" not in ast.unparse(value) for value in surplus):
        return None
    edits += [insert_before(event.site.module, value, "config=") for value in surplus]
    missing = [name for name in row.required if name not in event.obj.args and not event.open_keywords]
    for name in missing:
        if name == "config" and (surplus or missing == ["config"]):
            continue
        if name not in _VALUES:
            return None
        value = _VALUES[name].replace("config.", f"{config}.")
        edits.append(add_keyword(event.site.module, call, f"{name}={value}"))
    return unsafe(*edits)


def _by_keyword(row: Provider) -> str:
    return tr(
        "Only `%(positional)s` may be given by position: write `config=config` and so on.",
        positional="`, `".join(row.positional),
    )


_VALUES = {"config": "config", "init_method": "config.init_method", "bias": "True", "skip_bias_add": "False"}


def _value(name: str) -> str:
    return _VALUES.get(name, "…")
