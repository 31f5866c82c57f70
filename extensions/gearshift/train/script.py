"""A script file as a bundle: the same form as a cell, so both run in the same way."""

from __future__ import annotations

import ast
from pathlib import Path

from gearshift.model.errors import fail
from gearshift.train.bundle import Bundle, Code
from gearshift.train.cells import modules


def bundle_of(path: Path) -> Bundle:
    """The script and the person's own modules beside it."""
    try:
        source = path.read_text()
    except OSError as error:
        raise fail("bad_request", field="script", value=str(path), problem=error.strerror) from error
    except UnicodeDecodeError as error:
        raise fail("bad_request", field="script", value=str(path), problem="it is no text") from error
    try:
        ast.parse(source)
    except SyntaxError as error:
        raise fail(
            "syntax_error", field="script", value=path.name, line=error.lineno or 1, problem=error.msg
        ) from error
    files = modules.own_files(modules.imported([source]), path.resolve().parent)
    return Bundle((Code(path.name, 1, source),), cells={path.name: source}, files=files)
