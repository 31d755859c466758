"""The files of the small model: two stages, a fuser with a parallel MLP, its original and training script."""

from __future__ import annotations

_STAGE = """
from onescience.distributed.megatron.core.tensor_parallel import checkpoint
from onescience.distributed.megatron.training import get_args
from onescience.distributed.megatron.training.arguments import core_transformer_config_from_args
from onescience.modules import OneFuser
from torch import nn
"""

_BODY = """

class Tiny_stage{rank}(nn.Module):
    def __init__(self, grid=(8, 16), dim=32, depths=(1, 1, 2), config=None, **kwargs):
        super().__init__()
        if config is None:
            config = core_transformer_config_from_args(get_args())
        self.config = config
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        depth1, depth2, depth3 = depths
        rates = np.linspace(0, 0.2, depth1 + depth2 + depth3).tolist()
{layers}
    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def state_dict_for_save_checkpoint(self, prefix="", keep_vars=False):
        return self.state_dict(prefix=prefix, keep_vars=keep_vars)

    def sharded_state_dict(self, prefix="", sharded_offsets=(), metadata=None):
        return {{}}
"""


def _layer(number: int, style: str, rates: str, config: str = "") -> str:
    return f'''        self.layer{number} = OneFuser(
            style="{style}",
            dim=dim,
            input_resolution=grid,
            depth=depth{number},
            num_heads=4,
            window_size=(2, 4),
            drop_path=rates[{rates}],{config}
        )
'''


_SLICES = ("", ":depth1", "depth1 : depth1 + depth2", "depth1 + depth2 :")


def _split(number: int) -> str:
    return _layer(number, "TinyDistributedFuser", _SLICES[number], "\n            config=config,")


STAGE0 = (
    "import numpy as np"
    + _STAGE
    + _BODY.format(rank=0, layers=_split(1) + _split(2))
    + """
    def forward(self, x):
        skip = checkpoint(self.layer1, False, x)
        x = checkpoint(self.layer2, False, skip)
        return x, skip
"""
)

STAGE1 = (
    "import numpy as np"
    + _STAGE
    + _BODY.format(rank=1, layers=_split(3))
    + """
    def forward(self, x=None):
        x, skip = tuple(self.input_tensor)
        x = checkpoint(self.layer3, False, x)
        return x + skip
"""
)

ORIGINAL = (
    """import numpy as np
from onescience.modules import OneFuser
from torch import nn


class Tiny(nn.Module):
    def __init__(self, grid=(8, 16), dim=32, depths=(1, 1, 2)):
        super().__init__()
        depth1, depth2, depth3 = depths
        rates = np.linspace(0, 0.2, depth1 + depth2 + depth3).tolist()
"""
    + "".join(_layer(number, "TinyFuser", _SLICES[number]) for number in (1, 2, 3))
    + """
    def forward(self, x):
        skip = self.layer1(x)
        return self.layer3(self.layer2(skip)) + skip
"""
)

FUSER = """from torch import nn

from ..mlp.onemlp import OneMlp


class TinyFuser(nn.Module):
    def __init__(self, dim, input_resolution, depth, num_heads, window_size, drop_path=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.area = input_resolution[0] * input_resolution[1] // (window_size[0] * window_size[1])
        self.rates = drop_path
        self.blocks = nn.ModuleList([OneMlp(style="TinyMlp", dim=dim) for _ in range(depth)])

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x
"""

DISTRIBUTED_FUSER = """from torch import nn

from ..mlp.onemlp import OneMlp


class TinyDistributedFuser(nn.Module):
    def __init__(self, dim, input_resolution, depth, num_heads, window_size, drop_path=0.0, *, config):
        super().__init__()
        self.num_heads = num_heads
        self.area = input_resolution[0] * input_resolution[1] // (window_size[0] * window_size[1])
        self.rates = drop_path
        self.blocks = nn.ModuleList(
            [OneMlp(style="TinyDistributedMlp", dim=dim, config=config) for _ in range(depth)]
        )

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x
"""

MLP = """from torch import nn


class TinyMlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1 = nn.Linear(dim, 4 * dim)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))
"""

DISTRIBUTED_MLP = """from onescience.distributed.megatron.core import tensor_parallel
from torch import nn


class TinyDistributedMlp(nn.Module):
    def __init__(self, dim, *, config):
        super().__init__()
        self.fc1 = tensor_parallel.ColumnParallelLinear(
            dim, 4 * dim, config=config, init_method=config.init_method, bias=True, gather_output=False,
        )
        self.act = nn.GELU()
        self.fc2 = tensor_parallel.RowParallelLinear(
            4 * dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        x, _ = self.fc1(x)
        x, _ = self.fc2(self.act(x))
        return x
"""


def _registry(kind: str, entries: dict[str, str]) -> str:
    imports = "".join(f"from .{module} import {name}\n" for name, module in entries.items())
    table = "".join(f'    "{name}": {name},\n' for name in entries)
    return f"""from torch import nn

{imports}
_{kind.upper()}_REGISTRY = {{
{table}}}


class One{kind.capitalize()}(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        if style not in _{kind.upper()}_REGISTRY:
            raise ValueError(style)
        self.inner = _{kind.upper()}_REGISTRY[style](**kwargs)

    def forward(self, x):
        return self.inner(x)
"""


SCRIPT = """from functools import partial
from pathlib import Path

import torch
from onescience.datapipes import TinyDataset
from onescience.distributed.megatron.core import mpu
from onescience.distributed.megatron.training import get_args, pretrain
from onescience.distributed.megatron.training.arguments import core_transformer_config_from_args
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from onescience.models.tiny_distributed import Tiny_stage0, Tiny_stage1
from onescience.utils.YParams import YParams

CONFIG = Path(__file__).parent / "conf" / "config.yaml"


def model_provider(pre_process=False, post_process=True):
    cfg = YParams(str(CONFIG), "model")
    stages = {0: Tiny_stage0, 1: Tiny_stage1}
    model = stages[mpu.get_pipeline_model_parallel_rank()](
        grid=cfg.grid, dim=cfg.dim, config=core_transformer_config_from_args(get_args())
    )
    tokens = cfg.grid[0] * cfg.grid[1]
    get_args().pipeline_tensor_shape_config = PipelineTensorShapeConfig(
        num_stages=2, stage_shapes=[[[1, tokens, cfg.dim], [1, tokens, cfg.dim]]]
    )
    return model


def train_valid_test_dataset_provider(train_val_test_num_samples):
    return TinyDataset("train"), TinyDataset("valid"), TinyDataset("test")


def loss_func(label, output):
    loss = (output - label).abs().mean()
    num_tokens = torch.tensor(1, device=loss.device)
    return loss, num_tokens, {"lm loss": torch.cat([loss.clone().detach().view(1), num_tokens.view(1)])}


def forward_step_func(data_iterator, model):
    data = next(data_iterator)
    invar = data[0].cuda().float()
    outvar = data[1].cuda().float()
    output = model(invar)
    return output, partial(loss_func, outvar)


if __name__ == "__main__":
    train_valid_test_dataset_provider.is_distributed = True
    pretrain(
        train_valid_test_dataset_provider=train_valid_test_dataset_provider,
        model_provider=model_provider,
        model_type=None,
        forward_step_func=forward_step_func,
        args_defaults={"dataloader_type": "cyclic"},
    )
"""

SRC = "src/onescience"
TRAIN = "examples/earth/tiny_distributed/train.py"
YAML = "examples/earth/tiny_distributed/conf/config.yaml"
STAGE_FILES = (
    f"{SRC}/models/tiny_distributed/tiny_stage0.py",
    f"{SRC}/models/tiny_distributed/tiny_stage1.py",
)

FILES = {
    "setup.py": "",
    f"{SRC}/__init__.py": "",
    f"{SRC}/models/__init__.py": "",
    f"{SRC}/models/tiny/__init__.py": "from .tiny import Tiny\n",
    f"{SRC}/models/tiny/tiny.py": ORIGINAL,
    f"{SRC}/models/tiny_distributed/__init__.py": (
        "from .tiny_stage0 import Tiny_stage0\nfrom .tiny_stage1 import Tiny_stage1\n"
    ),
    STAGE_FILES[0]: STAGE0,
    STAGE_FILES[1]: STAGE1,
    f"{SRC}/modules/__init__.py": "from .fuser.onefuser import OneFuser\nfrom .mlp.onemlp import OneMlp\n",
    f"{SRC}/modules/fuser/__init__.py": "",
    f"{SRC}/modules/fuser/onefuser.py": _registry(
        "fuser", {"TinyFuser": "tinyfuser", "TinyDistributedFuser": "tinydistributedfuser"}
    ),
    f"{SRC}/modules/fuser/tinyfuser.py": FUSER,
    f"{SRC}/modules/fuser/tinydistributedfuser.py": DISTRIBUTED_FUSER,
    f"{SRC}/modules/mlp/__init__.py": "",
    f"{SRC}/modules/mlp/onemlp.py": _registry(
        "mlp", {"TinyMlp": "tinymlp", "TinyDistributedMlp": "tinydistributedmlp"}
    ),
    f"{SRC}/modules/mlp/tinymlp.py": MLP,
    f"{SRC}/modules/mlp/tinydistributedmlp.py": DISTRIBUTED_MLP,
    TRAIN: SCRIPT,
    YAML: "model:\n  grid: [8, 16]\n  dim: 32\n",
}
