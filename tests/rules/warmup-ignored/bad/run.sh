TRAIN="train.py"
OPTIONS=(
    --lr 1e-4
    --lr-warmup-fraction 0.01
)
torchrun $TRAIN ${OPTIONS[@]}
