from onescience.distributed.megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from torch.utils.data import Dataset

SHAPES = PipelineTensorShapeConfig(num_stages=3, stage_shapes=[[[1, 64, 8]], [[1, 64, 8]]])


class Tides(Dataset):
    def __getitem__(self, index):
        return self.fields[index], self.fields[index + 1]


def forward_step(data_iterator, model):
    now = later = None
    if mpu.is_pipeline_first_stage() or mpu.is_pipeline_last_stage():
        batch = next(data_iterator)
        now = batch[1].cuda().float()  # [batch-items-confused]
        later = batch[1].cuda().float()
    output = model(now)

    def loss_func(output):
        return (output - later).abs().mean(), None, {}

    return output, loss_func
