import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


def main(args):
    dist.init_process_group("nccl")
    ps.initialize_model_parallel(args.tp, args.pp)
    torch.manual_seed(args.seed + 7 * ps.get_data_parallel_rank())
    return ps.get_tensor_model_parallel_rank()


if __name__ == "__main__":
    import argparse

    p = argparse.ArgumentParser()
    p.add_argument("--tp", type=int, default=2)
    p.add_argument("--pp", type=int, default=1)
    p.add_argument("--seed", type=int, default=1)
    main(p.parse_args())
