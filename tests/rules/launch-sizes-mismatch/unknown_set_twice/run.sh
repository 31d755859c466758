PP=4
if [ "$1" = small ]; then
    PP=2
fi
torchrun --nproc_per_node=8 train.py --pipeline-model-parallel-size $PP
