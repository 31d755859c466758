TP=2
PP=4
GPUS=${GPUS:-6}
torchrun --nproc_per_node ${GPUS} --nnodes 2 train.py --tensor-model-parallel-size $TP --pipeline-model-parallel-size=${PP}
