"""Edits onto bytes: only what they say changes."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onescience_check.checkers.finding import Edit, Place
from onescience_check.checkers.repair.text import Unfit, edited, line_after, overlap


def edit(line: int, column: int, end_line: int, end_column: int, text: str) -> Edit:
    return Edit(Place("a.py", line, column, end_line, end_column), text)


def insert(line: int, column: int, text: str) -> Edit:
    return edit(line, column, line, column, text)


def test_edits_of_one_file_are_made_together() -> None:
    data = b"a = f(x)\nb = g(y)\n"
    assert edited(data, [edit(2, 4, 2, 5, "h"), insert(1, 8, "[0]")]) == b"a = f(x)[0]\nb = h(y)\n"


def test_edits_at_one_point_keep_their_order() -> None:
    assert edited(b"a\n", [insert(1, 1, "1"), insert(1, 1, "2")]) == b"a12\n"


def test_lines_keep_their_ends_and_new_ones_take_that_of_their_line() -> None:
    data = b"a = 1\r\nb = 2\nc = 3\rd = 4"
    made = edited(data, [insert(line, 5, f"\ne{line} = 0") for line in (1, 2, 3, 4)])
    assert made == b"a = 1\r\ne1 = 0\r\nb = 2\ne2 = 0\nc = 3\re3 = 0\rd = 4\re4 = 0"


@pytest.mark.parametrize(
    ("text", "encoding", "column"),
    [
        ("é = f(x)\n", "utf-8-sig", 7),
        ("# coding: latin-1\né = 1\n", "latin-1", 3),
        ("é = 𝛼(x)\n", "utf-8", 7),
    ],
)
def test_encodings_and_byte_order_marks_stay(text: str, encoding: str, column: int) -> None:
    made = edited(text.encode(encoding), [insert(1, column, "[0]")])
    assert made == f"{text[:column]}[0]{text[column:]}".encode(encoding)


def test_what_the_encoding_has_not_is_refused() -> None:
    with pytest.raises(Unfit, match="iso-8859-1"):
        edited(b"# coding: latin-1\na = 1\n", [insert(2, 5, "  # 中")])


def test_bytes_that_do_not_come_back_are_refused() -> None:
    with pytest.raises(Unfit, match="cannot be written back"):
        edited(b"# coding: utf-7\na = '+AGE-'\n", [insert(2, 0, "b")])


CALL = b"f(\n    a=1,  # first\n    # of the second\n    b=2,\n)\n"


def test_a_comment_goes_with_the_code_that_is_taken_out() -> None:
    assert edited(CALL, [edit(2, 4, 3, 4, "")]) == b"f(\n    # of the second\n    b=2,\n)\n"


@pytest.mark.parametrize("change", [edit(2, 4, 4, 4, ""), edit(1, 0, 5, 1, "g()")])
def test_any_other_comment_would_be_lost(change: Edit) -> None:
    with pytest.raises(Unfit, match=r"comment of line [23] would be lost"):
        edited(CALL, [change])


def test_a_comment_that_is_typed_again_is_not_lost() -> None:
    assert edited(b"f(a  # one\n)\n", [edit(1, 3, 1, 10, ",  # one\n  b")]) == b"f(a,  # one\n  b\n)\n"


def test_a_hash_in_a_string_is_no_comment() -> None:
    assert edited(b"a = '# no'\n", [edit(1, 4, 1, 10, "1")]) == b"a = 1\n"


def test_edits_that_touch_overlap() -> None:
    one = edit(2, 3, 2, 6, "x")
    assert all(overlap(one, insert(2, column, "")) for column in (3, 4, 6))
    assert not any(overlap(one, insert(*at, "")) for at in ((2, 2), (2, 7), (1, 4), (3, 4)))
    assert not overlap(one, Edit(Place("b.py", 2, 3, 2, 6), "x"))


lines = st.lists(st.sampled_from(["a", "bb", "", "c c"]), min_size=1, max_size=8)


@given(lines, st.data())
def test_a_point_outside_the_edits_is_found_again(texts: list[str], data: st.DataObject) -> None:
    """What stands behind a point is what stood there before, on the line that is computed."""
    marked = data.draw(st.integers(0, len(texts) - 1))
    texts[marked] = "MARK"
    edits = [
        insert(number + 1, len(text), data.draw(st.sampled_from(["", "\nx", "\n\n"])))
        if data.draw(st.booleans())
        else insert(number + 1, 0, data.draw(st.sampled_from(["", "x\n", "\n"])))
        for number, text in enumerate(texts)
    ]
    made = edited("\n".join(texts).encode(), edits).decode().split("\n")
    assert made[line_after(edits, marked + 1, 0) - 1].startswith("MARK")


def test_what_stands_behind_a_removed_line_moves_up() -> None:
    gone = [edit(2, 0, 3, 0, "")]
    assert [line_after(gone, line, 4) for line in (1, 2, 3, 4)] == [1, 2, 2, 3]
    assert ast.parse(edited(b"a\nb\nc\n", gone)).body[1].lineno == 2
