"""Run the `run.py` that was written beside a case, on CPUs."""

import os
import runpy
import sys

from onescience_check.runtime import cpu_emulation

sys.path.insert(0, os.getcwd())
cpu_emulation.install()
runpy.run_path("run.py", run_name="__main__")
