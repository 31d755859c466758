TP=2
torchrun --nproc_per_node=8 --nnodes 2 train.py --tensor-model-parallel-size $TP --pipeline-model-parallel-size 4
