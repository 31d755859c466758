"""Where a size that is divided by the TP size was one rank's share already."""

from __future__ import annotations

import ast

from .events import Site
from .parameter_events import Divided
from .symbols import Quotient
from .values import PER_RANK, Sym


def handed_share(event: Divided) -> Site | None:
    """The call that hands over a share, where the division is written in the call itself."""
    top = event.top
    if not isinstance(top, Sym) or PER_RANK not in top.tags or len(top.poly.terms) != 1:
        return None
    atoms = top.poly.terms[0][0]
    if len(atoms) != 1 or not isinstance(atoms[0], Quotient) or "tp" not in atoms[0].bottom.atoms():
        return None
    for site in event.stack:
        if isinstance(site.node, ast.Call):
            values = (*site.node.args, *(keyword.value for keyword in site.node.keywords))
            if any(isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv) for value in values):
                return site
    return None
