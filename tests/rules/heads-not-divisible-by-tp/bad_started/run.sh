torchrun --nproc_per_node=8 train.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2
