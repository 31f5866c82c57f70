"""Knows that a dataclass that holds a secret does not show it: a repr ends up in logs of other people's making."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Iterator

import gearshift
import gearshift_hub
from gearshift_hub.paths import Secrets

SECRET = re.compile(r"(^|_)(token|password|secret|ticket)$")
OWN_START = {"__main__", "migrations", "jupyterhub_config"}
"""Modules that act when they are imported."""


def dataclasses_of_ours() -> Iterator[type]:
    for package in (gearshift, gearshift_hub):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not OWN_START & set(found.name.split(".")):
                module = importlib.import_module(found.name)
                yield from (thing for thing in vars(module).values() if is_ours(thing, found.name))


def is_ours(thing: object, module: str) -> bool:
    return isinstance(thing, type) and dataclasses.is_dataclass(thing) and thing.__module__ == module


def test_no_dataclass_shows_a_secret() -> None:
    shown = [
        f"{kind.__module__}.{kind.__qualname__}.{field.name}"
        for kind in dataclasses_of_ours()
        if kind is not Secrets  # its repr is stars
        for field in dataclasses.fields(kind)
        if SECRET.search(field.name) and field.repr and str(field.type).startswith(("str", "bytes"))
    ]
    assert shown == []


def test_the_secrets_of_a_deployment_print_as_stars() -> None:
    fields = {field.name: f"value-of-{field.name}" for field in dataclasses.fields(Secrets)}
    assert "value-of" not in repr(Secrets(**fields))
