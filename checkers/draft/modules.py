"""The files of the distributed modules, and their lines in the registries."""

from __future__ import annotations

import ast
from pathlib import Path

from ..facts.module import ClassFacts, ModuleFacts
from .convert import Converter
from .edits import Edits, load_names
from .parts import Parts, Style


def file_stems(parts: Parts, new: list[ClassFacts]) -> dict[ClassFacts, str]:
    """The name of the file that the distributed version of each class goes into."""
    return {cls: _stem(parts, [other for other in new if other.module is cls.module]) for cls in new}


def module_file(
    parts: Parts, module: ModuleFacts, stems: dict[ClassFacts, str], megatron: str
) -> tuple[Path, str]:
    """The distributed version of a file: where it goes, and its text."""
    classes = [cls for cls in stems if cls.module is module]
    converter = Converter(parts, module, stems)
    kinds: set[str] = set()
    for cls in classes:
        kinds |= converter.convert(cls)
        converter.rename(cls)
    edits = converter.edits
    body = "\n\n".join(
        edits.lines_of(converter.node(cls)) for cls in sorted(classes, key=lambda c: c.node.lineno)
    )
    needed = load_names(ast.parse(body)) | {parts.new_name(cls) for cls in classes}
    path = module.path.with_name(f"{stems[classes[0]]}.py")
    lines = [f'"""{_title(edits.tree)} Split over tensor-parallel ranks; made from {module.path.name}."""\n']
    imports = [edits.lines_of(node) for node in edits.tree.body if _is_used_import(node, needed)]
    if kinds:
        imports.append(f"from {megatron}.tensor_parallel import {', '.join(sorted(kinds))}\n")
    for cls in classes:
        imports += converter.imports(converter.node(cls))
    own = sorted(needed & _defined(edits.tree, classes))
    if own:
        imports.append(f"\nfrom .{module.path.stem} import {', '.join(own)}\n")
    return path, "\n".join(["".join(lines), "".join(imports), "", body])


def _stem(parts: Parts, classes: list[ClassFacts]) -> str:
    """The name of the file: of the class that a registry names, or that the file is named for."""
    named = [cls for cls in classes if parts.style_of(cls) is not None] or classes
    own = [cls for cls in named if cls.name.lower() == cls.module.path.stem.replace("_", "").lower()]
    return parts.new_name((own or named)[0]).lower()


def registry_edits(parts: Parts, stems: dict[ClassFacts, str]) -> dict[Path, str]:
    """The texts of the registries with the distributed versions in them."""
    files: dict[Path, Edits] = {}
    for cls, stem in stems.items():
        style = parts.style_of(cls)
        if style is None:
            continue
        home = style.registry.module
        edits = files.setdefault(home.path, Edits(home.text))
        _register(edits, style, parts, stem)
    return {path: edits.rendered(0, len(edits.text)) for path, edits in files.items()}


def _register(edits: Edits, style: Style, parts: Parts, stem: str) -> None:
    cls, line = style.target, style.registry.node.lineno
    name = parts.new_name(cls)
    table = next(node for node in ast.walk(edits.tree) if isinstance(node, ast.Dict) and node.lineno == line)
    for key, value in zip(table.keys, table.values, strict=True):
        if not (isinstance(key, ast.Constant) and key.value == style.name):
            continue
        entry = edits.source(value).replace(cls.module.path.stem, stem).replace(cls.name, name)
        edits.insert(edits.span(value)[1], f',\n    "{parts.styled(style.name, cls)}": {entry}')
        if isinstance(value, ast.Name):
            _import(edits, cls, name, stem)


def _import(edits: Edits, cls: ClassFacts, name: str, stem: str) -> None:
    """The import of a class beside that of its original."""
    for node in edits.tree.body:
        if isinstance(node, ast.ImportFrom) and any(alias.name == cls.name for alias in node.names):
            source = f"{'.' * node.level}{node.module or ''}".replace(cls.module.path.stem, stem)
            edits.insert(edits.span(node)[1], f"\nfrom {source} import {name}")
            return


def _title(tree: ast.Module) -> str:
    text = (ast.get_docstring(tree) or "A module.").strip().splitlines()[0].rstrip(".")
    return f"{text}."


def _is_used_import(node: ast.stmt, needed: set[str]) -> bool:
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return False
    return any((alias.asname or alias.name.split(".")[0]) in needed for alias in node.names)


def _defined(tree: ast.Module, classes: list[ClassFacts]) -> set[str]:
    """What a file binds itself, the classes left out that get a distributed version."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found - {cls.name for cls in classes}
