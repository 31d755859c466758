"""Settings files: found, read, and refused with the file, the key and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check.checkers.settings import Settings, SettingsError, load_settings

CFG = """
[onescience-check]
profile = guide
select = E71, W7103
exclude =
    third_party/
    *_old.py
tp = 8, 2
sequence-parallel = yes
providers =
    mylib.layers.ColumnLinear kind=column returns=tensor
"""
TOML = """
[tool.onescience-check]
profile = "guide"
select = ["E71", "W7103"]
exclude = ["third_party/", "*_old.py"]
tp = [8, 2]
sequence-parallel = true
[[tool.onescience-check.providers]]
name = "mylib.layers.ColumnLinear"
kind = "column"
returns = "tensor"
"""


@pytest.mark.parametrize(("name", "text"), [("setup.cfg", CFG), ("pyproject.toml", TOML)])
def test_both_files_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/setup.cfg").write_text("[metadata]\nname = %(broken)s\n")
    assert load_settings(tmp_path / "a/b") == Settings(
        profile="guide",
        select=("E71", "W7103"),
        exclude=("third_party/", "*_old.py"),
        tp=(2, 8),
        sequence_parallel=True,
        providers=({"name": "mylib.layers.ColumnLinear", "kind": "column", "returns": "tensor"},),
        base=tmp_path,
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "setup.cfg",
            "[onescience-check]\nprofil = guide",
            "unknown key 'profil' in onescience-check; did you mean profile?",
        ),
        ("setup.cfg", "[onescience-check]\nzzz = 1", "known: profile, select"),
        ("setup.cfg", "[onescience-check]\nprofile = weather", "write auto, guide or universal"),
        (
            "setup.cfg",
            "[onescience-check]\ntp = two",
            "tp = 'two': write tensor-parallel sizes such as 1,2,4,8",
        ),
        ("setup.cfg", "[onescience-check]\ntp = 0", "write tensor-parallel sizes"),
        ("setup.cfg", "[onescience-check]\njobs = -1", "write a number from 1"),
        ("setup.cfg", "[onescience-check]\nsequence_parallel = maybe", "write true or false"),
        ("setup.cfg", "[onescience-check]\nproviders =\n    Plain kind=column", "write one class a line"),
        ("setup.cfg", "[onescience-check]\nproviders =\n    a.B kind", "write one class a line"),
        ("setup.cfg", "[onescience-check]\nproviders =\n  a.B kind=colum", "did you mean column?"),
        ("setup.cfg", "[onescience-check]\nproviders =\n  a.B knd=column", "did you mean kind?"),
        ("setup.cfg", "[onescience-check]\nproviders =\n  a.B returns=x", "values of returns: pair, tensor"),
        (
            "setup.cfg",
            "[onescience-check]\nfail-on =",
            "write symbols, ids or beginnings of ids, such as E,W",
        ),
        ("setup.cfg", "no section", "cannot be read"),
        ("setup.cfg", "[a]\n[a]\n", "cannot be read"),
        ("pyproject.toml", "[tool.onescience-check", "cannot be read as TOML"),
        ("pyproject.toml", "tool = 1", "cannot be read as TOML"),
        ("pyproject.toml", "[tool]\nonescience-check = 1", "must be a table"),
        ("pyproject.toml", "[tool.onescience-check]\nselect = [1]", "write names separated by commas"),
        ("pyproject.toml", "[tool.onescience-check]\ntp = [true]", "write tensor-parallel sizes"),
        ("pyproject.toml", "[tool.onescience-check]\nproviders = [1]", "write one class a line"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError) as refusal:
        load_settings(tmp_path)
    assert said in str(refusal.value) and str(tmp_path / name) in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["setup.cfg", "pyproject.toml"])
def test_a_settings_file_that_is_not_text_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfe\0")
    with pytest.raises(SettingsError):
        load_settings(tmp_path)
