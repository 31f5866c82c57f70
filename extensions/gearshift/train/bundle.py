"""One bundle: the pieces of code in order, the values among them, the files beside them; named by its SHA-256.

chunks.json   [{"kind": "code", "file": "In[3]", "line": 1, "source": …, "cell": …} | {"kind": "value", "name": …}]
values.pkl    one pickle after the other, in the order of the value chunks, so that links between them stay
files/…       the person's own modules
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHUNKS, VALUES, FILES = "chunks.json", "values.pkl", "files/"
MAX_BYTES = 256 * 1024**2
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Code:
    """A piece of source as it stood in a cell; `cells` holds the whole cell for tracebacks."""

    file: str
    line: int
    source: str


@dataclass(frozen=True)
class Value:
    """A name whose value is the next pickle in `values.pkl`."""

    name: str


Chunk = Code | Value


@dataclass(frozen=True)
class Bundle:
    """Everything a rank needs of the notebook."""

    chunks: tuple[Chunk, ...]
    values: bytes = b""
    cells: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)

    def pack(self) -> bytes:
        """The same bundle gives the same bytes."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            listing = {"chunks": [_as_json(chunk) for chunk in self.chunks], "cells": dict(self.cells)}
            _add(archive, CHUNKS, json.dumps(listing, sort_keys=True).encode())
            _add(archive, VALUES, self.values)
            for name in sorted(self.files):
                _add(archive, FILES + name, self.files[name])
        return buffer.getvalue()


def digest(packed: bytes) -> str:
    return hashlib.sha256(packed).hexdigest()


def read(path: Path) -> Bundle:
    with zipfile.ZipFile(path) as archive:
        listing = json.loads(archive.read(CHUNKS))
        chunks = tuple(_from_json(entry) for entry in listing["chunks"])
        return Bundle(chunks, archive.read(VALUES), listing["cells"])


def values(bundle: Bundle) -> Iterator[Any]:
    """The values in order; loaded one by one, since each may need what was defined before it."""
    unpickler = pickle.Unpickler(io.BytesIO(bundle.values))  # noqa: S301 - the submitter's own bytes
    while True:
        yield unpickler.load()


def in_main(name: str) -> Any:
    """What the notebook defined under this name; values refer to it by this function."""
    return sys.modules["__main__"].__dict__[name]


def _as_json(chunk: Chunk) -> dict[str, Any]:
    if isinstance(chunk, Value):
        return {"kind": "value", "name": chunk.name}
    return {"kind": "code", "file": chunk.file, "line": chunk.line, "source": chunk.source}


def _from_json(entry: Mapping[str, Any]) -> Chunk:
    if entry["kind"] == "value":
        return Value(entry["name"])
    return Code(entry["file"], entry["line"], entry["source"])


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
