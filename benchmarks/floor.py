"""The least that any checker of a tree must do: read all, throw out what cannot matter, parse the rest.

    python benchmarks/floor.py FOLDER...

Prints one line. It is run as a process of its own by `check_speed.py`, so that it starts as cold as the check.
"""

from __future__ import annotations

import ast
import os
import sys
import time
import warnings

from onescience_check.checkers.files.prefilter import is_relevant


def main(folders: list[str]) -> None:
    start = time.perf_counter()
    names = [
        os.path.join(folder, name)
        for top in folders
        for folder, _, found in os.walk(top)
        for name in found
        if name.endswith(".py")
    ]
    texts = []
    for name in names:
        with open(name, "rb") as file:
            texts.append(file.read())
    kept = [text for text in texts if is_relevant(text)]
    warnings.simplefilter("ignore")
    trees = []
    for text in kept:
        try:
            trees.append(ast.parse(text))
        except (SyntaxError, ValueError):
            continue
    print(f"{len(names)} files, {len(trees)} parsed, {time.perf_counter() - start:.2f} s inside the process")


if __name__ == "__main__":
    main(sys.argv[1:])
