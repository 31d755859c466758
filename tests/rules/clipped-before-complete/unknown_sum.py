from megatron.core.optimizer.clip_grads import clip_grad_by_total_norm_fp32


def update(model, optimizer, limit, norm):
    """What `synchronize` does is not seen."""
    clip_grad_by_total_norm_fp32(model.parameters(), limit, norm)
    model.synchronize()
    optimizer.step()
