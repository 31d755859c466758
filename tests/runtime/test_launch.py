"""The launcher gives every rank what `python script flags` would give it."""

import json
import sys

import pytest

from tests import worlds

SCRIPT = """
import json, os, sys
from pathlib import Path
import beside
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "OMP_NUM_THREADS")
seen = {"argv": sys.argv, "main": __name__, "beside": beside.__file__, **{name: os.environ[name] for name in names}}
Path(sys.argv[1], os.environ["RANK"]).write_text(json.dumps(seen))
sys.exit(int(sys.argv[2]))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])  # without CUDA, and with it
@pytest.mark.parametrize("code", [0, 3])
def test_a_rank_sees_its_place_and_flags_and_its_exit_status_counts(method, code, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "beside.py").touch()
    start = f"from onescience_check.runtime import launch; launch._start_method = lambda: {method!r}"
    command = [sys.executable, "-c", f"{start}; raise SystemExit(launch.main())", "--nproc-per-node", "2"]
    flags = [str(tmp_path), str(code)]
    ended = worlds.finish(worlds.open_process([*command, str(script), *flags]), limit=120)
    assert (ended.code, ended.output) == (int(code > 0), "")
    for rank in ("0", "1"):
        seen = json.loads((tmp_path / rank).read_text(encoding="utf-8"))
        assert seen == {
            "argv": [str(script), *flags],
            "main": "__main__",
            "beside": str(tmp_path / "beside.py"),
            "RANK": rank,
            "LOCAL_RANK": rank,
            "WORLD_SIZE": "2",
            "OMP_NUM_THREADS": "1",
        }


def test_without_torch_the_launcher_says_what_to_install(tmp_path):
    script = tmp_path / "script.py"
    script.touch()
    code = "import sys; sys.modules['torch'] = None; from onescience_check.runtime.launch import main; sys.exit(main())"
    ended = worlds.finish(worlds.open_process([sys.executable, "-c", code, str(script)]), limit=60)
    assert ended.code == 1
    assert ended.output == "error: no module torch: pip install 'onescience-check[runtime]'\n"
