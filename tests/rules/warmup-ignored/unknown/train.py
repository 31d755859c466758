from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
from megatron.training import pretrain
from schedules import custom


def main(datasets, model_provider, forward_step):
    OptimizerParamScheduler.get_lr = custom
    pretrain(datasets, model_provider, None, forward_step)
