from case import forward_step
from megatron.core import parallel_state
from megatron.training import get_args, pretrain
from torch import nn

from onescience_check.runtime.pipelinetensorshapeconfig import PipelineTensorShapeConfig


class Stage(nn.Linear):
    label_shape = (2, 8)
    given = None

    def set_input_tensor(self, input_tensor):
        self.given = input_tensor

    def forward(self, x=None):
        return super().forward(x if self.given is None else self.given[0])


def model_provider(pre_process=True, post_process=True):
    model = Stage(8, 8)
    model.config = get_args()
    get_args().pipeline_tensor_shape_config = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[2, 8]]])
    return model


def step(data_iterator, model):
    if not (parallel_state.is_pipeline_first_stage() or parallel_state.is_pipeline_last_stage()):
        return forward_step(None, model)
    field, label = next(data_iterator)
    return forward_step(iter([{"field": field, "label": label}]), model)


pretrain(None, model_provider, None, step)
