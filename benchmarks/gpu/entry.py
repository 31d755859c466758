"""Run a module of the harness as the script of each rank: ``entry.py MODULE WORDS``."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    # A rank has the folder of its script on the path, not the repository that the harness is started in.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
