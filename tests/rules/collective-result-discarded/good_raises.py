import pytest
import torch
from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region


def test_an_odd_length_is_refused():
    with pytest.raises(AssertionError, match="divisible"):
        scatter_to_sequence_parallel_region(torch.zeros(5, 1, 8))
