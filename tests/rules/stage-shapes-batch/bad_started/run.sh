torchrun --nproc_per_node=2 train.py --micro-batch-size 4
