"""Trees take a third less room, and are the same."""

from __future__ import annotations

import ast
import sys

from onescience_check.checkers.files import trees

CODE = '''
import a.b as c
from . import d

class E(c.F, metaclass=G):
    """Text"""
    h: int = {**i, 1: [2, *j]}

    async def k(self, l, /, m=3, *n, o: p = None, **q) -> r:
        global s
        async with t as (u, v):
            w = lambda: f"{x!r:>{y}}" if not -z or 1 < 2 <= 3 else (yield)
        try:
            del self.a[1:2, ...]
        except B as e:
            raise C from e
        match f:
            case [D(1 | 2, g=None), {"h": i, **j}, *k]:
                pass
'''


def test_a_compact_tree_is_the_same_tree() -> None:
    tree = ast.parse(CODE)
    before = ast.dump(tree, include_attributes=True)
    trees.compact(tree)
    assert ast.dump(tree, include_attributes=True) == before
    compile(tree, "code.py", "exec")
    tree.body[0].added = 1  # type: ignore[attr-defined]
    assert vars(tree.body[0]).keys() - {"added", "_flat", "_at"} == vars(ast.parse(CODE).body[0]).keys()


def test_a_compact_tree_lists_what_is_in_a_node() -> None:
    plain, listed = ast.parse(CODE), ast.parse(CODE)
    assert trees.compact(listed) == 12
    for one, other in zip([plain, *trees.below(plain)], [listed, *trees.below(listed)], strict=True):
        assert _shown(trees.children(one)) == _shown(trees.children(other))
        assert _shown(trees.below(one)) == _shown(trees.below(other))


def test_a_copied_node_may_be_changed() -> None:
    tree = ast.parse("f(a, b)")
    trees.compact(tree)
    call = tree.body[0].value  # type: ignore[attr-defined]
    twin = trees.copied(call)
    twin.args = twin.args[:1]
    assert _shown(trees.children(twin)) == ["Name", "Name"]
    assert len(trees.children(call)) == 3


def _shown(nodes: list[ast.AST]) -> list[str]:
    return [type(node).__name__ for node in nodes]


def test_a_compact_tree_takes_less_room() -> None:
    def room(tree: ast.Module) -> int:
        return sum(sys.getsizeof(vars(node)) for node in ast.walk(tree))

    tree = ast.parse(CODE)
    before = room(tree)
    trees.compact(tree)
    assert room(tree) < 0.7 * before
