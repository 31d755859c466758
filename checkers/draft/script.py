"""The training script of a draft, its YAML file, and the base class of the stages."""

from __future__ import annotations

import ast

from .cutting import Cut
from .edits import TODO
from .naming import Names

BASE = '''"""What all stages have in common."""

from {megatron} import parallel_state
from {megatron}.transformer.module import MegatronModule
from {megatron}.transformer.utils import make_sharded_tensors_for_checkpoint


class PipelineStage(MegatronModule):
    """A MegatronModule whose sharded checkpoints know how every parameter is cut."""

    def sharded_state_dict(self, prefix="", sharded_offsets=(), metadata=None):
        """The state by the names of the plain model, with the axis along which each parameter is cut."""
        axes = {{
            name: parameter.partition_dim
            for name, parameter in self.named_parameters()
            if getattr(parameter, "tensor_model_parallel", False)
        }}
        return make_sharded_tensors_for_checkpoint(
            self.state_dict(keep_vars=True), prefix, axes, sharded_offsets{groups}
        )
'''
_GROUPS = """,
            tp_group=parallel_state.get_tensor_model_parallel_group(),
            dp_cp_group=parallel_state.get_data_parallel_group(with_context_parallel=True),
"""

SCRIPT = '''"""Train {name} with tensor parallelism inside {count} pipeline stages."""

from functools import partial
from pathlib import Path

import torch
from torch.nn import functional as F
{imports}
CONFIG_FILE = Path(__file__).parent / "conf" / "config.yaml"
{keys}

def script_flags(parser):
    """The flags of this script alone."""
    parser.add_argument("--config", default=str(CONFIG_FILE), help="YAML file with the model and the data")
    return parser


def build_model(cfg, config):
    """The stage of this pipeline rank, from scalars of the YAML file and Megatron's config."""
    stages = {{{stages}}}
    stage_cls = stages[mpu.get_pipeline_model_parallel_rank()]
    return stage_cls(
{arguments}        config=config,
    )


def model_provider(pre_process=False, post_process=True):
    """Build the stage and say what crosses the boundaries."""
    args = get_args()
    cfg = {params}
    model = build_model(cfg, core_transformer_config_from_args(args))
    args.pipeline_tensor_shape_config = PipelineTensorShapeConfig(
        num_stages={count}, stage_shapes=boundary_shapes(args.micro_batch_size, cfg)
    )
    return model


def boundary_shapes(batch, cfg):
    """The shape of each tensor that a stage sends, for all stages but the last; `onescience-check verify` says them."""
    shapes = []
{shapes}    return shapes


def train_valid_test_dataset_provider(train_val_test_num_samples):
    """Training, validation and test data."""
    # {todo}: the three data sets of the plain script, each a Dataset and no DataLoader
    train_dataset, val_dataset, test_dataset = ExampleDataset(), ExampleDataset(), ExampleDataset()
    return train_dataset, val_dataset, test_dataset


class ExampleDataset(torch.utils.data.Dataset):
    """Stands where the data set goes: pairs (input, label)."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        # {todo}: the sizes of one sample, without the batch
        return torch.zeros(1), torch.zeros(1)


def forward_step_func(data_iterator, model):
    """One micro-batch: the first stage reads the input, the last one the label."""
    is_first_stage = mpu.is_pipeline_first_stage({which})
    is_last_stage = mpu.is_pipeline_last_stage({which})
    invar = outvar = None
    if is_first_stage or is_last_stage:
        data = next(data_iterator)
        if is_first_stage:
            invar = data[0].cuda().float()
        if is_last_stage:
            outvar = data[1].cuda().float()

    output = model(invar)

    def loss_func(label, output):
        # {todo}: the loss of the plain script
        loss = F.mse_loss(output, label)
        num_tokens = torch.ones((), dtype=torch.int, device=loss.device)
        reporting_loss = torch.cat([loss.clone().detach().view(1), num_tokens.view(1)])
        return loss, num_tokens, {{"lm loss": reporting_loss}}

    return output, partial(loss_func, outvar)


if __name__ == "__main__":
    train_valid_test_dataset_provider.is_distributed = True
    pretrain(
        train_valid_test_dataset_provider=train_valid_test_dataset_provider,
        model_provider=model_provider,
        model_type=None,
        forward_step_func=forward_step_func,
        args_defaults={{"dataloader_type": "cyclic"}},
        extra_args_provider=script_flags,
    )
'''


def base_file(names: Names) -> str:
    """The base class of the stages; OneScience's copy of Megatron takes no groups there."""
    text = BASE.format(megatron=names.megatron, groups="" if names.in_onescience else _GROUPS.rstrip("\n"))
    return text.replace(f"from {names.megatron} import parallel_state\n", "") if names.in_onescience else text


def script_file(names: Names, stages: list[Cut], init: ast.FunctionDef) -> str:
    """The training script."""
    count = len(stages)
    classes = [names.stage(index) for index in range(count)]
    keys = parameters(init)
    home = "onescience" if names.in_onescience else "onescience_check.runtime"
    lines = [
        f"from {names.package}.{names.folder} import {', '.join(classes)}",
        f"from {names.core} import mpu",
        f"from {'onescience.distributed' if names.in_onescience else home}.pipelinetensorshapeconfig import "
        "PipelineTensorShapeConfig",
        f"from {names.training} import get_args, pretrain",
        f"from {names.training}.arguments import core_transformer_config_from_args",
        f"from {'onescience.utils.YParams' if names.in_onescience else f'{home}.yparams'} import YParams",
    ]
    known = "".join(f'        "{name}": object,\n' for name in keys)
    shapes = ""
    for index, stage in enumerate(stages[:-1]):
        given = ", ".join(["(batch, 1, 1)"] * len(stage.gives))
        shapes += (
            f"    # {TODO}: stage {index} sends {', '.join(stage.gives)}\n    shapes.append([{given}])\n"
        )
    return SCRIPT.format(
        name=names.name,
        count=count,
        imports="\n" + "\n".join(lines) + "\n",
        keys="" if names.in_onescience else f'SECTIONS = {{\n    "model": {{\n{known}    }},\n}}\n',
        stages=", ".join(f"{index}: {cls}" for index, cls in enumerate(classes)),
        arguments="".join(f"        {name}=cfg.{name},\n" for name in keys),
        params='YParams(args.config, "model")'
        if names.in_onescience
        else 'YParams(args.config, "model", SECTIONS)',
        shapes=shapes,
        todo=TODO,
        which="" if names.in_onescience else "ignore_virtual=False, vp_stage=model.vp_stage",
    )


def yaml_file(names: Names, init: ast.FunctionDef) -> str:
    """The YAML file: the plain model's defaults."""
    lines = [f"# {names.name}, with the defaults of the plain model\n", "model:\n"]
    for name, value in parameters(init).items():
        if value is None:
            lines.append(f"  {name}: 1  # {TODO}: the plain model has no default\n")
        else:
            lines.append(f"  {name}: {_yaml(value)}\n")
    return "".join(lines)


def parameters(init: ast.FunctionDef) -> dict[str, ast.expr | None]:
    """The parameters of the plain model that a YAML file can hold, with their defaults."""
    spec = init.args
    defaults = [None] * (len(spec.args) - len(spec.defaults)) + list(spec.defaults)
    found: dict[str, ast.expr | None] = {}
    pairs = [*zip(spec.args, defaults, strict=True), *zip(spec.kwonlyargs, spec.kw_defaults, strict=True)]
    for arg, default in pairs:
        if arg.arg not in ("self", "config") and (default is None or _is_literal(default)):
            found[arg.arg] = default
    return found


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _yaml(node: ast.expr) -> str:
    return _shown(ast.literal_eval(node))


def _shown(value: object) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(_shown(item) for item in value)}]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return f'"{value}"' if isinstance(value, str) else str(value)
