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

APPS = "apps"
"""A list of apps, each offered as an image on all machines with the memory for it."""
WRITTEN = ("id", "catalog", "digest")
"""All that may be said of an image of the catalog."""
DERIVED = tuple(
    name
    for name in Image.model_fields
    if name not in ("id", "title", "subtitle", "runtime", "python", "packages", "digest")
)
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def filled(data: Mapping[str, Any], found: list[Problem]) -> dict[str, Any]:
    """The file's data with every image whole and every app an image; what is wrong goes into `found`."""
    raw = data.get("images")
    if not isinstance(raw, list):
        return dict(data)
    images = [_filled(entry, f"images[{place}]", found) for place, entry in enumerate(raw)]
    apps = _apps(data.get(APPS, []), found)
    machines = data.get("machines")
    if apps and isinstance(machines, list):
        data = {
            **data,
            "machines": [_with_apps(machine, [one["id"] for one in apps]) for machine in machines],
        }
    return {**data, "images": [*images, *apps]}


def _apps(raw: Any, found: list[Problem]) -> list[dict[str, Any]]:
    """The images that `apps = [...]` stands for."""
    if not isinstance(raw, list):
        found.append(
            Problem(key=APPS, value=raw, because="it is not a list", remedy="Write a list of names.")
        )
        return []
    made = []
    for place, id in enumerate(raw):
        if isinstance(id, str) and id in _catalog().faults:
            continue  # the catalog has warned of it; the other apps and the deployment are well without it
        variant = _catalog().app(id) if isinstance(id, str) else None
        if variant is None:
            found.append(_no_such_app(f"{APPS}[{place}]", str(id)))
        else:
            made.append(image(variant, id, python_version()).model_dump())
    return made


def _with_apps(machine: Any, apps: list[str]) -> Any:
    """A machine that lists its images runs the apps too, where it has the memory."""
    if not isinstance(machine, dict) or not isinstance(machine.get("images"), list):
        return machine
    return {**machine, "images": [*machine["images"], *apps]}


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
    because = _catalog().faults.get(named, "the catalog declares no image of this name")
    return Problem(key=key, value=named, because=because, allowed=tuple(names), remedy=remedy)


def _no_such_app(key: str, named: str) -> Problem:
    names = tuple(_catalog().apps)
    hint = nearest(named, names)
    remedy = f"Did you mean {hint!r}?" if hint else "`gearshift image ls` lists them."
    return Problem(
        key=key, value=named, because="no app of this name is declared", allowed=names, remedy=remedy
    )


def _stand_in(named: str) -> dict[str, Any]:
    """Something that raises no second complaint."""
    text = {"en": named, "zh": named}
    return {"title": text, "subtitle": text, "runtime": "cpu", "python": python_version()}
