"""A YAML file that cannot be used gives its reason, whatever is in it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from onescience_check.checkers.project.yaml_config import read_yaml


@pytest.mark.parametrize(
    "text",
    [
        "a: !!bool foo",
        'a: !!int ""',
        "a: !!timestamp foo",
        "a: !!float x",
        "a: !!binary é",
        "a: !!set [1]",
        "a: !!omap {b: c}",
        "a: !!python/object:os.system {}",
        "{{" * 300_000,
        "{%" * 300_000,
        "[" * 300_000,
        "\n" * 300_000 + "{ {",
        "a: {{ b }}",
        "? {a: b}\n: c",
    ],
    ids=lambda text: text[:12],
)
def test_the_reason_is_given_at_once(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text, "utf-8")
    began = time.process_time()
    found = read_yaml(path)
    assert found.data is None and found.problem and "\n" not in found.problem
    assert time.process_time() - began < 5
