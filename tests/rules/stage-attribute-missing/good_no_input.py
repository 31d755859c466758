"""A wrapper that fetches the input of the models in it itself: the schedule never sees it."""

import abc

from megatron.core import mpu


class HyperModel(abc.ABC):
    def __init__(self, train_model, refer_model):
        self.train_model, self.refer_model = train_model, refer_model
        self.rank = mpu.get_pipeline_model_parallel_rank()

    def set_input_tensor(self):
        for model in (self.train_model, self.refer_model):
            model.set_input_tensor(model.input_tensor)
