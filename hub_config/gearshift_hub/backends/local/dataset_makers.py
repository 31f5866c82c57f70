"""How the files of a data set are made from what an installed package carries: copied, or rewritten as plain CSV."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from gearshift.model.dataset import Card
from gearshift.model.errors import fail
from gearshift.model.record import Input
from pydantic import Field

from gearshift_hub.backends.local.paths_within import resolve_within

Made = Iterator[tuple[str, bytes]]
"""Path below the data set's folder, and content."""


class TableRecipe(Input):
    """Keys of `[source]` that the maker `table` reads."""

    columns: tuple[str, ...]
    skip_lines: int = 0
    labels: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Column -> names that stand for its codes 0, 1, 2 …"""


def make(card: Card) -> Made:
    """The files of this card, one after the other; `data_failed` when the package cannot give them."""
    maker = MAKERS.get(card.source.maker or "copy")
    if maker is None:
        raise fail("data_failed", cause=f"unknown maker {card.source.maker!r}", value=card.id)
    return maker(card)


def readme(card: Card) -> str:
    """What lies beside the files for somebody who opens the folder by hand."""
    files = "\n".join(f"- `{file.path}`: {file.bytes:,} bytes, sha256 `{file.sha256}`" for file in card.files)
    source = f"{card.source.package} {card.source.version}"
    count = f"\nSamples: {card.samples:,}  " if card.samples is not None else ""
    home = f"\nHomepage: {card.homepage}  " if card.homepage else ""
    return (
        f"# {card.title.en} · {card.title.zh}\n\n{card.description.en}\n\n{card.description.zh}\n\n"
        f"Licence: {card.licence} ({card.licence_url})  {home}{count}\n"
        f"Taken from the package {source}. Read-only, shared by everybody here.\n\n{files}\n"
    )


def _copy(card: Card) -> Made:
    for name in card.source.files:
        yield PurePosixPath(name).name, _packaged(card, name)


def _table(card: Card) -> Made:
    recipe = TableRecipe.model_validate(card.source.model_extra or {})
    for name, file in zip(card.source.files, card.files, strict=True):
        content = _packaged(card, name)
        if name.endswith(".gz"):
            content = gzip.decompress(content)
        yield file.path, _rewritten(content.decode("utf-8"), recipe).encode("utf-8")


MAKERS: Mapping[str, Callable[[Card], Made]] = MappingProxyType({"copy": _copy, "table": _table})


def _rewritten(text: str, recipe: TableRecipe) -> str:
    """The same rows under a header of names, codes replaced by the words they stand for."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    write.writerow(recipe.columns)
    words = {recipe.columns.index(column): names for column, names in recipe.labels.items()}
    for row in csv.reader(text.splitlines()[recipe.skip_lines :]):
        write.writerow(
            [words[place][int(cell)] if place in words else cell for place, cell in enumerate(row)]
        )
    return out.getvalue()


def _packaged(card: Card, name: str) -> bytes:
    """A file as the installed package carries it; nothing of the package is imported."""
    try:
        root = Path(str(metadata.distribution(card.source.package).locate_file("")))
        return resolve_within(root, name).read_bytes()
    except metadata.PackageNotFoundError as error:
        raise fail("data_failed", cause=f"{card.source.package} is not installed", value=card.id) from error
    except OSError as error:
        raise fail("data_failed", cause=f"{name}: {error.strerror}", value=card.id) from error
