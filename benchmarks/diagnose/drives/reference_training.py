"""Train the reference models of the tree as their example does: FLAGS… of train.py."""

import os
import runpy
import sys
from pathlib import Path

from benchmarks.diagnose.drives.guard import no_guard
from benchmarks.diagnose.worlds import package_of

SCRIPT = "reference_models/examples/earth/pangu_weather_distributed_4stage/train.py"


package_of(os.getcwd())
if "--own-words" not in sys.argv:
    import onescience_check.runtime.failure as failure

    failure.stop_world_on_error = no_guard
sys.argv = [SCRIPT, *(flag for flag in sys.argv[1:] if flag != "--own-words")]
sys.path.insert(0, str(Path(SCRIPT).resolve().parent))
runpy.run_path(SCRIPT, run_name="__main__")
