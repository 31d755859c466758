"""Layers that a project derives from a provider's or writes itself."""

from __future__ import annotations

from collections.abc import Callable

Check = Callable[..., None]


SUBCLASSES = """
class Named(ColumnParallelLinear):
    pass


class WithInit(ColumnParallelLinear):
    def __init__(self, dim, config, **kwargs):
        super().__init__(dim, dim, config=config, init_method=config.init_method, gather_output=True)


class Unwraps(WithInit):
    def forward(self, x):
        return super().forward(x)[0]


class Passes(WithInit):
    def forward(self, x):
        return super().forward(x)


class Model(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.named = Named(dim, dim, config=config, init_method=config.init_method, gather_output=True)
        self.with_init = WithInit(dim, config)
        self.unwraps = Unwraps(dim, config)
        self.passes = Passes(dim, config)

    def forward(self, x):
        x = self.unwraps(x).relu()
        x = self.named(x).relu()  # [parallel-linear-tuple-used]
        x = self.with_init(x).relu()  # [parallel-linear-tuple-used]
        return self.passes(x).relu()  # [parallel-linear-tuple-used]
"""


def test_subclasses_count_and_may_unwrap(check: Check) -> None:
    check(SUBCLASSES)


def test_subclasses_in_another_file(check: Check) -> None:
    head, _, model = SUBCLASSES.partition("class Model")
    check(
        {
            "weather/__init__.py": "from .linear import *",
            "HEAD weather/linear.py": head,
            "HEAD weather/model.py": "from weather import Named, Passes, Unwraps, WithInit\n\n\nclass Model"
            + model,
        }
    )


OWN = """
import torch
from torch import nn
from torch.distributed import all_reduce


class ColumnParallelLinear(nn.Module):
    def __init__(self, dim, out, gather_output={gather}):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out, dim))

    def forward(self, x):
        y = nn.functional.linear(x, self.weight)
        all_gather(y)
        return {returned}


class RowParallelLinear(nn.Module):
    def __init__(self, dim, out, input_is_parallel=False):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out, dim))

    def forward(self, x):
        y = nn.functional.linear(x, self.weight)
        all_reduce(y)
        return y
"""


def own(gather: str, returned: str, line: str) -> dict[str, str]:
    return {
        "weather/__init__.py": "",
        "weather/linear.py": OWN.format(gather=gather, returned=returned),
        "weather/model.py": f"""
        from torch import nn
        from .linear import ColumnParallelLinear, RowParallelLinear


        class Model(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.fc = ColumnParallelLinear(dim, dim)
                self.out = RowParallelLinear(dim, dim)

            def forward(self, x):
                return self.out({line}
        """,
    }


def test_a_projects_own_layer_is_read(check: Check) -> None:
    check(own("True", "y", "self.fc(x).relu())"))


def test_a_projects_own_layer_that_returns_a_pair(check: Check) -> None:
    check(own("True", "y, None", "self.fc(x).relu())  # [parallel-linear-tuple-used]"))


def test_a_projects_own_layer_with_its_own_defaults(check: Check) -> None:
    check(own("False", "y", "self.fc(x).relu())  # [input-is-parallel-mismatch]"))
