"""Compare a layout of the tree's small model with the plain model: FOLDER TPxPP, as the tests of the reference do."""

import os
import runpy
import sys

from benchmarks.diagnose.drives.guard import no_guard
from benchmarks.diagnose.worlds import package_of

SCRIPT = "tests/parity/parity_world.py"

package_of(os.getcwd())
if "--own-words" not in sys.argv:
    import onescience_check.runtime.failure as failure

    failure.stop_world_on_error = no_guard
from tests.parity import case  # noqa: E402

case.STEPS = 2
sys.argv = [SCRIPT, *(flag for flag in sys.argv[1:] if flag != "--own-words")]
runpy.run_path(SCRIPT, run_name="__main__")
