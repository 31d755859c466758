torchrun --nproc_per_node=2 evaluate.py --micro-batch-size 4
