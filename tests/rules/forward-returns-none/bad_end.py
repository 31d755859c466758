from functools import partial

from megatron.core import mpu
from megatron.training import pretrain
from parts import build, datasets, score


def one_batch(data_iterator, model):  # [forward-returns-none]
    guess = model(next(data_iterator))
    partial(score, guess)


def make(pre_process=True, post_process=True):
    return None  # [forward-returns-none]


pretrain(datasets, make, None, one_batch)
