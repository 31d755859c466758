"""Every test cleans up after itself."""

import os

import pytest

from tests import worlds

os.environ["LC_ALL"] = "C.UTF-8"  # the tests read English, wherever they run
os.environ["ONESCIENCE_CHECK_CACHE"] = ""  # and see what a run says, not what an earlier one said

collect_ignore_glob = ["rules/*/*"]  # code to be checked, some of it in files that are named like tests


@pytest.fixture(autouse=True)
def no_world_outlives_its_test():
    """Kill the processes of a test that failed before it waited for them."""
    yield
    worlds.kill_all()
