"""What the first and the last pipeline stage both build by one statement."""

from __future__ import annotations

import ast

from .axes import last_name
from .conditions import Atom, condition
from .frames import Frame


def built_at_both_ends(init: Frame) -> tuple[str, ast.stmt] | None:
    """An embedding that `if pre_process or post_process:` makes, so that each end has one of its own."""
    for node in init.scope.nodes:
        if not isinstance(node, ast.If):
            continue
        asked = condition(node.test, init)
        parts = asked[1] if isinstance(asked, tuple) and asked[0] == "or" else ()
        if {part.value for part in parts if isinstance(part, Atom) and part.subject == "pp"} != {"0", "last"}:
            continue
        for made in node.body:
            if isinstance(made, ast.Assign) and isinstance(made.value, ast.Call):
                target = ast.unparse(made.targets[0])
                if target.startswith("self.") and "Embedding" in last_name(made.value.func):
                    return target[5:], made
    return None
