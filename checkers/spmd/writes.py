"""Calls that write a file, and the path that they write to."""

from __future__ import annotations

import ast
import re

from .called import Called

_SAVES = {
    "numpy.save": 0, "numpy.savez": 0, "numpy.savez_compressed": 0, "numpy.savetxt": 0, "torch.save": 1,
    "matplotlib.pyplot.savefig": 0, "torchvision.utils.save_image": 1, "scipy.io.savemat": 0,
}  # fmt: skip
_METHODS = frozenset("to_csv to_netcdf to_parquet savefig".split())
_WRITING = re.compile(r"[wax]")


def path_written(call: Called) -> ast.expr | None:
    """The path of a call that writes a file; None for any other call."""
    node, frame = call.node, call.frame
    dotted = frame.external(node.func)
    if dotted in _SAVES:
        return frame.argument(node, "f" if dotted == "torch.save" else "file", _SAVES[dotted])
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        return node.args[0] if node.args else None
    is_open = (
        isinstance(node.func, ast.Name) and node.func.id == "open" and frame.scope.owner_of("open") is None
    )
    if is_open or dotted == "h5py.File":
        mode = frame.argument(node, "mode", 1)
        if isinstance(mode, ast.Constant) and _WRITING.match(str(mode.value)):
            return node.args[0] if node.args else None
    return None
