"""Every test cleans up after itself."""

import pytest

from tests import worlds


@pytest.fixture(autouse=True)
def no_world_outlives_its_test():
    """Kill the processes of a test that failed before it waited for them."""
    yield
    worlds.kill_all()
