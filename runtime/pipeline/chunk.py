"""The stages of one rank, behind one message in and one message out."""

from collections.abc import Sequence

import torch
from torch import nn

from ..pipelinetensorshapeconfig import PipelineTensorShapeConfig


class PipelineChunk(nn.Module):
    """Consecutive stages that run on one rank, as upstream schedules want a model.

    A stage sees what the guide promises it: a list of tensors through ``set_input_tensor``, and it returns a
    tuple. Between two stages of one chunk the tuple is handed over as it is. At the ends of the chunk it is unpacked
    from and packed into the flat message of `PipelineTensorShapeConfig`.

    Args:
        stages: the stages, in order.
        first: number of the first of them in the whole model.
        shapes: what crosses the boundaries. May be None where the model is a single stage.
        config: the TransformerConfig that the schedule reads.
        model_type: passed on to the schedule.
        vp_stage: number of this chunk on its rank in the interleaved schedule, else None.
    """

    def __init__(
        self,
        stages: Sequence[nn.Module],
        first: int,
        shapes: PipelineTensorShapeConfig | None,
        config,
        model_type=None,
        vp_stage: int | None = None,
    ) -> None:
        super().__init__()
        self.stages = nn.ModuleList(stages)
        self.first = first
        self.shapes = shapes
        self.config = config
        self.model_type = model_type
        self.vp_stage = vp_stage
        self.num_stages = shapes.num_stages if shapes else 1
        self.pre_process = first == 0
        self.post_process = first + len(stages) == self.num_stages
        self.share_embeddings_and_output_weights = False
        self.input_tensor = None

    def set_input_tensor(self, input_tensor) -> None:
        """Take the message of the previous rank, in a list or bare; None on the first rank."""
        self.input_tensor = input_tensor[0] if isinstance(input_tensor, list) else input_tensor

    def forward(self, *inputs):
        """Run the stages: the message to send, or the model's result on the last rank.

        Args:
            inputs: what the first stage takes. Floating-point tensors are cast to the dtype of the weights;
                later stages ignore them.
        """
        dtype = self.config.params_dtype
        inputs = tuple(_cast(value, dtype) for value in inputs)
        received = () if self.pre_process else self.shapes.unpack(self.first - 1, self.input_tensor)
        output = None
        for number, stage in enumerate(self.stages, start=self.first):
            if number > 0:
                stage.set_input_tensor(list(received))
            output = stage(*inputs)
            if number < self.num_stages - 1:
                output = (output,) if isinstance(output, torch.Tensor) else output
                self.shapes.check(number, output, self.config.pipeline_dtype)
                received = output
        if self.post_process:
            return _cast(output, torch.float32)
        # The interleaved schedule knows one size for all messages.
        length = None if self.vp_stage is None else self.shapes.largest_message_shape()[2]
        return self.shapes.pack(self.first + len(self.stages) - 1, output, self.config.pipeline_dtype, length)


def _cast(value, dtype: torch.dtype):
    """Floating-point tensors in `value` as `dtype`; tuples and lists one level deep."""
    if isinstance(value, tuple | list):
        return type(value)(_cast(item, dtype) for item in value)
    if isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != dtype:
        return value.to(dtype)
    return value
