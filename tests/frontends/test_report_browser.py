"""The page in headless Chromium (Debian: `apt-get install chromium-headless-shell`); skipped where there is none."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from onescience_check.checkers.frontends.report_html import page
from onescience_check.checkers.frontends.streams import visible_fields
from onescience_check.checkers.language import speaking
from onescience_check.checkers.report.build import make_report
from onescience_check.checkers.settings import Settings

ROOT = Path(__file__).parents[2]
NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
MEASURE = """<script>
const style = getComputedStyle(document.body);
document.documentElement.dataset.seen = JSON.stringify({
  needed: document.documentElement.scrollWidth, width: innerWidth, ground: style.backgroundColor,
  boxes: [...document.querySelectorAll("svg rect.box")].filter(box => box.getBoundingClientRect().height > 20).length,
  head: getComputedStyle(document.querySelector("thead")).display,
});
</script></body>"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")


@pytest.fixture(scope="module", params=["en", "zh"])
def text(request: pytest.FixtureRequest) -> str:
    with pytest.MonkeyPatch.context() as patch, speaking(request.param):
        patch.chdir(ROOT)
        return page(visible_fields(make_report([ROOT / "docs/example"], Settings(base=ROOT))))


def seen(text: str, folder: Path, width: int, *options: str) -> dict[str, Any]:
    """What a browser of this width makes of the page. The measuring script needs the page without its policy."""
    open_page = re.sub(r"<meta http-equiv=.Content-Security-Policy.[^>]*>", "", text)
    file = folder / "report.html"
    file.write_text(open_page.replace("</body>", MEASURE), "utf-8")
    command = [
        str(BROWSER),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size={width},900",
        *options,
    ]
    done = subprocess.run(
        [*command, f"--user-data-dir={folder}/profile", "--dump-dom", file.as_uri()],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    found = re.search(r'data-seen="([^"]+)"', done.stdout)
    assert found is not None
    made: dict[str, Any] = json.loads(html.unescape(found[1]))
    return made


@pytest.mark.parametrize(("width", "head"), [(1200, "table-header-group"), (390, "none")])
def test_nothing_is_wider_than_the_window(text: str, width: int, head: str, tmp_path: Path) -> None:
    found = seen(text, tmp_path, width)
    assert found["width"] == width and found["needed"] <= width
    assert found["head"] == head and found["boxes"] == 2


def test_it_is_dark_where_the_reader_wants_it(text: str, tmp_path: Path) -> None:
    assert seen(text, tmp_path, 1200)["ground"] == "rgb(255, 255, 255)"
    dark = seen(text, tmp_path, 1200, "--blink-settings=preferredColorScheme=0")["ground"]
    assert max(map(int, re.findall(r"\d+", dark))) < 50
