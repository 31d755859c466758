"""The reference model verifies, and mistakes in it are found at their place."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = "reference_models/examples/earth/pangu_weather_distributed_4stage/train.py"


def verify(folder: Path, *flags: str, limit: float = 240) -> tuple[int, list[dict], str]:
    command = [sys.executable, "-m", "onescience_check", "verify", SCRIPT, "--format", "json", *flags]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit)
    parts = json.loads(done.stdout)["parts"] if done.stdout else []
    return done.returncode, parts, done.stderr


@pytest.fixture
def changed(tmp_path):
    """A copy of the models with one place edited."""

    def make(file: str, old: str, new: str) -> Path:
        for name in ("reference_models", "runtime"):
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "setup.cfg", tmp_path)
        text = (tmp_path / file).read_text()
        assert text.count(old) == 1
        (tmp_path / file).write_text(text.replace(old, new))
        return tmp_path

    return make


def test_the_reference_is_clean():
    code, (shapes, numbers), errors = verify(ROOT, "--tp", "2", "--pp", "4", "--numbers")
    assert (code, shapes["findings"], numbers["findings"]) == (0, [], []), errors
    assert [row["stage"] for row in shapes["figures"]] == [0, 1, 2, 3]
    losses, expected = numbers["facts"]["loss of three steps"], numbers["facts"]["the original's"]
    assert losses == pytest.approx(expected, rel=1e-4)


def test_a_crash_is_found_at_its_module_and_line(changed):
    file = "reference_models/modules/mlp/pangudistributedmlp.py"
    folder = changed(file, "        x, _ = self.fc2(x)\n", "        x = self.fc2(x)\n")
    code, [shapes], _ = verify(folder, "--tp", "2", "--pp", "4")
    finding = shapes["findings"][0]
    assert code == 1
    assert (finding["kind"], finding["path"], finding["rule"]) == (
        "crash",
        file,
        "parallel-linear-tuple-used",
    )
    assert finding["module"].endswith("mlp.drop")


def test_a_wrong_number_is_led_back_to_its_module(changed):
    file = "reference_models/modules/transformer/pangudistributedtransformer.py"
    folder = changed(file, "self.mlp(self.norm2(x))", "self.mlp(self.norm2(x) * 1.01)")
    code, [numbers], _ = verify(folder, "--tp", "2", "--pp", "4", "--numbers-only")
    finding = numbers["findings"][0]
    assert (code, finding["kind"], finding["path"]) == (1, "numbers", file)
    assert finding["module"].endswith("blocks.0.transformer")


def test_more_ranks_than_stages_is_a_usage_error():
    code, _, errors = verify(ROOT, "--pp", "8")
    assert code == 2
    assert "4 stages cannot fill 8 pipeline ranks" in errors
