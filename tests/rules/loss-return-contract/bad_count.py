from onescience.distributed.megatron.training import pretrain
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from parts import l1, provide, rain


def one_batch(data_iterator, model):
    guess = model(next(data_iterator).float())

    def score(output):
        gap = l1(output)
        counted = 1
        return gap, counted, {"gap": gap.detach()}  # [loss-return-contract]

    return guess, score


pretrain(rain, provide, None, one_batch)
