"""Every test cleans up after itself, and worlds of processes do not run beside each other."""

from pathlib import Path

import pytest

from tests import worlds

WORLDS = tuple(Path(__file__).parent / folder for folder in ("parity", "reference_models", "runtime"))


def pytest_collection_modifyitems(items):
    """``pytest -n 2 --dist loadgroup``: one worker starts at once with all that starts worlds.

    The limits of what is waited for count on a world having the cores to itself.
    """
    items.sort(key=_in_a_world, reverse=True)
    for item in filter(_in_a_world, items):
        item.add_marker(pytest.mark.xdist_group("worlds"))


def _in_a_world(item: pytest.Item) -> bool:
    return any(folder in item.path.parents for folder in WORLDS)


@pytest.fixture(autouse=True)
def no_world_outlives_its_test():
    """Kill the processes of a test that failed before it waited for them."""
    yield
    worlds.kill_all()
