"""The case that the plain model and every layout compute: a small Pangu-Weather whose grids need padding.

Random parts are on, but keep everything and scale by their rates (`KeepAll`): a wrong rate shows, other draws do not.
"""

import torch

from onescience_check.reference_models.models.pangu import Pangu, pangu_loss
from onescience_check.reference_models.models.pangu.grids import (
    CONSTANT_MASKS,
    INPUT_CHANNELS,
    SURFACE_VARIABLES,
)
from onescience_check.runtime.verify.draws import KeepAll

SMALL = {
    "img_size": (21, 48),
    "patch_size": (2, 4, 4),
    "embed_dim": 16,
    "num_heads": (2, 4, 4, 2),
    "window_size": (
        2,
        2,
        4,
    ),  # 3 x 3 windows along latitude and longitude of the fine grid, 2 x 2 of the coarse one
    "depths": (1, 3, 3, 1),
    "drop": 0.1,
    "attn_drop": 0.1,
    "drop_path": 0.3,
}
MICRO_BATCHES = 4
STEPS = 20
STEP_MICRO_BATCHES = 2
LEARNING_RATE = 1e-3
CLIP = 1.0

EPS = torch.finfo(torch.float32).eps
# float32 rounds to 6e-8 of a number (eps / 2). A layout adds the same terms in another order: over
# tensor-parallel ranks the partial sums of a product, over micro-batches the gradients. Rounding errors of a
# sum of n terms grow like sqrt(n) of the largest term; here n is at most 4 micro-batches x 8 x 6 x 12 tokens
# = 2304, the square root 48. The signal passes 8 blocks of two branches forward, and back through the same,
# whose errors add up again: 16 and 32 such sums in a row, sqrt(16) = 4 and sqrt(32) = 5.7 if independent.
OUTPUT_TOLERANCE = 48 * 4 * EPS / 2  # 1.1e-5 of the largest output
GRADIENT_TOLERANCE = 48 * 5.7 * EPS / 2  # 1.6e-5 of the largest gradient in the same tensor
# Adam divides a gradient by its own size, so where it is ten times smaller than the largest of its tensor the
# update is off by 10 x 1.6e-5 of itself. The updates of all steps together lower the loss by 12 %; the loss
# is off by as much of that.
LOSS_TOLERANCE = 0.12 * 10 * GRADIENT_TOLERANCE  # 2.0e-5


def batches(count: int, seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Micro-batches of random fields: input (1, 72, Y, X), target (1, 69, Y, X), the input plus 1 without the
    masks.
    """
    generator = torch.Generator().manual_seed(seed)
    inputs = [torch.randn(1, INPUT_CHANNELS, *SMALL["img_size"], generator=generator) for _ in range(count)]
    upper_air = SURFACE_VARIABLES + CONSTANT_MASKS
    return [(x, 1 + torch.cat([x[:, :SURFACE_VARIABLES], x[:, upper_air:]], dim=1)) for x in inputs]


def plain_model() -> Pangu:
    """The plain model, its bias tables large enough to matter."""
    torch.manual_seed(1)
    model = Pangu(**SMALL)
    for name, parameter in model.named_parameters():
        if name.endswith("bias_table"):
            torch.nn.init.normal_(parameter)
    return model


def plain_results() -> dict:
    """What every layout must reproduce, computed by the plain model on one process with torch's own
    optimizer.
    """
    with KeepAll():
        return _plain_results()


def _plain_results() -> dict:
    model = plain_model()
    results = {"weights": {name: value.clone() for name, value in model.state_dict().items()}}
    outputs, input_gradients = [], []
    for x, y in batches(MICRO_BATCHES, seed=2):
        x.requires_grad_()
        output = model(x)
        (pangu_loss(output, y) / MICRO_BATCHES).backward()
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
        lr=LEARNING_RATE,
        weight_decay=0.01,
    )
    losses = []
    for step in range(STEPS):
        adam.zero_grad()
        total = 0.0
        for x, y in batches(STEP_MICRO_BATCHES, seed=100 + step % 3):
            loss = pangu_loss(model(x), y)
            (loss / STEP_MICRO_BATCHES).backward()
            total += loss.item() / STEP_MICRO_BATCHES
        torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        adam.step()
        losses.append(total)
    results["losses"] = losses
    return results
