"""Recursion, endless loops and values that grow: following them ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.settings import Settings
from onescience_check.checkers.tpstate.module_tree import objects_of
from onescience_check.checkers.tpstate.values import Cls, Heap, Obj, Seq, Value

from .conftest import HEAD

Check = Callable[..., None]


def test_recursion_between_modules_ends(check: Check) -> None:
    check("""
    class Tree(nn.Module):
        def __init__(self, dim, config, depth):
            super().__init__()
            self.fc = GATHERED(dim, dim)
            self.child = Tree(dim, config, depth - 1) if depth else None

        def forward(self, x):
            x = self.fc(x)[0]
            return x if self.child is None else self.child(x)


    class Ping(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.pong = Pong(dim, config)
            self.fc = GATHERED(dim, dim)

        def forward(self, x):
            return self.pong(self.fc(x)[0])


    class Pong(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.ping = Ping(dim, config)

        def forward(self, x):
            return self.ping(x)
    """)


def test_a_function_that_calls_itself_for_ever_ends(check: Check) -> None:
    check("""
    def for_ever(t):
        return for_ever(t)

    def even(n):
        return odd(n - 1)

    def odd(n):
        return even(n - 1)


    class Model(nn.Module):
        def __init__(self, dim, config, n):
            super().__init__()
            self.n = even(n)
            self.fc = GATHERED(dim, dim)

        @property
        def loop(self):
            return self.loop

        def forward(self, x):
            while True:
                x = for_ever(self.fc(x)[0])
                self.loop
    """)


@pytest.mark.parametrize(
    "line",
    [
        "n = n * n",
        "n = n << 60",
        "s = s + s",
        "s = f'{s}{s}'",
        "l = l + l",
        "l = [*l, *l]",
        "l.extend(l)",
        "t = t + t",
        "q = q % q",
        "q = q // (q + 1)",
        "q = q * q + q",
        "q = q < q",
        "d = {'d': d, 'e': d}",
        "l = [l, l]",
        "x = x + x",
        "x, y = x + y, x - y",
        "x = torch.cat([x, y]); y = torch.cat([y, x])",
        "q = not q",
        "q = (q and self.a) or q",
        "q = q.a.b[q].c",
        "s = s.replace('a', s)",
        "q = q if q else (q, q)",
        "y = y if q.a else x; x = x if q.b else y",
        "f = lambda t, f=f: f(f(t))",
        "f = functools.partial(f, f)",
        "n = pow(n, n)",
        "n = round(n, -n)",
        "n = 9 ** n",
        "s = 99999 * s",
        "n = math.factorial(n)",
        "s = '{:>999999999}'.format(s)",
        "s = '%999999999d' % n",
    ],
)
def test_values_that_grow_in_a_loop_do_not_hang(line: str, check: Check) -> None:
    check(f"""
    import math


    class Model(nn.Module):
        def __init__(self, dim, config, q):
            super().__init__()
            self.a = q
            self.fc1, self.fc2 = COLUMN(dim, dim), nn.Linear(dim, dim)
            n, s, l, t, d, f = 10, "ab", [1, q], (1, q), {{}}, abs
            for _ in range(64):
                {line if "x" not in line.split("=")[0] else "pass"}
            self.n = n

        def forward(self, x, q):
            n, s, l, t, d, f = 10, "ab", [1, q], (1, q), {{}}, abs
            x, y = self.fc2(x), self.fc2(x)
            for _ in range(64):
                for _ in range(64):
                    {line}
            return f(x)
    """)


@pytest.mark.parametrize(
    "step",
    [
        "a = (a, a)",
        "a = (a, b); b = (b, a)",
        "a = slice(a, a)",
        "a = torch.empty(a, a)",
        "a = [a, a]",
        "a = (a, a) if flag else (a, a, 1)",
    ],
)
def test_values_that_hold_themselves_twice_are_compared_and_hashed_in_time(check: Check, step: str) -> None:
    again = "; ".join([step] * 40)
    check(f"""
    def same(a):
        return a


    class Model(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc = GATHERED(dim, dim)

        def forward(self, x, flag=None):
            a = b = (1, 2)
            c = (1, 2)
            {again}
            d = a
            a = b = c
            {again}
            same(a), same(d)
            if a == d or a in (d, c):
                x = x + 1
            return self.fc(x)[0]
    """)


def test_modules_in_lists_that_hold_themselves_twice_are_found_in_time() -> None:
    held: Value = Obj(Cls("torch.nn.Linear"))
    for _ in range(40):
        held = Heap("list", {"content": Seq((held, held))})
    assert len(list(objects_of(held, ""))) == 2


HELPERS = """
class Writer:
    def __init__(self, level):
        self.level = level

    def write(self, value, depth):
        if self.level > depth:
            if value.a:
                self.write(value.b, depth)
            if value.c:
                self.write(value.d, depth)
            if value.e:
                self.write(value.f, depth)
        for _ in range(40):
            self.level = [value.g, value.h, value.i, value.j]
        return [self.write(value.k, depth + 1), self.write(value.m, depth + 2)]


def dump(value, state):
    state.seen = None
    for _ in range(30):
        for _ in range(30):
            for _ in range(30):
                value = [value, state.seen]
    return value
"""


def test_a_helper_without_end_does_not_starve_the_layers(tmp_path: Path) -> None:
    body = (
        HEAD
        + HELPERS
        + """
class State:
    def __init__(self, dim):
        self.seen = dim


class Model(nn.Module):
    def __init__(self, dim, config, level):
        super().__init__()
        self.state, self.writer = State(dim), Writer(level)
        self.up = ColumnParallelLinear(dim, dim, config=config, init_method=1, gather_output=False)
        self.down = RowParallelLinear(
            dim, dim, config=config, init_method=1, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        dump(x, self.state)
        self.writer.write(x, 0)
        x, _ = self.up(x)
        dump(x, self.state)
        if self.state.seen is not None:
            return self.down(x)[0]
"""
    )
    (tmp_path / "model.py").write_text(body)
    found = run([tmp_path], Settings(base=tmp_path))
    assert not found.skipped
    assert (found.summary.inputs_decided, found.summary.inputs_undecided) == (1, 0)


def test_what_an_unfinished_constructor_would_have_set_is_unknown(tmp_path: Path) -> None:
    body = (
        HEAD
        + HELPERS
        + """
class Heads:
    def __init__(self, heads, config):
        dump(heads, self)
        for _ in range(30):
            for _ in range(30):
                for _ in range(30):
                    heads = [heads, config]
        self.num_heads = heads


class Model(nn.Module):
    def __init__(self, dim, heads, config):
        super().__init__()
        self.heads = Heads(heads // config.tensor_model_parallel_size, config)
        self.size = dim // heads
        self.up = ColumnParallelLinear(dim, dim, config=config, init_method=1, gather_output=False)

    def forward(self, x):
        return self.up(x)[0].view(x.shape[0], -1, self.heads.num_heads, self.size)
"""
    )
    (tmp_path / "model.py").write_text(body)
    assert not run([tmp_path], Settings(base=tmp_path, select=("E7105",))).findings
