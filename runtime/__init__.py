"""What runs the reference models: process groups, pipeline boundary, training, checkpoints."""

import warnings

# Megatron's remarks on optional CUDA libraries, once per rank, would drown what a user has to read.
warnings.filterwarnings("ignore", category=UserWarning, module=r"megatron\.core\b.*")
warnings.filterwarnings("ignore", message=r"`torch\.distributed\..*` is deprecated", category=FutureWarning)
