"""What the docs site has beside the files of this folder: the READMEs, a page for each rule in both languages, and
links that lead somewhere. A hook of MkDocs: see mkdocs.yml."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from onescience_check.checkers.frontends.explanation import explanation
from onescience_check.checkers.frontends.lesson import placements
from onescience_check.checkers.language import language, local, speaking
from onescience_check.checkers.rule import Rule, Scope
from onescience_check.checkers.rules import own_rules

ROOT = Path(__file__).parent.parent
SOURCES = {"index.md": "README.md", "zh/index.md": "README.zh-CN.md"}
"""Pages made from files of the repository outside docs/."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|`[^`]*`)*)\]\(([^()\s#]*)(#[^()\s]*)?\)")
_ZH_GROUPS = {
    "71": "张量并行",
    "72": "流水线 stage",
    "73": "模块接口",
    "74": "项目结构",
    "75": "训练脚本",
    "76": "数值与开销",
    "77": "rank 与集合通信",
}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are no files of docs/."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links inside the repository lead to pages, else to the repository, where its address is known."""
    known = {file.src_uri for file in files}
    return relinked(markdown, page.file.src_uri, known, config["repo_url"] or "")


def pages() -> dict[str, str]:
    """The text of every page that is made, by its name in docs/."""
    made = {name: (ROOT / source).read_text("utf-8") for name, source in SOURCES.items()}
    for folder, name in (("rules", "en"), ("zh/rules", "zh")):
        with speaking(name):
            made.update({f"{folder}/{rule.symbol}.md": _page(rule) for rule in own_rules()})
    with speaking("zh"):
        made["zh/rules.md"] = "\n".join(_zh_index()) + "\n"
    made["zh/placements.md"] = placements("zh")
    return made


def _page(rule: Rule) -> str:
    """All that the class of a rule says, as `explain` prints it."""
    code = type(rule).__module__.rsplit(".", 1)[-1]
    every = "All rules" if language() == "en" else "全部规则"
    parts = [f"# {rule.code} {rule.symbol}\n\n{_plain(local(rule.title()))}"]
    for name, text, is_code in explanation(rule):
        said = f"```python\n{text}```" if is_code else _plain(" ".join(local(text).split()))
        if text.startswith("# pylint:"):
            said = f"`{text}`"
        parts.append(f"## {local(name)}\n\n{said}")
    parts.append(f"[checkers/rules/{code}.py](/checkers/rules/{code}.py) · [{every}](../rules.md)")
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """Text that Markdown leaves as it is; what stands between backticks is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return re.sub(r"([\\*_<>\[\]`])", r"\\\1", text)
    shown = [re.sub(r"([\\*_<>\[\]])", r"\\\1", part) for part in parts]
    return "".join(f"`{parts[number]}`" if number % 2 else part for number, part in enumerate(shown))


def _zh_index() -> Iterator[str]:
    yield "# 规则\n\n`onescience-check explain SYMBOL --lang zh` 在命令行中给出同样的内容。"
    for digits, title in _ZH_GROUPS.items():
        yield f"\n## {title}\n\n| 编号 | 规则 | 错在哪里 | 适用范围 |\n|---|---|---|---|"
        for rule in own_rules():
            if rule.code[1:3] == digits:
                scope = local("guide") if rule.scope is Scope.GUIDE else "全部"
                title_ = _plain(local(rule.title())).replace("|", "\\|")
                yield f"| {rule.code} | [{rule.symbol}](rules/{rule.symbol}.md) | {title_} | {scope} |"


def relinked(text: str, name: str, known: set[str], address: str) -> str:
    """The text of a page with links that hold on the site; a link out of it without an address becomes its words."""
    source = Path(SOURCES.get(name, f"docs/{name}"))

    def changed(match: re.Match[str]) -> str:
        mark, words, link, anchor = match[1], match[2], match[3], match[4] or ""
        if not link or re.match(r"[a-z]+:", link):
            return match[0]
        target = link[1:] if link.startswith("/") else os.path.normpath(source.parent / link)
        page = _page_of(target, known, _rules() if name == "rules.md" else {})
        if page is not None:
            return f"{mark}[{words}]({os.path.relpath(page, Path(name).parent)}{anchor})"
        if not (ROOT / target).exists():
            return match[0]  # MkDocs says that it leads nowhere
        return f"[{words}]({address.rstrip('/')}/blob/HEAD/{target}{anchor})" if address else words

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if index % 2 else _LINK.sub(changed, part) for index, part in enumerate(parts))


@cache
def _rules() -> dict[str, Rule]:
    """The rules by their files."""
    return {f"checkers/rules/{type(rule).__module__.rsplit('.', 1)[-1]}.py": rule for rule in own_rules()}


def _page_of(target: str, known: set[str], rules: Mapping[str, Rule]) -> str | None:
    """The page that shows a file of the repository."""
    made = {source: page for page, source in SOURCES.items()} | {
        "checkers/locale/zh/placements.md": "zh/placements.md"
    }
    if target in rules:
        return f"rules/{rules[target].symbol}.md"
    page = made.get(target, target.removeprefix("docs/") if target.startswith("docs/") else "")
    readme = f"{page}/README.md"
    return page if page in known else readme if readme in known else None
