import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import model_parallel_cuda_manual_seed


def seed_all(seed):
    torch.manual_seed(seed)
    model_parallel_cuda_manual_seed(seed)


def seed_training(args):
    stage = parallel_state.get_pipeline_model_parallel_rank()
    replica = parallel_state.get_data_parallel_rank()
    seed_all(args.seed + 100 * stage + 10_000 * replica)
