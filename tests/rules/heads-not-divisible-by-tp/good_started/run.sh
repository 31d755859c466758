torchrun --nproc_per_node=4 train.py --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2
