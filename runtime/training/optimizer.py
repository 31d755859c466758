"""AdamW with float32 master weights, data-parallel gradient mean, and clipping by the norm of the whole
model.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

from ..flags import get_args


class MasterWeightAdamW:
    """The optimizer of one rank's parameters.

    bfloat16 weights get float32 master copies, and their gradients are summed over micro-batches in float32:
    bfloat16 has 8 bits of mantissa, so an update below 1/256 of a weight would be lost. float32 weights are
    updated in place. Biases and other 1-D parameters are not decayed, as in Megatron.

    Args:
        parameters: by name; the names key the state in checkpoints.
    """

    def __init__(self, parameters: dict[str, nn.Parameter]) -> None:
        args = get_args()
        self.clip_grad = args.clip_grad
        self.parameters = {name: param for name, param in parameters.items() if param.requires_grad}
        self.masters: dict[str, nn.Parameter] = {}
        self._keep = False  # zero gradients in place instead of forgetting them
        self._taken: dict[str, torch.Tensor] = {}  # bfloat16 gradients that are not yet in the float32 sums
        for name, param in self.parameters.items():
            if param.dtype == torch.float32:
                self.masters[name] = param
            else:
                self.masters[name] = nn.Parameter(param.detach().float().clone())
                param.register_post_accumulate_grad_hook(self._take_gradient_of(name))
        decayed = [master for master in self.masters.values() if master.ndim > 1]
        plain = [master for master in self.masters.values() if master.ndim <= 1]
        self.adam = torch.optim.AdamW(
            [{"params": decayed}, {"params": plain, "wd_mult": 0.0}],
            lr=args.lr,
            betas=(args.adam_beta1, args.adam_beta2),
            eps=args.adam_eps,
            fused=True,  # one kernel instead of a dozen, and it can skip an update without asking the host
        )

    @property
    def param_groups(self) -> list[dict]:
        """What a learning-rate schedule writes to."""
        return self.adam.param_groups

    def step(self) -> torch.Tensor:
        """Average the gradients over replicas, sum those of window-parallel ranks, clip, update, forget the gradients.

        All is decided on the device, so that the host need not wait for it.

        Returns:
            The norm of the gradient of the whole model before clipping, a scalar. Nothing is updated if it is
            not finite.
        """
        self._average_over_replicas()
        norm = self.gradient_norm()
        self.adam.found_inf = (~norm.isfinite()).float()
        excess = (norm + 1e-6) / self.clip_grad if self.clip_grad else torch.zeros_like(norm)
        self.adam.grad_scale = excess.clamp(min=1.0).float()
        self.adam.step()
        self.copy_to_weights()
        self.zero_grad()
        return norm

    def zero_grad(self) -> None:
        """Forget the gradients."""
        self._taken.clear()
        if self._keep:
            torch._foreach_zero_([master.grad for master in self.masters.values()])
            return
        for name, param in self.parameters.items():
            param.grad = None
            self.masters[name].grad = None

    def keep_gradients(self) -> None:
        """Start with zeros, and from now on sum gradients in the same memory, as a CUDA graph needs it."""
        self.zero_grad()
        for master in self.masters.values():
            master.grad = torch.zeros_like(master)
        self._keep = True

    @torch.no_grad()
    def gradient_norm(self) -> torch.Tensor:
        """2-norm of the gradient over all tensor- and pipeline-parallel ranks, a float64 scalar.

        A parameter that every tensor-parallel rank holds in full counts once.
        """
        from megatron.core import parallel_state

        counts_all = parallel_state.get_tensor_model_parallel_rank() == 0
        total = torch.zeros((), dtype=torch.float64, device=torch.cuda.current_device())
        mine = [
            gradient
            for name, gradient in self._gradients().items()
            if counts_all or getattr(self.parameters[name], "tensor_model_parallel", False)
        ]
        if mine:
            total += torch.stack(torch._foreach_norm(mine)).double().square().sum()
        dist.all_reduce(total, group=parallel_state.get_model_parallel_group())
        return total.sqrt()

    def _take_gradient_of(self, name: str):
        def take(param: nn.Parameter) -> None:
            if name in self._taken:  # by the micro-batch before
                self.sum_gradients()
            self._taken[name] = param.grad
            param.grad = None

        return take

    @torch.no_grad()
    def sum_gradients(self) -> None:
        """Add what was taken to the float32 gradients of the master copies, all at once: a launch of a kernel for
        each would take longer than its work.
        """
        masters = [self.masters[name] for name in self._taken]
        new = [torch.empty_like(master) for master in masters]
        if new:
            torch._foreach_copy_(new, list(self._taken.values()))
        self._taken.clear()
        old = [
            (master.grad, grad) for master, grad in zip(masters, new, strict=True) if master.grad is not None
        ]
        if old:
            torch._foreach_add_(*map(list, zip(*old, strict=True)))
        for master, grad in zip(masters, new, strict=True):
            if master.grad is None:
                master.grad = grad

    def _gradients(self) -> dict[str, torch.Tensor]:
        """Of each master copy, with all that was taken."""
        self.sum_gradients()
        return {name: master.grad for name, master in self.masters.items() if master.grad is not None}

    @torch.no_grad()
    def _average_over_replicas(self) -> None:
        from megatron.core import parallel_state

        replicas = parallel_state.get_data_parallel_world_size()
        group = parallel_state.get_data_parallel_group(with_context_parallel=True)
        if group.size() == 1:
            return
        self.sum_gradients()
        if parallel_state.get_context_parallel_world_size() > 1:  # a rank may have no part in some weights
            for master in self.masters.values():
                master.grad = torch.zeros_like(master) if master.grad is None else master.grad
        gradients = list(self._gradients().values())
        whole = _flatten_dense_tensors(gradients)  # one message: starting hundreds takes the host long
        dist.all_reduce(whole, group=group)
        torch._foreach_copy_(gradients, _unflatten_dense_tensors(whole.div_(replicas), gradients))

    @torch.no_grad()
    def copy_to_weights(self) -> None:
        """Round the master copies to the weights that the model computes with."""
        rounded = [name for name, param in self.parameters.items() if self.masters[name] is not param]
        if rounded:
            weights = [self.parameters[name] for name in rounded]
            torch._foreach_copy_(weights, [self.masters[name] for name in rounded])

    @torch.no_grad()
    def copy_from_weights(self) -> None:
        """Start the master copies from the weights, after these were loaded."""
        for name, param in self.parameters.items():
            if self.masters[name] is not param:
                self.masters[name].copy_(param)

    def state_dict(self) -> dict[str, dict[str, torch.Tensor]]:
        """State by parameter name: the moments, the step count, and the master copy where there is one."""
        state = {}
        for name, master in self.masters.items():
            state[name] = dict(self.adam.state.get(master, {}))
            if master is not self.parameters[name]:
                state[name]["master"] = master.detach()
        return state

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, dict[str, torch.Tensor]]) -> None:
        """Take up what `state_dict` gave, for the same parameters."""
        for name, master in self.masters.items():
            entries = dict(state[name])
            saved_master = entries.pop("master", None)
            if master is not self.parameters[name]:
                master.copy_(self.parameters[name] if saved_master is None else saved_master)
            # The fused kernel walks through memory, so the moments must lie there as the weights do.
            self.adam.state[master] = {
                key: torch.empty_like(master if value.ndim else value, device=master.device).copy_(value)
                for key, value in entries.items()
            }


def build_schedule(optimizer: MasterWeightAdamW):
    """Megatron's learning-rate schedule: linear warm-up, then the decay of the flags."""
    from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

    args = get_args()
    return OptimizerParamScheduler(
        optimizer,
        init_lr=0.0,
        max_lr=args.lr,
        min_lr=args.min_lr,
        lr_warmup_steps=args.lr_warmup_iters,
        lr_decay_steps=args.lr_decay_iters or args.train_iters,
        lr_decay_style=args.lr_decay_style,
        start_wd=args.weight_decay,
        end_wd=args.weight_decay,
        wd_incr_steps=0,
        wd_incr_style="constant",
    )
