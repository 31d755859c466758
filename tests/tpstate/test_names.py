"""Names lead to the same class through every form of import, across files, roots and packages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Check = Callable[..., None]

LAYERS = """
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Projection(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = COLUMN(dim, dim)

    def forward(self, x):
        return self.fc(x)
"""
USER = """
{}


class DistributedModel(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.proj = {}(dim, config)

    def forward(self, x):
        return self.proj(x).relu()  # [parallel-linear-tuple-used]
"""


def user(imports: str, name: str) -> str:
    return USER.format(imports, name)


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("from megatron.core.tensor_parallel import ColumnParallelLinear", "ColumnParallelLinear"),
        ("from megatron.core.tensor_parallel.layers import ColumnParallelLinear as CPL", "CPL"),
        ("from megatron.core import tensor_parallel", "tensor_parallel.ColumnParallelLinear"),
        ("from megatron.core import tensor_parallel as tp", "tp.layers.ColumnParallelLinear"),
        ("import megatron.core.tensor_parallel", "megatron.core.tensor_parallel.ColumnParallelLinear"),
        ("import megatron.core.tensor_parallel as mpu", "mpu.ColumnParallelLinear"),
        (
            "try:\n    from megatron.core.tensor_parallel import ColumnParallelLinear\n"
            "except ImportError:\n    ColumnParallelLinear = None",
            "ColumnParallelLinear",
        ),
        (
            "from megatron.core import tensor_parallel\nLinear = tensor_parallel.ColumnParallelLinear",
            "Linear",
        ),
    ],
)
def test_a_layer_of_a_library(imports: str, name: str, check: Check) -> None:
    check(f"""
    {imports.replace(chr(10), chr(10) + "    ")}
    from torch import nn


    class Model(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc = {name}(dim, dim, config=config, init_method=config.init_method, gather_output=True)

        def forward(self, x):
            return self.fc(x).relu()  # [parallel-linear-tuple-used]
    """)


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("from torch import nn\nfrom weather.layers import Projection", "Projection"),
        ("from torch import nn\nfrom .layers import Projection", "Projection"),
        ("from torch import nn\nfrom .layers import Projection as P", "P"),
        ("from torch import nn\nfrom . import layers", "layers.Projection"),
        ("from torch import nn\nfrom . import layers as parts", "parts.Projection"),
        ("from torch import nn\nimport weather.layers", "weather.layers.Projection"),
        ("from torch import nn\nimport weather.layers as wl", "wl.Projection"),
        ("from torch import nn\nfrom weather import layers", "layers.Projection"),
        ("from .layers import *", "Projection"),
        ("from weather.layers import *", "Projection"),
        ("from torch import nn\nif True:\n    from .layers import Projection", "Projection"),
        ("from torch import nn\nfrom . import layers\nAlias = layers.Projection", "Alias"),
        ("from torch import nn\nfrom ..weather.layers import Projection", "Projection"),
    ],
)
def test_a_class_of_the_same_package(imports: str, name: str, check: Check) -> None:
    outer = {"__init__.py": ""} if "..weather" in imports else {}
    check(
        {
            **outer,
            "weather/__init__.py": "",
            "weather/layers.py": LAYERS,
            "weather/model.py": user(imports, name),
        }
    )


def test_an_import_inside_a_function(check: Check) -> None:
    check(
        {
            "weather/__init__.py": "",
            "weather/layers.py": LAYERS,
            "weather/model.py": """
            from torch import nn


            class DistributedModel(nn.Module):
                def __init__(self, dim, config):
                    super().__init__()
                    from .layers import Projection as Inner

                    self.proj = Inner(dim, config)

                def forward(self, x):
                    return self.proj(x).relu()  # [parallel-linear-tuple-used]
            """,
        }
    )


@pytest.mark.parametrize(
    "init",
    [
        "from .layers import Projection",
        "from .layers import Projection as Projection\n__all__ = ['Projection']",
        "from weather.modules.layers import Projection",
        "from .layers import *",
        "from . import layers\nProjection = layers.Projection",
        "from .chain import Projection",
        "def __getattr__(name):\n    ...\n_LAZY = {'Projection': '.layers'}",
        "def __getattr__(name):\n    ...\n_LAZY = {'Projection': ('.layers', 'Projection')}",
    ],
)
def test_a_reexport_through_the_package(init: str, check: Check) -> None:
    check(
        {
            "weather/__init__.py": "from .modules import Projection",
            "weather/modules/__init__.py": init,
            "weather/modules/chain.py": "from .layers import Projection",
            "weather/modules/layers.py": LAYERS,
            "weather/model.py": user("from torch import nn\nfrom weather import Projection", "Projection"),
        }
    )


def test_the_src_layout(check: Check) -> None:
    check(
        {
            "src/weather/__init__.py": "",
            "src/weather/layers.py": LAYERS,
            "examples/train.py": user(
                "from torch import nn\nfrom weather.layers import Projection", "Projection"
            ),
            "tests/test_model.py": user("from torch import nn\nimport weather.layers as w", "w.Projection"),
        }
    )


def test_namespace_packages(check: Check) -> None:
    check(
        {
            "src/one/weather/modules/layers.py": LAYERS,
            "src/one/weather/models/model.py": user(
                "from torch import nn\nfrom one.weather.modules.layers import Projection", "Projection"
            ),
            "src/one/weather/models/near.py": user(
                "from torch import nn\nfrom ..modules.layers import Projection", "Projection"
            ),
        }
    )


def test_several_roots_in_one_tree(check: Check) -> None:
    """Two examples have a `layers` of their own; each script means the one beside it."""
    plain = LAYERS.replace("COLUMN(dim, dim)", "nn.Linear(dim, dim)")
    right = user("from torch import nn\nfrom layers import Projection", "Projection")
    check(
        {
            "examples/a/layers.py": LAYERS,
            "examples/a/train.py": right,
            "examples/b/layers.py": plain,
            "examples/b/train.py": right.replace("# [parallel-linear-tuple-used]", ""),
        }
    )


def test_a_name_bound_twice_means_the_last(check: Check) -> None:
    check(
        {
            "weather/__init__.py": "",
            "weather/layers.py": LAYERS,
            "weather/model.py": user(
                "from torch import nn\nfrom .layers import Projection\nProjection = nn.Linear", "Projection"
            ).replace("# [parallel-linear-tuple-used]", ""),
        }
    )


def test_circular_imports_and_inheritance_end(check: Check) -> None:
    check(
        {
            "weather/__init__.py": "from .a import *\nfrom .b import *",
            "weather/a.py": "from .b import *\nfrom .b import B\nclass A(B):\n    pass\n# ColumnParallelLinear",
            "weather/b.py": "from .a import *\nfrom .a import A\nclass B(A):\n    pass\n# ColumnParallelLinear",
            "weather/c.py": user(
                "from torch import nn\nfrom . import Projection\nfrom .a import A", "A"
            ).replace("# [parallel-linear-tuple-used]", ""),
        }
    )
