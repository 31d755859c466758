"""Reference models run on CPUs here: one process is a world of its own."""

import socket

import pytest


@pytest.fixture(scope="module")
def world():
    """Megatron's groups for one process; tests of other folders make worlds of their own in this process."""
    from onescience_check.runtime.process_groups import destroy_process_groups, initialize_process_groups

    with pytest.MonkeyPatch.context() as patch, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        patch.setenv("MASTER_ADDR", "127.0.0.1")
        patch.setenv("MASTER_PORT", str(probe.getsockname()[1]))
        probe.close()
        yield initialize_process_groups(device="cpu")
        destroy_process_groups()
