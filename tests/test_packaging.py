"""What other tools read from this repository."""

from __future__ import annotations

import configparser
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from .report.small_model import FILES, SRC, YAML

ROOT = Path(__file__).parent.parent


def test_hooks_call_commands_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [hook["id"] for hook in hooks] == ["onescience-check", "onescience-pylint"]
    for hook in hooks:
        assert hook["entry"].split()[0] in ("onescience-check", "pylint")
        assert hook["require_serial"], "each run reads the project: many at a time would read it many times"


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("file", "old", "new", "symbol"),
    [
        (
            f"{SRC}/modules/fuser/tinydistributedfuser.py",
            "num_heads",
            "head_count",
            "style-arguments-rejected",
        ),
        (YAML, "  dim: 32\n", "", "yaml-key-missing"),
    ],
)
def test_a_commit_that_breaks_unchanged_callers_is_stopped(
    tmp_path: Path, number: int, file: str, old: str, new: str, symbol: str
) -> None:
    """As pre-commit runs a hook: only where a staged file is of its types, and from the top of the project."""
    hook = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))[number]
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(old, new) if name == file else text, "utf-8")
    assert {".py": "python", ".yaml": "yaml"}[Path(file).suffix] in hook["types_or"]
    staged = [file] if hook.get("pass_filenames", True) else []
    command, *arguments = hook["entry"].split()
    run = (
        f"import sys; sys.argv[0] = {command!r}; "
        + {
            "onescience-check": "from onescience_check.checkers.frontends.cli import main; main()",
            "pylint": "from pylint import run_pylint; run_pylint()",
        }[command]
    )
    done = subprocess.run(
        [sys.executable, "-c", run, *arguments, *staged],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode and symbol in done.stdout, done.stdout + done.stderr


def test_the_console_script_exists() -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", "utf-8")
    script = parser["options.entry_points"]["console_scripts"].strip()
    module, function = script.removeprefix("onescience-check = ").split(":")
    assert callable(getattr(importlib.import_module(module), function))


@pytest.fixture(scope="module")
def setup() -> ModuleType:
    spec = importlib.util.spec_from_file_location("setup_of_ours", ROOT / "setup.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_of_the_page_on_an_index_hold(setup: ModuleType) -> None:
    shown = setup.description("https://host/o/r/", "v1")
    links = re.findall(r"\]\(([^()\s]+)\)", shown)
    assert len(links) > 20
    for link in links:
        assert (ROOT / link.removeprefix("https://host/o/r/blob/v1/").partition("#")[0]).exists(), link
    assert setup.addresses("https://host/o/r", "v1")["Changelog"] == "https://host/o/r/blob/v1/CHANGELOG.md"


def test_without_an_address_the_page_points_nowhere(setup: ModuleType) -> None:
    assert not re.findall(r"\]\([^()\s]+\)", setup.description("", "v1")) and not setup.addresses("", "v1")


def test_pylint_has_an_upper_bound_and_the_sdist_its_tests() -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", "utf-8")
    assert "pylint>=3.2,<5" in parser["options"]["install_requires"]
    assert {"graft tests", "graft docs", "graft skills"} <= set(
        (ROOT / "MANIFEST.in").read_text("utf-8").split("\n")
    )


def test_the_package_runs_as_the_command() -> None:
    command = [sys.executable, "-m", "onescience_check", "--version"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert printed.stdout.startswith("onescience-check ")


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
