"""Reference models run on CPUs here: one process is a world of its own."""

import socket

import pytest


@pytest.fixture(scope="session")
def world():
    """Megatron's groups for one process; they stay for the session."""
    import torch.distributed as dist

    from onescience_check.runtime.process_groups import initialize_process_groups

    with pytest.MonkeyPatch.context() as patch, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        patch.setenv("MASTER_ADDR", "127.0.0.1")
        patch.setenv("MASTER_PORT", str(probe.getsockname()[1]))
        probe.close()
        yield initialize_process_groups(device="cpu")
        dist.destroy_process_group()
