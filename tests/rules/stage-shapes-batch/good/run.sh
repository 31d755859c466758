torchrun --nproc-per-node 3 train.py --pipeline-model-parallel-size 3 --micro-batch-size 4
