torchrun --nproc_per_node=2 train_small.py --pipeline-model-parallel-size 2
