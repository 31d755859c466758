"""What the plain models and every layout compute: small models whose grids need padding.

Random parts are on, but keep everything and scale by their rates (`KeepAll`): a wrong rate shows, other draws do not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from onescience_check.reference_models.models import (
    pangu,
    pangu_distributed_4stage,
    xihe,
    xihe_distributed_4stage,
)
from onescience_check.reference_models.models.pangu import grids as pangu_grids
from onescience_check.reference_models.models.xihe import grids as xihe_grids
from onescience_check.runtime.verify.draws import KeepAll

MICRO_BATCHES = 4
STEP_MICRO_BATCHES = 2
CLIP = 1.0

EPS = torch.finfo(torch.float32).eps


@dataclass(frozen=True)
class Case:
    """A model and what it computes.

    Args:
        name: of the model.
        plain, stages: the classes.
        arguments: of both.
        grids: tokens of the fine and the coarse grid.
        loss: of output and target.
        batch: input (1, C, Y, X) and target of a generator.
        learning_rate, steps: of the training, and the share by which its loss falls.
        tolerances: of outputs and gradients, in parts of the largest in the same tensor.
    """

    name: str
    plain: Callable[..., nn.Module]
    stages: Sequence[Callable[..., nn.Module]]
    arguments: dict
    grids: Callable
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    batch: Callable[[torch.Generator], tuple[torch.Tensor, torch.Tensor]]
    learning_rate: float
    steps: int
    loss_falls_by: float
    output_tolerance: float
    gradient_tolerance: float

    @property
    def loss_tolerance(self) -> float:
        """Adam divides a gradient by its own size, so where it is ten times smaller than the largest of its tensor the
        update is off by ten times its tolerance. The updates of all steps together lower the loss by `loss_falls_by`;
        the loss is off by as much of that.
        """
        return self.loss_falls_by * 10 * self.gradient_tolerance

    @property
    def sent(self) -> list[list[int]]:
        """Shapes of x and the skip connection at each boundary."""
        width = self.arguments["embed_dim"]
        fine, coarse = (
            torch.Size(grid).numel()
            for grid in self.grids(self.arguments["img_size"], self.arguments["patch_size"])
        )
        return [[1, coarse, 2 * width], [1, fine, width]]

    def batches(self, count: int, seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Micro-batches of random fields."""
        generator = torch.Generator().manual_seed(seed)
        return [self.batch(generator) for _ in range(count)]


def _pangu_batch(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """The target is the input plus 1 without the masks."""
    x = torch.randn(1, pangu_grids.INPUT_CHANNELS, *PANGU.arguments["img_size"], generator=generator)
    upper_air = pangu_grids.SURFACE_VARIABLES + pangu_grids.CONSTANT_MASKS
    return x, 1 + torch.cat([x[:, : pangu_grids.SURFACE_VARIABLES], x[:, upper_air:]], dim=1)


# float32 rounds to 6e-8 of a number (eps / 2). A layout adds the same terms in another order: over
# tensor-parallel ranks the partial sums of a product, over micro-batches the gradients. Rounding errors of a
# sum of n terms grow like sqrt(n) of the largest term; here n is at most 4 micro-batches x 8 x 6 x 12 tokens
# = 2304, the square root 48. The signal passes 8 blocks of two branches forward, and back through the same,
# whose errors add up again: 16 and 32 such sums in a row, sqrt(16) = 4 and sqrt(32) = 5.7 if independent.
PANGU = Case(
    name="pangu",
    plain=pangu.Pangu,
    stages=[
        pangu_distributed_4stage.Pangu_stage0,
        pangu_distributed_4stage.Pangu_stage1,
        pangu_distributed_4stage.Pangu_stage2,
        pangu_distributed_4stage.Pangu_stage3,
    ],
    arguments={
        "img_size": (21, 48),
        "patch_size": (2, 4, 4),
        "embed_dim": 16,
        "num_heads": (2, 4, 4, 2),
        # 3 x 3 windows along latitude and longitude of the fine grid, 2 x 2 of the coarse one
        "window_size": (2, 2, 4),
        "depths": (1, 3, 3, 1),
        "drop": 0.1,
        "attn_drop": 0.1,
        "drop_path": 0.3,
    },
    grids=pangu_grids.token_grids,
    loss=pangu.pangu_loss,
    batch=_pangu_batch,
    learning_rate=1e-3,
    steps=20,
    loss_falls_by=0.12,
    output_tolerance=48 * 4 * EPS / 2,  # 1.1e-5
    gradient_tolerance=48 * 5.7 * EPS / 2,  # 1.6e-5
)


def _ocean() -> torch.Tensor:
    """Two continents with broken coasts: (Y, X) bool, True for ocean."""
    y, x = torch.meshgrid(torch.arange(21), torch.arange(32), indexing="ij")
    return (torch.sin(0.9 * x) + torch.cos(0.6 * y + 0.3 * x)) < 0.6


def _xihe_batch(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """The target is the input plus 1 without the forcing."""
    x = torch.randn(1, 6, *XIHE.arguments["img_size"], generator=generator)
    return x, 1 + x[:, 2:]


# As above: the longest sums have 4 micro-batches x 11 x 16 tokens = 704 terms, square root 27. The signal passes 16
# transformer blocks of two branches and 5 global parts of five layers each, 57 sums forward and as many back: sqrt(57)
# = 7.5 and sqrt(114) = 10.7.
XIHE = Case(
    name="xihe",
    plain=xihe.Xihe,
    stages=[
        xihe_distributed_4stage.Xihe_stage0,
        xihe_distributed_4stage.Xihe_stage1,
        xihe_distributed_4stage.Xihe_stage2,
        xihe_distributed_4stage.Xihe_stage3,
    ],
    arguments={
        "img_size": (21, 32),
        "patch_size": (2, 2),
        "window_size": (3, 4),  # 4 x 4 windows of the fine grid, 2 x 2 of the coarse one
        "embed_dim": 16,
        "num_heads": (2, 4, 4, 4, 2),
        "in_chans": 6,
        "out_chans": 4,
        "num_groups": 4,
        "mask_full": _ocean(),
        "drop": 0.1,
        "attn_drop": 0.1,
        "drop_path": 0.3,
    },
    grids=xihe_grids.token_grids,
    loss=lambda output, target: xihe.xihe_loss(output, target, _ocean()),
    batch=_xihe_batch,
    learning_rate=2e-3,
    steps=10,
    loss_falls_by=0.09,
    output_tolerance=27 * 7.5 * EPS / 2,  # 1.2e-5
    gradient_tolerance=27 * 10.7 * EPS / 2,  # 1.7e-5
)

CASES = {case.name: case for case in (PANGU, XIHE)}


def cases_of(layout: str) -> list[Case]:
    """The cases of TPxPP[xWINDOWS]: Xihe has one level, and windows are split by levels."""
    return [PANGU] if layout.count("x") == 2 else list(CASES.values())


def scale_of(name: str, gradients: dict[str, torch.Tensor]) -> float:
    """What the gradient of a parameter is measured at: the largest number in it, or of the terms that cancel in it.

    Two biases change nothing: that of k adds one number to all scores of a query, which softmax ignores; the last one
    of the MLP across groups adds one number to all channels of a group, which LayerNorm takes away. Their gradients are
    rounding alone; the terms that cancel show in the weight of the same layer. In a global part all tokens and all
    groups are weighed against each other: scores have gradients that are differences of what the values get. The terms
    show in the largest gradient of the part.
    """
    part, found, _ = name.partition(".global_sie_blocks.")
    if found:
        prefix = f"{part}{found}{name.removeprefix(part + found).partition('.')[0]}."
        return max(value.abs().max().item() for own, value in gradients.items() if own.startswith(prefix))
    return gradients[name.replace("k_proj.bias", "k_proj.weight")].abs().max().item()


def make_sensitive(model: nn.Module) -> None:
    """Give those parameters a size at which they matter that start small.

    Bias tables; and the weights of global parts, as long as which are small all groups are nearly the same, so that
    gradients in front of them are rounding alone.
    """
    for name, parameter in model.named_parameters():
        if name.endswith("bias_table"):
            torch.nn.init.normal_(parameter)
        elif "global_sie_blocks" in name and parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.1)


def plain_model(case: Case) -> nn.Module:
    """The plain model."""
    torch.manual_seed(1)
    model = case.plain(**case.arguments)
    make_sensitive(model)
    return model


def plain_results(case: Case) -> dict:
    """What every layout must reproduce, computed by the plain model on one process with torch's own
    optimizer.
    """
    with KeepAll():
        return _plain_results(case)


def _plain_results(case: Case) -> dict:
    model = plain_model(case)
    results = {"weights": {name: value.clone() for name, value in model.state_dict().items()}}
    outputs, input_gradients = [], []
    for x, y in case.batches(MICRO_BATCHES, seed=2):
        x.requires_grad_()
        output = model(x)
        (case.loss(output, y) / MICRO_BATCHES).backward()
        outputs.append(output.detach())
        input_gradients.append(x.grad)
    results |= {"outputs": outputs, "input_gradients": input_gradients}
    results["gradients"] = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}

    parameters = list(model.parameters())
    adam = torch.optim.AdamW(
        [
            {"params": [p for p in parameters if p.ndim > 1]},
            {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
        ],
        lr=case.learning_rate,
        weight_decay=0.01,
    )
    losses = []
    for step in range(case.steps):
        adam.zero_grad()
        total = 0.0
        for x, y in case.batches(STEP_MICRO_BATCHES, seed=100 + step % 3):
            loss = case.loss(model(x), y)
            (loss / STEP_MICRO_BATCHES).backward()
            total += loss.item() / STEP_MICRO_BATCHES
        torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        adam.step()
        losses.append(total)
    results["losses"] = losses
    return results
