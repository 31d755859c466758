"""Names of megatron-core that are not its interface and that the runtime leans on.

A version that has them no longer, or takes something else there, fails here by name.
"""

import inspect

from megatron.core.pipeline_parallel import schedules
from megatron.core.pipeline_parallel.p2p_communication import P2PCommunicator
from megatron.core.tensor_parallel import random

from onescience_check.runtime.pipeline.communication import BoundaryCommunicator


def parameters(function) -> list[tuple]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def test_the_communicator_still_sends_through_one_method():
    assert parameters(P2PCommunicator._communicate) == parameters(BoundaryCommunicator._communicate)
    text = inspect.getsource(P2PCommunicator)
    used = text.count("self._communicate(")
    assert used >= 6, "sends and receives, each way and both"
    assert all(f"self.{name}" in text for name in ("pp_group", "next_rank", "prev_rank", "config"))


def test_the_random_streams_are_read_and_set_by_two_functions():
    assert [name for name, *_ in parameters(random._get_cuda_rng_state)] == ["device", "clone", "graph_safe"]
    assert [name for name, *_ in parameters(random._set_cuda_rng_state)] == [
        "new_state",
        "device",
        "graph_safe",
    ]
    assert "CPU RNG state changed within GPU RNG context" in inspect.getsource(random)


def test_schedules_take_a_communicator_and_groups():
    for name in (
        "forward_backward_pipelining_without_interleaving",
        "forward_backward_pipelining_with_interleaving",
    ):
        taken = inspect.signature(getattr(schedules, name)).parameters
        assert {"p2p_communicator", "pg_collection", "adjust_tensor_shapes_fn"} <= taken.keys()
