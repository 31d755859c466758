"""Small odd trees and calls of the command, drawn from a seed, for `fuzz.py`."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from onescience_check.checkers.rules import all_rules

ROOT = Path(__file__).parent.parent
PIPE = b"a pipe"
LINK = b"a link to "
TREES: list[dict[str, bytes]] = [
    {"model.py": rule.example(kind).encode(), **{name: text.encode() for name, text in rule.beside.items()}}
    for rule in all_rules()
    for kind in ("bad", "good")
]
EXAMPLE = ROOT / "docs/example"
TREES.append(
    {
        str(path.relative_to(EXAMPLE)): path.read_bytes()
        for path in EXAMPLE.rglob("*")
        if path.suffix in (".py", ".yaml")
    }
)
TEXTS = (
    "\x1b[31mred", "\x1b]0;x\x07", "\n# head", "{x}", "%s%d", "[/bold]", "`|<b>", "\u202e", "\ud800", "中", "é",
    "\\", "", "a" * 300,
)  # fmt: skip
VALUES = (
    "!!bool foo", "!!int ''", "!!timestamp foo", "!!float x", "&a [*a, *a]", "*b", "{{", "{{ x }}", "[" * 200,
    "!!set {a}",
    "? [a]", "<<: *a", "0x", "1e999", "0o9", "2020-99-99", "!!binary x", "\t", "'", "\x00", "\x85",
    "{a: {a: {a: 1}}}",
    "- - - -", "|\n  x", "!!python/name:os.system", "~", "1_000", ".nan", "-.inf", "12:30:45", "null",
)  # fmt: skip
PATTERNS = (
    "[z-a]", "*a" * 14, "**/" * 9 + "x", "!", "\\", "[", "[!]", "a\\", "!!x", "/", "//", "**", "***",
    "[[:alpha:]]", "?" * 99,
    "model.py", "!model.py", "{a,b}", "(a|b)*+", "[[a]--b]", " ", "\x00", "#", "\\#", "(?P<x>", "$^",
)  # fmt: skip
SETTINGS = (
    "profile = guide", "profile = ", "tp = 0", "tp = 1,2,999999999999999999999", "jobs = x", "exclude = [z-a]",
    "select = E",
    "providers = a.B kind=column\n  c.D", "providers = 'a", "sequence-parallel = maybe", "framework = ..",
    "x = %(y)s",
    "allow-plain-linear = *", "fail-on = ", "[onescience-check]", "= 1", "\x00", "[", "profile = universal",
)  # fmt: skip
EXPRESSIONS = (
    "(a, a)", "[a] * 10**9", "a ** a ** a", "lambda *a, **k: a", "a[a:a:a]", "{**a}", "(*a, *a)",
    "f'{a!r:>{a}}'", "(a := a)",
    "getattr(a, '\x1b[m')", "a if a else a", "[a for a in a for a in a]", "not a", "a @ a", "...", "-" * 80 + "1",
    "(" * 80 + ")" * 80, "1" * 5000, "1e400", "b'\\xff'", "'\\ud800'", "0j", "a.a.a.a()()()[0]", "await a",
    "yield", "a < a < a",
    "super().__init__", "__class__", "type(a)(a)", "range(10**18)[::-1]", "torch.empty(a, a)", "slice(a, a)",
    "'%*d' % (9**9, 1)",
    "{a: a for a in a}", "print(*a, sep=a)", "self", "self.self", "None[None]", "functools.partial(a, *a)",
    "max()", "int('x')",
)  # fmt: skip
ENCODINGS = (
    "gbk", "big5", "shift_jis", "cp1252", "latin-1", "utf-7", "utf-8-sig", "utf-16", "ascii", "rot13", "idna",
    "undefined",
    "unicode_escape", "hz", "iso2022_jp", "no-such", "utf8", "cp037", "punycode",
)  # fmt: skip
CALLS = (
    ["check"], ["check", "--strict"], ["check", "--format", "json"], ["check", "--statistics", "-q"], ["report"],
    ["report", "--format", "json"], ["report", "--format", "markdown"], ["check", "--jobs", "2"], ["check",
    "--tp", "1,3,7"],
    ["check", "--lang", "zh"], ["report", "--lang", "zh"], ["fix"], ["fix", "--unsafe", "--diff"], ["fix", "--check"],
    ["diagnose", "model.py"], ["baseline"],
    ["check", "--show-settings"], ["check", "--stdin-filename", "model.py"], ["check", "model.py", "nothing.py"],
)  # fmt: skip
WIDTHS = ("", "80", "1", "0", "-5", "x", "100000")


@dataclass(frozen=True)
class Case:
    """A tree, a call, and what the command's output is connected to."""

    files: dict[str, bytes]
    call: list[str]
    encoding: str = "utf-8"
    width: str = ""
    output: str = "pipe"
    given: bytes = b""


def make(choice: random.Random) -> Case:
    """A case drawn from `choice`."""
    files = dict(choice.choice(TREES))
    files.update(choice.choice(TREES) if choice.random() < 0.2 else {})
    files["setup.cfg"] = (
        "\n".join(["[onescience-check]", "profile = guide"]).encode() if choice.random() < 0.7 else b""
    )
    for _ in range(choice.choice((1, 1, 2, 4))):
        choice.choice(CHANGES)(choice, files)
    call = choice.choice(CALLS)
    outputs = ("pipe",) * 8 + ("full", "closed", "terminal")
    given = choice.choice(list(files.values()))
    return Case(
        files,
        call,
        choice.choice(("utf-8",) * 4 + ("ascii", "latin-1", "gbk")),
        choice.choice(WIDTHS),
        choice.choice(outputs),
        given,
    )


def change_tokens(choice: random.Random, files: dict[str, bytes]) -> None:
    name = choice.choice([name for name in files if name.endswith(".py")] or ["model.py"])
    lines = files.get(name, b"").decode(errors="replace").split("\n")
    for _ in range(choice.randint(1, 5)):
        at = choice.randrange(len(lines))
        words = lines[at].replace("(", " ( ").replace(",", " , ").split(" ")
        spot = choice.randrange(len(words))
        words[spot] = choice.choice(
            [
                "",
                words[spot] * 2,
                choice.choice(EXPRESSIONS),
                repr(choice.choice(TEXTS)),
                choice.choice(words),
                "None",
                "self",
            ]
        )
        lines[at] = " ".join(words)
    files[name] = "\n".join(lines).encode(errors="replace")


def change_lines(choice: random.Random, files: dict[str, bytes]) -> None:
    name = choice.choice(list(files))
    lines = files[name].split(b"\n")
    for _ in range(choice.randint(1, 4)):
        at = choice.randrange(len(lines))
        line = lines[at]
        indent = line[: len(line) - len(line.lstrip())]
        value = choice.choice(EXPRESSIONS).encode(errors="replace")
        lines[at : at + 1] = choice.choice(
            (
                [],
                [line, line],
                [line] * 40,
                [indent + b"a = " + value] * choice.choice((1, 40)) + [line],
                [indent + b"if a:", b"    " + line],
            )
        )
        lines = lines or [b""]
    files[name] = b"\n".join(lines)


def change_bytes(choice: random.Random, files: dict[str, bytes]) -> None:
    name = choice.choice(list(files))
    data = files[name]
    at = choice.randrange(len(data) + 1)
    files[name] = choice.choice(
        (
            data[:at],
            data[at:],
            data[:at] + bytes([choice.randrange(256)]) + data[at + 1 :],
            data.replace(b"\n", b"\r"),
            data.replace(b"    ", b"\t"),
            data.replace(b"\n", b"\r\n"),
        )
    )


def change_encoding(choice: random.Random, files: dict[str, bytes]) -> None:
    name = choice.choice([name for name in files if name.endswith(".py")] or ["model.py"])
    encoding = choice.choice(ENCODINGS)
    text = (
        f"# coding: {encoding}\n# 中文 é\n"
        + files.get(name, b"").decode(errors="replace")
        + "\n# pylint: disable=onescience\n"
    )
    try:
        files[name] = text.encode(encoding, "replace")
    except (LookupError, UnicodeError):
        files[name] = text.encode()


def add_comment(choice: random.Random, files: dict[str, bytes]) -> None:
    name = choice.choice([name for name in files if name.endswith(".py")] or ["model.py"])
    lines = files.get(name, b"").split(b"\n")
    at = choice.randrange(len(lines))
    words = (
        "disable=all",
        "disable=onescience",
        "skip-file",
        "disable-next=E7101",
        "enable=E",
        "disable=",
        "x",
        "disable=E7101,,",
    )
    lines[at] += f"  # pylint: {choice.choice(words)}".encode()
    files[name] = b"\n".join(lines)


def odd_yaml(choice: random.Random, files: dict[str, bytes]) -> None:
    name = choice.choice([name for name in files if name.endswith(".yaml")] or ["conf/config.yaml"])
    text = files.get(name, b"data:\n  a: 1\n").decode(errors="replace")
    keys = "".join(
        f"  {choice.choice('abcdef')}: {choice.choice(VALUES)}\n" for _ in range(choice.randint(1, 4))
    )
    files[name] = (text + keys if choice.random() < 0.7 else choice.choice(VALUES) * 2000).encode(
        errors="replace"
    )


def odd_settings(choice: random.Random, files: dict[str, bytes]) -> None:
    lines = choice.choices(SETTINGS, k=choice.randint(1, 4))
    files["setup.cfg"] = "\n".join(["[onescience-check]", *lines]).encode()
    if choice.random() < 0.2:
        files["pyproject.toml"] = choice.choice(
            (b"[tool.onescience-check]\nprofile = 1", b"[", b"\xff", PIPE, b"tool = 1")
        )


def odd_ignore(choice: random.Random, files: dict[str, bytes]) -> None:
    files[".gitignore"] = "\n".join(choice.choices(PATTERNS, k=choice.randint(1, 4))).encode()


def odd_entry(choice: random.Random, files: dict[str, bytes]) -> None:
    name = choice.choice(
        (".gitignore", "setup.cfg", "pyproject.toml", "extra.py", "x.yaml", "run.sh", "a" * 200 + ".py",
        "new\nline.py", "\x1b[31m.py",
         "conf/config.yaml", "__init__.py", "pyvenv.cfg", "-.py", "中.py", ".py")
    )  # fmt: skip
    first = next(iter(files.values()))
    files[name] = choice.choice(
        (PIPE, LINK + b".", LINK + name.encode(), LINK + b"model.py", LINK + b"/dev/zero", first, b"")
    )


CHANGES: tuple[Callable[[random.Random, dict[str, bytes]], None], ...] = (
    change_tokens, change_tokens, change_tokens, change_lines, change_lines, change_bytes, change_encoding,
    add_comment,
    odd_yaml, odd_settings, odd_ignore, odd_entry,
)  # fmt: skip
