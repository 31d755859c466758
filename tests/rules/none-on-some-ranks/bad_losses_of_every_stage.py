import torch
from megatron.core import parallel_state as mpu
from megatron.core.pipeline_parallel import get_forward_backward_func


class Trainer:
    def run(self, step, data, model):
        return get_forward_backward_func()(
            forward_step_func=step, data_iterator=data, model=model, num_microbatches=4, seq_length=8,
            micro_batch_size=1,
        )

    def mean(self, reports):
        return torch.stack([report["loss"] for report in reports]).mean()  # [none-on-some-ranks]

    def train(self, step, data, model):
        reports = self.run(step, data, model)
        stages = mpu.get_pipeline_model_parallel_world_size()
        return self.mean(reports), stages
