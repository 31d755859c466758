torchrun --nproc_per_node=3 --nnodes $SLURM_NNODES train.py --pipeline-model-parallel-size 4
