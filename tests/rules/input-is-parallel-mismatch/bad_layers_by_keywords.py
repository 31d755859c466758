from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.spec_utils import build_module


class Attention(MegatronModule):
    """Which layer it is, a spec says when the job runs; what it is told says what it returns."""

    def __init__(self, config, submodules, pg_collection):
        super().__init__(config=config)
        self.linear_q = submodules.linear_q(
            config.hidden_size, config.hidden_size, config=config, init_method=config.init_method,
            gather_output=False, bias=False, skip_bias_add=False, tp_group=pg_collection.tp,
        )
        self.linear_proj = build_module(
            submodules.linear_proj, config.hidden_size, config.hidden_size, config=config,
            init_method=config.init_method, bias=False, input_is_parallel=False, skip_bias_add=True,
        )

    def forward(self, x):
        q, _ = self.linear_q(x)
        return self.linear_proj(q)  # [input-is-parallel-mismatch]
