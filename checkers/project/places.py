"""Where modules lie: import roots, the dotted name of a file, and the file that a dotted name means."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ..files.discovery import FileSet

_OF_OTHERS = sys.stdlib_module_names | {"torch", "numpy", "einops", "transformers", "apex", "deepspeed"}


_TESTS = re.compile(r"(^|/)(tests?|unit_tests|functional_tests)/|(^|/)test_[^/]*$")


_COLLECTED = re.compile(r"^\s*(async\s+)?def test|^class Test|\b(unittest|pytest)\b", re.MULTILINE)


def in_tests(path: str) -> bool:
    """Whether a file is a test, which sets up small worlds of its own."""
    return _TESTS.search(path) is not None


def is_test(path: str, text: str) -> bool:
    """Whether a file is one by its folder, or by its name and what a test runner would find in it: no script."""
    named = in_tests(path)
    return named and (in_tests(path.rpartition("/")[0] + "/") or _COLLECTED.search(text) is not None)


class Places:
    """Names and files of one run. Folders are listed once; nothing is imported."""

    def __init__(self, files: FileSet) -> None:
        self.files = files
        self._roots: dict[Path, Path] = {}
        self._holding: dict[str, list[Path]] = {}

    def name_of(self, path: Path) -> str:
        """The dotted name of a file under its import root."""
        mapped = self.files.renamed(path)
        root = mapped[1] if mapped is not None else self.root_of(path)
        parts = list(path.relative_to(root).with_suffix("").parts)
        if parts and parts[-1] == "__init__":
            parts.pop()
        if mapped is not None:
            parts = [*mapped[0].split("."), *parts]
        return ".".join(parts) or path.parent.name

    def root_of(self, path: Path) -> Path:
        """The folder from which absolute imports of this file's package start: the deepest root above its package."""
        folder = path.parent
        if folder not in self._roots:
            inside = {folder, *folder.parents}
            above = [root for root in self.files.roots if root in inside]
            sources = [root for root in above if root.name in ("src", "lib", "python")]
            self._roots[folder] = _importable((sources[-1:] or above or [folder])[0], folder)
        return self._roots[folder]

    def find(self, dotted: str, near: Path) -> Path | None:
        """The file that an absolute name means for the file `near`, or the bare folder of a namespace package."""
        parts = dotted.split(".")
        if not all(part.isidentifier() for part in parts):
            return None
        for installed in self.files.installed_at(dotted):
            return installed
        namespace: Path | None = None
        for root in self._roots_with(parts[0], near):
            base = root.joinpath(*parts)
            # A single name is never a lone file or bare folder of another part of the tree: `torch`, `utils`.
            around = len(parts) > 1 or near.is_relative_to(root)
            for candidate in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
                if self.files.exists(candidate) and (around or candidate.name == "__init__.py"):
                    return candidate
            if namespace is None and around and self.files.exists(base):
                namespace = base
        if namespace is None and len(parts) > 1 and not self._holding[parts[0]]:
            return self._installed_below(parts, near)
        return namespace

    def _installed_below(self, parts: list[str], near: Path) -> Path | None:
        """The file that `package.folder.module` means where this tree is `package` under another roof.

        A file of `folder` names itself so: `package.folder` stands in its text, and no folder `package` is here.
        """
        own = self.root_of(near)
        below = near.relative_to(own).parts if near.is_relative_to(own) else ()
        if len(below) < 2 or parts[1] not in self.files.names_in(own):
            return None
        source = self.files.load(near)
        names_itself = source is not None and f"{parts[0]}.{below[0]}" in source.text
        return self.find(".".join(parts[1:]), near) if names_itself else None

    def _roots_with(self, name: str, near: Path) -> list[Path]:
        """The roots that hold a module or folder of that name: the file's own, those around it, then the others."""
        if name not in self._holding:
            self._holding[name] = [
                root for root in self.files.roots if {name, f"{name}.py"} & self.files.names_in(root)
            ]
        holding = self._holding[name]
        own = self.root_of(near)
        around = [root for root in reversed(holding) if near.is_relative_to(root)]
        inside = [own] if own in holding or {name, f"{name}.py"} & self.files.names_in(own) else []
        found = dict.fromkeys([*inside, *around, *holding, near.parent])
        if name in _OF_OTHERS:  # a package may hold a `logging.py` of its own, which this name never means
            return [root for root in found if "__init__.py" not in self.files.names_in(root)]
        return list(found)


def _importable(root: Path, folder: Path) -> Path:
    """The root, or the deepest folder below it that no import can name: `model-v2`, `3d`."""
    while root != folder:
        names = folder.relative_to(root).parts
        wrong = [index for index, name in enumerate(names) if not name.isidentifier()]
        if not wrong:
            break
        root = root.joinpath(*names[: wrong[-1] + 1])
    return root
