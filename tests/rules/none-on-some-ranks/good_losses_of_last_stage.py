import torch
from megatron.core import parallel_state as mpu
from megatron.core.pipeline_parallel import get_forward_backward_func


def train(step, data, model):
    run = get_forward_backward_func()
    reports = run(
        forward_step_func=step, data_iterator=data, model=model, num_microbatches=4, seq_length=8, micro_batch_size=1
    )
    if mpu.is_pipeline_last_stage():
        return torch.stack([report["loss"] for report in reports]).mean()
    return None


def checked(step, data, model):
    run = get_forward_backward_func()
    reports = run(
        forward_step_func=step, data_iterator=data, model=model, num_microbatches=4, seq_length=8, micro_batch_size=1
    )
    if reports:
        return reports[0]["loss"]
    return None
