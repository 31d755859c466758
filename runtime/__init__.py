"""What runs the reference models: process groups, pipeline boundary, training, checkpoints."""
