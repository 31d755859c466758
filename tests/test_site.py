"""The docs site has a page for each rule in both languages, and no link of it leads nowhere.

`mkdocs build --strict` itself is run by .github/workflows/docs.yml.
"""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from onescience_check.checkers.rules import own_rules

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([\w./:-]+)(?:#[^()\s]*)?\)")


class Settings(yaml.SafeLoader):
    """mkdocs.yml, with `!ENV` as it is."""


Settings.add_constructor("!ENV", lambda loader, node: loader.construct_sequence(node))


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_pages", DOCS / "site.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(site: ModuleType) -> dict[str, str]:
    """Every page by its name, as MkDocs reads it."""
    inside = {"example", "own-rules"}
    given = {path.relative_to(DOCS).as_posix(): path.read_text("utf-8") for path in DOCS.glob("*.md")}
    given |= {f"tutorial/{path.name}": path.read_text("utf-8") for path in (DOCS / "tutorial").glob("*.md")}
    assert not inside & set(given)
    found = {**given, **site.pages()}
    others = {
        path.relative_to(DOCS).as_posix()
        for path in DOCS.rglob("*.*")
        if path.suffix in (".png", ".svg", ".json")
    }
    known = set(found) | {name for name in others if name.split("/")[0] not in inside}
    return {name: site.relinked(text, name, known, "https://host/repository") for name, text in found.items()}


def test_each_rule_has_a_page_in_both_languages(pages: dict[str, str]) -> None:
    for rule in own_rules():
        for folder, words in (("rules", ("Why", "At run time")), ("zh/rules", ("原因", "运行时现象"))):
            text = pages[f"{folder}/{rule.symbol}.md"]
            assert text.startswith(f"# {rule.code} {rule.symbol}\n") and rule.example("bad") in text
            for word in words:
                said = text.split(f"## {word}\n\n")[1].split("\n\n")[0]
                assert bool(re.search("[\u4e00-\u9fff]", said)) == (folder == "zh/rules"), said


def test_every_link_leads_to_a_page_or_to_a_file_of_the_repository(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        for link in LINK.findall(re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`", "", text)):
            if link.startswith("https://host/repository/blob/HEAD/"):
                assert (ROOT / link.removeprefix("https://host/repository/blob/HEAD/")).exists(), (name, link)
            elif not link.startswith("http"):
                target = os.path.normpath(Path(name).parent / link)
                assert target in pages or (DOCS / target).is_file(), (name, link)


def test_without_an_address_a_link_out_of_the_site_is_its_words(site: ModuleType) -> None:
    assert site.relinked("see [the action](../action.yml)", "report.md", set(), "") == "see the action"
    assert site.relinked("[x](none.md)", "report.md", set(), "") == "[x](none.md)", (
        "left for MkDocs to refuse"
    )


def test_the_menu_names_every_page_that_a_person_wrote(pages: dict[str, str]) -> None:
    def names(menu: Any) -> set[str]:
        if isinstance(menu, str):
            return {menu}
        return set().union(*map(names, menu.values() if isinstance(menu, dict) else menu))

    settings = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Settings)
    written = {name for name in pages if not name.startswith(("rules/", "zh/rules/"))}
    assert names(settings["nav"]) == written


@pytest.mark.parametrize("name", ["own-rules", "adding-a-rule"])
def test_the_pages_in_chinese_have_the_same_code_and_the_same_parts(name: str) -> None:
    pages = [(DOCS / f"{name}{end}.md").read_text("utf-8") for end in ("", ".zh-CN")]
    code = [re.findall(r"```\w+\n.*?```", page, re.DOTALL) for page in pages]
    english, chinese = ([re.sub(r" *# .*", "", block) for block in blocks] for blocks in code)
    assert english == chinese
    assert len({page.count("\n#") for page in pages}) == 1
