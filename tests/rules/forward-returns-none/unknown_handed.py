from megatron.training import get_args, pretrain
from parts import Head, Stem, datasets, run


def build(pre_process=True, post_process=True):
    kind = get_args().kind
    if kind == "stem":
        return Stem()
    elif kind == "head":
        return Head()


def one_batch(data_iterator, model):
    return run(model, next(data_iterator))


pretrain(datasets, build, None, one_batch)
