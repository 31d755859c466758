mkdir -p output/fields
torchrun train.py
