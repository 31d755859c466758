"""No Python source, valid or not, makes a run crash or hang."""

from __future__ import annotations

import ast
import random
import textwrap
import tokenize
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onescience_check.checkers.engine import run
from onescience_check.checkers.finding import Result
from onescience_check.checkers.rules import all_rules
from onescience_check.checkers.settings import Settings

ROOT = Path(__file__).parent.parent
# Everything the rules speak of is in here somewhere: their own examples, and a whole small tree.
SOURCES = [rule.example(kind) for rule in all_rules() for kind in ("bad", "good")]
SOURCES += [path.read_text("utf-8") for path in sorted((ROOT / "docs/example").rglob("*.py"))]
LAYER = "from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear\nfrom torch import nn\n"


def check(folder: Path, **files: str) -> Result:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, "utf-8", errors="replace")
    result = run([folder], Settings(profile="guide"))
    assert not [skip for skip in result.skipped if skip.reason.startswith("internal error")]
    return result


def mutated(source: str, seed: int) -> str:
    """The source with a few tokens dropped, doubled or exchanged; most results are still Python, some are not."""
    choice = random.Random(seed)
    tokens = [token for token in tokenize.generate_tokens(StringIO(source).readline) if token.string.strip()]
    lines = source.split("\n")
    for _ in range(choice.randint(1, 4)):
        token, other = choice.choice(tokens), choice.choice(tokens)
        if token.start[0] != token.end[0]:
            continue
        line = lines[token.start[0] - 1]
        new = choice.choice(
            ["", token.string * 2, f"{token.string} {token.string}", other.string, "None", "x", "()"]
        )
        lines[token.start[0] - 1] = line[: token.start[1]] + new + line[token.end[1] :]
    return "\n".join(lines)


@settings(max_examples=150, deadline=20_000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(SOURCES), st.integers(0, 2**32))
def test_mutants_of_real_sources(tmp_path: Path, source: str, seed: int) -> None:
    check(tmp_path, model=mutated(source, seed))


@settings(max_examples=60, deadline=20_000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=120))
def test_arbitrary_text(tmp_path: Path, text: str) -> None:
    check(tmp_path, model=LAYER + text)


@pytest.mark.parametrize(
    "parameters",
    ["", "self, /", "self, a=1, /", "*args", "self, /, *args", "*, a", "**kwargs", "self, /, *, a=1"],
)
def test_a_stage_whose_methods_have_odd_parameters(tmp_path: Path, parameters: str) -> None:
    methods = "".join(
        f"\n    def {name}({parameters}):\n        return super().{name}(None)\n"
        for name in ("__init__", "forward", "set_input_tensor", "state_dict")
    )
    head = f"{LAYER}from megatron.core.transformer import MegatronModule\n\n\n"
    result = check(tmp_path, model=f"{head}class Net_stage0(MegatronModule):{methods}")
    for finding in result.findings:
        for edit in finding.fix.edits if finding.fix else ():
            lines = (tmp_path / "model.py").read_text().splitlines()
            line = lines[edit.place.line - 1]
            assert edit.place.line == edit.place.end_line
            lines[edit.place.line - 1] = line[: edit.place.column] + edit.text + line[edit.place.end_column :]
            ast.parse("\n".join(lines))


@pytest.mark.parametrize(
    "files",
    [
        {"a": LAYER + "from b import B\nclass A(B): ...", "b": LAYER + "from a import A\nclass B(A): ..."},
        {"a": LAYER + "class A(A): ...\nclass B(B, A): ...\nx = x\ny = z\nz = y"},
        {"a": LAYER + "from a import *\nfrom . import a\nfrom .... import b\nimport a.b.c as d"},
        {
            "a": LAYER
            + "class A(nn.Module):\n    def forward(self, x):\n        return self.forward(self(self.forward(x)))"
        },
        {
            "a": LAYER
            + "def f(x): return g(x)\ndef g(x): return f(x)\nclass A(nn.Module):\n    def forward(self, x): return f(x)"
        },
        {
            "a": LAYER
            + "_X_REGISTRY = {k(): v for k in K}\n_X_REGISTRY[k] = _X_REGISTRY\n_X_REGISTRY.update(**_X_REGISTRY)"
        },
        {
            "a": LAYER
            + textwrap.dedent(
                """
                class A(nn.Module):
                    def __init__(self, depth=3, config=None):
                        super().__init__()
                        self.child = A(depth, config)
                        self.children = nn.ModuleList([A(depth - 1) for _ in range(10**9)])
                        self.fc = ColumnParallelLinear(*self.sizes, **self.options)

                    def forward(self, x):
                        while True:
                            for child in self.children:
                                x = child(x)
                            x = self.fc(x) if x else self.child(x)
                        return x
                """
            )
        },
        {
            "a": LAYER
            + "class A(nn.Module):\n    fc = ColumnParallelLinear()\n    def forward(): return fc(*a, **k)[::][None]"
        },
        {
            "a": LAYER
            + "class A(nn.Module):\n"
            + "".join(f"    def m{i}(self, x): return self.m{i + 1}(x)\n" for i in range(400))
        },
        {
            "a": LAYER
            + "class A(nn.Module):\n    def forward(self, x):\n"
            + "        x = x if x else (x, x)\n" * 300
        },
        {
            "a": LAYER
            + "2 ** 10 ** 10\n'%s' * 10 ** 10\n'{:>999999999}'.format(1)\nrange(10 ** 12)[::-1]\nx = 1 / 0 % 0"
        },
    ],
    ids=lambda files: files["a"][len(LAYER) :].strip()[:30],
)
def test_code_that_goes_round_in_circles_or_grows(tmp_path: Path, files: dict[str, str]) -> None:
    check(tmp_path, **files)
