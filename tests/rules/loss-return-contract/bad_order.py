from functools import partial

from megatron.training import pretrain
from parts import build, datasets


def score(output):
    gap = output.abs().mean()
    return gap, {"gap": gap.detach()}


def one_batch(data_iterator, model):
    guess = model(next(data_iterator))
    if guess.requires_grad:
        return partial(score), guess  # [loss-return-contract]
    loss = score(guess)
    return loss  # [loss-return-contract]


pretrain(datasets, build, None, one_batch)
