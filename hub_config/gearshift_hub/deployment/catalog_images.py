"""`[[images]]` tables that name a declaration of the catalog: what the declaration knows is put in, a digest is checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gearshift.model.image import Image
from gearshift.model.problems import Problem, nearest

from gearshift_hub.images.catalog import Catalog, image
from gearshift_hub.images.environments import python_version

WRITTEN = ("id", "catalog", "digest")
"""All that may be said of an image of the catalog."""
DERIVED = tuple(
    name
    for name in Image.model_fields
    if name not in ("id", "title", "subtitle", "runtime", "python", "packages", "digest")
)
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def filled(data: Mapping[str, Any], found: list[Problem]) -> dict[str, Any]:
    """The file's data with every image whole; what is wrong goes into `found`."""
    raw = data.get("images")
    if not isinstance(raw, list):
        return dict(data)
    return {**data, "images": [_filled(entry, f"images[{place}]", found) for place, entry in enumerate(raw)]}


def _filled(entry: Any, key: str, found: list[Problem]) -> Any:
    if not isinstance(entry, dict):
        return entry
    if "catalog" not in entry:
        found += [_unknown(f"{key}.{name}") for name in DERIVED if name in entry]
        return {name: value for name, value in entry.items() if name not in DERIVED}
    found += [_unknown(f"{key}.{name}", WRITTEN) for name in entry if name not in WRITTEN]
    named, id = str(entry["catalog"]), entry.get("id", entry["catalog"])
    variant = _catalog().named(named)
    if variant is None:
        found.append(_no_such(f"{key}.catalog", named))
        return {**_stand_in(named), "id": id}
    digest = entry.get("digest")
    if digest is not None and not (isinstance(digest, str) and DIGEST.fullmatch(digest)):
        because = "it is not `sha256:` and 64 hexadecimal digits"
        remedy = f"`gearshift image pin {named}` prints the line."
        found.append(Problem(key=f"{key}.digest", value=digest, because=because, remedy=remedy))
        digest = None
    return image(variant, "unread", python_version(), digest).model_dump() | {"id": id}


@lru_cache(maxsize=1)
def _catalog() -> Catalog:
    return Catalog()


def _unknown(key: str, allowed: tuple[str, ...] = ()) -> Problem:
    return Problem(key=key, because="unknown key", allowed=allowed, remedy="Remove it.")


def _no_such(key: str, named: str) -> Problem:
    names = [one.name for one in _catalog().variants()]
    hint = nearest(named, names)
    remedy = f"Did you mean {hint!r}?" if hint else "`gearshift image ls` lists them."
    because = "the catalog declares no image of this name"
    return Problem(key=key, value=named, because=because, allowed=tuple(names), remedy=remedy)


def _stand_in(named: str) -> dict[str, Any]:
    """Something that raises no second complaint."""
    text = {"en": named, "zh": named}
    return {"title": text, "subtitle": text, "runtime": "cpu", "python": python_version()}
