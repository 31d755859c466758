from megatron.core.tensor_parallel import ColumnParallelLinear
from megatron.training.arguments import core_transformer_config_from_args
from megatron.training import get_args
from torch import nn


class OceanDistributedMlp(nn.Module):
    def __init__(self, width, config):
        super().__init__()
        self.fc = ColumnParallelLinear(width, width, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, x):
        return self.fc(x)[0]


class Ocean_stage0(nn.Module):
    def __init__(self, width, config=None, **kwargs):
        super().__init__()
        self.pre_process = self.share_embeddings_and_output_weights = self.input_tensor = None
        self.config = core_transformer_config_from_args(get_args())
        self.first = OceanDistributedMlp(width, config=config)  # [raw-config-forwarded]
        self.second = OceanDistributedMlp(width, config=config)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.second(self.first(x))
