"""What all pipeline stages have in common."""

from megatron.core import parallel_state
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint


class PipelineStage(MegatronModule):
    """A MegatronModule whose sharded checkpoints know how every parameter is cut."""

    def sharded_state_dict(self, prefix="", sharded_offsets=(), metadata=None):
        """The state for Megatron's distributed checkpoints, by the names of the plain model.

        The inherited method takes all that lies below a plain torch module for replicated, Column and Row
        layers too, and would save the shard of one rank as the whole. Here the axis comes from the parameter
        itself.
        """
        axes = {
            name: parameter.partition_dim
            for name, parameter in self.named_parameters()
            if getattr(parameter, "tensor_model_parallel", False)
        }
        return make_sharded_tensors_for_checkpoint(
            self.state_dict(keep_vars=True),
            prefix,
            axes,
            sharded_offsets,
            tp_group=parallel_state.get_tensor_model_parallel_group(),
            dp_cp_group=parallel_state.get_data_parallel_group(with_context_parallel=True),
        )
