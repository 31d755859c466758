"""What `verify` says has its Chinese beside it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from onescience_check.checkers.frontends import verify_words
from onescience_check.checkers.language import speaking

SOURCES = Path(__file__).parents[3] / "runtime" / "verify"


@pytest.fixture(scope="module")
def source() -> str:
    text = "\n".join(path.read_text("utf-8") for path in SOURCES.glob("*.py"))
    return re.sub(r'"\s*\n\s*f?"', "", text)  # a sentence may be written on several lines


@pytest.mark.parametrize("pair", verify_words._SENTENCES, ids=lambda pair: pair[0][:40])
def test_a_sentence_is_one_that_the_runtime_says_and_has_the_same_fields(pair, source):
    english, chinese = pair
    filled = chinese.format(*(f"<{index}>" for index in range(english.count("{}"))))
    assert all(f"<{index}>" in filled for index in range(english.count("{}")))
    longest = max(english.split("{}"), key=len).strip(" ,:;()")
    assert longest in source


OURS = (
    "import serve; serve",
    "the verification itself failed:\n",
    r'File "(.*)", line (\d+) in (.*)',
    "most recent call first",
    "the process of the verification ended with status",
)


def sentences(path: Path) -> Iterator[str]:
    """What the functions of a file say: texts of four words and more, with {} for what is filled in."""
    for function in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(function, ast.FunctionDef):
            continue
        inner = {
            id(part) for node in ast.walk(function) if isinstance(node, ast.JoinedStr) for part in node.values
        }
        for node in ast.walk(function):
            if isinstance(node, ast.JoinedStr):
                text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
                text = node.value
            else:
                continue
            if text.count(" ") >= 3 and text != ast.get_docstring(function, clean=False):
                yield text


@pytest.mark.parametrize("path", sorted(SOURCES.glob("*.py")), ids=lambda path: path.stem)
def test_each_sentence_has_its_chinese_or_is_part_of_one_that_has(path):
    known = [*(english for english, _ in verify_words._SENTENCES), *verify_words.LABELS, *OURS]
    pieces = (max(text.split("{}"), key=len).strip(" ,:;()") for text in sentences(path))
    assert [piece for piece in pieces if not any(piece in one for one in known)] == []


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "the process did not end within 30 s in forward, in stage 0",
            "进程在 30 秒内没有结束，停在 forward，正在 stage 0",
        ),
        (
            "with --recompute-granularity full: received tensor 1 is changed in place",
            "使用 --recompute-granularity full 时：收到的第 1 个张量被原地修改",
        ),
        (
            "the result is off by 0.4 of its largest number; the first difference is in what it hands to a.b",
            "结果与原始模型相差其最大值的 0.4；最早的差别在它交给 a.b 的值",
        ),
        (
            "collective 3 differs: rank 0 enters all_reduce of [4] torch.float32 at a comparison of this command, rank "
            "1 enters none more; on GPUs they wait for each other for ever",
            "第 3 个集合通信不同：rank 0 进入 all_reduce（[4] torch.float32，在 本命令的一次比较），rank 1 进入 0 个；"
            "在 GPU 上它们会互相永远等待",
        ),
        ("TypeError: what Python says", "TypeError: what Python says"),
        (
            "RuntimeError: The size of tensor a (64) must match the size of tensor b (32) at non-singleton dimension 2",
            "RuntimeError: The size of tensor a (64) must match the size of tensor b (32) at non-singleton dimension 2",
        ),
    ],
)
def test_a_reader_of_chinese_gets_chinese(english, chinese):
    assert verify_words.said(english) == english
    with speaking("zh"):
        assert verify_words.said(english) == chinese
