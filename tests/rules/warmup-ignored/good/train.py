from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
from megatron.training import get_args, pretrain


def main(datasets, model_provider, forward_step):
    original_get_lr = OptimizerParamScheduler.get_lr

    def custom(self, param_group):
        args = get_args()
        if args.lr_decay_rate < 1.0:
            return param_group["max_lr"] * args.lr_decay_rate**self.num_steps
        return original_get_lr(self, param_group)

    OptimizerParamScheduler.get_lr = custom
    pretrain(datasets, model_provider, None, forward_step)
