"""`onescience-check server`: what an editor starts."""

from __future__ import annotations

import typer

from ..language import tr
from ..settings import SettingsError
from .exits import CLEAN
from .lang import Lang


def server(*, lang: Lang = None) -> None:
    """Serve an editor by the Language Server Protocol, on standard input and output.

    Needs the extra `lsp`: pip install 'onescience-check[lsp]'. docs/editors-and-ci.md says how editors start it.
    """
    try:
        from .language_server import serve
    except ModuleNotFoundError as error:
        said = "server: %(name)s is not installed: pip install 'onescience-check[lsp]'"
        raise SettingsError(tr(said, name=error.name)) from None
    serve()
    raise typer.Exit(CLEAN)
