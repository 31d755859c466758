#!/bin/bash
# --pipeline-model-parallel-size 4 was too slow
torchrun --nproc_per_node=8 train.py \
    --tensor-model-parallel-size 2 \
    --pipeline-model-parallel-size 2
