"""What was looked at where the stages are held against the original model."""

from __future__ import annotations

from ..language import counted, listed, tr
from .looks import Nothing, Scene, Unseen, original
from .model import Mark


def drop_path(scene: Scene) -> str:
    table = scene.tables.drop_path
    if table.is_unused:
        raise Nothing(tr("no layer is given rates, here or in the original model"))
    unknown = [row for row in table.rows if row.mark is Mark.OPEN]
    if unknown:
        row = unknown[0]
        raise Unseen(
            tr("the rates of %(stage)s.%(layer)s could not be compared", stage=row.stage, layer=row.layer)
        )
    if not table.rows:
        raise Unseen((table.notes or (tr("the rates are known at run time only"),))[0])
    return tr("%(count)s of blocks, as in the original model", count=counted(len(table.rows), "stack"))


def balance(scene: Scene) -> str:
    table = scene.tables.balance
    if not table.method:
        raise Unseen((table.notes or (tr("the work is known at run time only"),))[0])
    if not table.is_estimate:
        raise Unseen(tr("by %(method)s alone, which says little where blocks differ", method=table.method))
    return tr("by %(method)s", method=table.method)


def original_depths(scene: Scene) -> str:
    said, table = original(scene), scene.tables.drop_path
    if table.total is None or table.original_total is None:
        raise Unseen(tr("the number of blocks is known at run time only"))
    if table.total != table.original_total:
        raise Unseen(
            tr(
                "%(total)s blocks, and %(original_total)s in the original",
                total=table.total,
                original_total=table.original_total,
            )
        )
    tree = scene.subject.original_tree
    names = {child.name for root in (tree.roots if tree is not None else ()) for child in root.children}
    for root in scene.subject.tree.roots:
        for child in root.children:
            if child.name not in names and child.kind in ("distributed", "parallel", "plain"):
                raise Unseen(
                    tr(
                        "the original has no `%(child)s`: how its weights are loaded is read by hand",
                        child=child.name,
                    )
                )
    return tr("%(total)s blocks; %(said)s", total=table.total, said=said)


def compared(scene: Scene) -> str:
    """The pairs that could be held against each other: all of them."""
    original(scene)
    table = scene.tables.differences
    if not table.compared or table.notes:
        raise Unseen((table.notes or (tr("nothing could be held against the original"),))[0])
    return tr("compared: %(compared)s", compared=listed(", ", table.compared))
