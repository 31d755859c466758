"""Run a module of the harness as the script of each rank: ``entry.py MODULE WORDS``."""

import runpy
import sys

if __name__ == "__main__":
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
