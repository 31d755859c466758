"""What other tools read from this repository."""

from __future__ import annotations

import configparser
import importlib
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent


def test_hooks_call_commands_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [hook["id"] for hook in hooks] == ["onescience-check", "onescience-pylint"]
    for hook in hooks:
        assert hook["entry"].split()[0] in ("onescience-check", "pylint")
        assert hook["require_serial"], "each run reads the project: many at a time would read it many times"


def test_the_console_script_exists() -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", "utf-8")
    script = parser["options.entry_points"]["console_scripts"].strip()
    module, function = script.removeprefix("onescience-check = ").split(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_importing_the_plugin_package_is_cheap() -> None:
    """Pylint imports it to look for `register`; nothing heavy may come with it."""
    code = "import sys, onescience_check.checkers; print([m for m in ('astroid', 'typer', 'rich') if m in sys.modules])"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert printed.stdout.strip() == "[]"


def test_the_command_starts_without_what_it_does_not_need() -> None:
    code = (
        "import sys, onescience_check.checkers.frontends.cli; "
        "print([m for m in ('astroid', 'pylint', 'networkx', 'yaml', 'libcst') if m in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert printed.stdout.strip() == "[]"
