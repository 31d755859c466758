from megatron.core.enums import ModelType
from megatron.training import pretrain

from gpt import datasets, forward_step, model_provider

pretrain(datasets, model_provider, ModelType.encoder_or_decoder, forward_step)
