TRAIN="train.py"
OPTIONS=(
    --lr 1e-4
    --lr-warmup-iters 100
)
torchrun $TRAIN ${OPTIONS[@]}
