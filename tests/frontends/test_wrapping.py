"""Lines of help and explanations, in both languages."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from onescience_check.checkers.frontends.wrapping import wrapped


@pytest.mark.parametrize("width", range(20, 60, 9))
@pytest.mark.parametrize(
    "text",
    [
        "这个标志说明每个 TP rank 是否只持有最后一维中自己的那一份（见 `num_heads`）。设置错误时，行并行层会出错。",
        "text、agent、markdown 或 html；可给出多种，各写入自己的文件。",
        "The schedule allocates one receive buffer (of a list) for each shape: none is received twice.",
    ],
)
def test_lines_are_as_wide_as_they_may_be_and_no_word_is_torn(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert all(line == line.strip() and line[0] not in "，。、；：）.,:)" for line in lines)
    assert not any(line.endswith(("（", "(")) for line in lines)
    words = text.replace("、", " 、").split()
    assert all(any(word.strip("，。（）、") in line for line in lines) for word in words if word.isascii())
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_a_word_that_is_too_wide_has_a_line_of_its_own() -> None:
    assert wrapped("a verylongword b", 4) == ["a", "verylongword", "b"]
    assert wrapped("", 4) == [""]
