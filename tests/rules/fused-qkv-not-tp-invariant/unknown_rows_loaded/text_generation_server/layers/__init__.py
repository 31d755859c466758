from text_generation_server.layers.tensor_parallel import (
    TensorParallelColumnLinear as TensorParallelColumnLinear,
)
