"""The declarations of images: `images/catalog.toml`, a folder each, and the lock that gives an image its digest."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from gearshift.model.image import Image, Runtime
from gearshift.model.record import Input, Text
from pydantic import Field, ValidationError

from gearshift_hub import data
from gearshift_hub.images import apps, locks
from gearshift_hub.images.apps import AppDeclaration

log = logging.getLogger(__name__)

LOCK_SUFFIX = ".lock"
REQUIREMENTS = "requirements.in"
APP_BASE = "base"
"""What every app builds on, so that kernels run in its environment too."""


class RuntimeTable(Input):
    """What is the same for all images of one kind of chip."""

    base_image: str
    torch: str
    torch_index: str
    chips: tuple[str, ...]
    minimum_driver: str = ""
    needs: Text | None = None
    """What a box must have to lock and build it; nothing where any box can."""


class Declaration(Input):
    """One image, for each of its runtimes."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    parent: str | None = None
    title: Text
    subtitle: Text
    runtimes: Annotated[tuple[Runtime, ...], Field(min_length=1)]
    main: tuple[str, ...]
    """Packages that the card names, with the versions of the lock."""
    torch: bool = False
    licence: str
    size_bytes: int | None = None
    """Of the environment for cpu, as measured."""
    prebuilt: tuple[str, ...] = ()
    deprecated: str | None = None
    """The day after which no workspace should begin with it."""
    service: bool = False


class CatalogFile(Input):
    """The file whole."""

    runtimes: Mapping[Runtime, RuntimeTable]
    images: tuple[dict[str, Any], ...]
    """Each is read for itself, so that a faulty one does not take the others along."""


@dataclass(frozen=True)
class Variant:
    """An image for one runtime: what is locked, built and started."""

    declaration: Declaration
    runtime: Runtime
    table: RuntimeTable
    folder: Path
    chain: tuple[Path, ...]
    """The requirements of the images it builds on, outermost first, then its own."""
    app: AppDeclaration | None = None
    """Its packages come after the chain."""

    @property
    def name(self) -> str:
        plain = self.runtime is Runtime.CPU
        return self.declaration.id if plain else f"{self.declaration.id}-{self.runtime.value}"

    @property
    def lock(self) -> Path:
        if self.app is not None:
            return self.folder / f"{self.app.id}{LOCK_SUFFIX}"
        return self.folder / f"{self.runtime.value}{LOCK_SUFFIX}"

    @property
    def torch(self) -> str | None:
        return self.table.torch if self.declaration.torch else None

    @property
    def asked(self) -> tuple[str, ...]:
        """What is asked for beyond the requirements of the chain."""
        torch = (self.torch,) if self.torch else ()
        return (*torch, *(self.app.packages if self.app else ()))

    @property
    def needs(self) -> Text | None:
        """What a box must have to lock and build it; nothing where any box can."""
        return self.app.check.needs if self.app else self.table.needs

    @property
    def digest(self) -> str:
        """Of its lock; empty where it is only declared."""
        return locks.digest(self.lock) if self.lock.exists() else ""

    def card(self, python: str) -> dict[str, Any]:
        """The fields of an `Image` that the declaration decides."""
        pinned = locks.packages(self.lock) if self.lock.exists() else {}
        torch = dict([self.torch.split("==")]) if self.torch else {}
        versions = {
            name: version for name in self.declaration.main if (version := (pinned | torch).get(name))
        }
        return {
            "title": self.declaration.title,
            "subtitle": self.declaration.subtitle,
            "runtime": self.runtime,
            "python": python,
            "packages": self.declaration.main,
            "versions": versions,
            "locked": self.digest,
            "chips": self.app.chips if self.app else self.table.chips,
            "minimum_driver": self.table.minimum_driver,
            "licence": self.declaration.licence,
            "prebuilt": self.declaration.prebuilt,
            "size_bytes": self.declaration.size_bytes if self.runtime is Runtime.CPU else None,
            "deprecated": self.declaration.deprecated,
            "needs": self.needs,
            "app": self.app.app() if self.app else None,
            "minimum_memory_bytes": self.app.minimum_memory_bytes if self.app else 0,
        }


class Catalog:
    """All declarations, by id and runtime."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or data.path("images")
        file = CatalogFile.model_validate(tomllib.loads((self.folder / "catalog.toml").read_text("utf-8")))
        self._runtimes = file.runtimes
        self._by_id, faulty = _declarations(file.images, self.folder, file.runtimes)
        self.apps, faulty_apps = apps.read(self.folder)
        if APP_BASE not in self._by_id:
            faulty_apps |= {id: f"apps/{id}.toml: the image {APP_BASE!r} is left out" for id in self.apps}
            self.apps = {}
        self.faults = faulty | faulty_apps
        """Name -> what is wrong with a declaration; it is left out, and the others are there."""
        for fault in self.faults.values():
            log.warning("A declaration is left out. %s", fault)

    @property
    def ids(self) -> tuple[str, ...]:
        """Images that a workspace can have."""
        return tuple(id for id, one in self._by_id.items() if not one.service)

    def declaration(self, id: str) -> Declaration | None:
        return self._by_id.get(id)

    def variant(self, id: str, runtime: Runtime = Runtime.CPU) -> Variant | None:
        """None where there is no such image, or not for this runtime."""
        found = self._by_id.get(id)
        if found is None or runtime not in found.runtimes:
            return None
        return Variant(found, runtime, self._runtimes[runtime], self.folder / id, self._chain(found))

    def variants(self) -> list[Variant]:
        """All that workspaces and jobs can have, in the order of the file."""
        pairs = [(id, runtime) for id in self.ids for runtime in self._by_id[id].runtimes]
        return [found for id, runtime in pairs if (found := self.variant(id, runtime))]

    def named(self, name: str) -> Variant | None:
        """By the name that `Variant.name` gives it."""
        return next((one for one in self.variants() if one.name == name), None) or self.app(name)

    def app(self, id: str) -> Variant | None:
        """An app as the image that it is: `base` and its own packages."""
        found = self.apps.get(id)
        if found is None:
            return None
        declared = Declaration(
            id=id,
            title=found.title,
            subtitle=found.about,
            runtimes=(Runtime.CPU,),
            main=found.main,
            licence=found.licence,
        )
        table = self._runtimes[Runtime.CPU]
        chain = self._chain(self._by_id[APP_BASE])
        return Variant(declared, Runtime.CPU, table, self.folder / apps.FOLDER, chain, found)

    def _chain(self, declaration: Declaration) -> tuple[Path, ...]:
        above = self._chain(self._by_id[declaration.parent]) if declaration.parent else ()
        return (*above, self.folder / declaration.id / REQUIREMENTS)


def _declarations(
    entries: tuple[dict[str, Any], ...], folder: Path, runtimes: Mapping[Runtime, RuntimeTable]
) -> tuple[dict[str, Declaration], dict[str, str]]:
    """The images that are whole, in the order of the file; an image stands before those that build on it."""
    found: dict[str, Declaration] = {}
    faults: dict[str, str] = {}
    for place, entry in enumerate(entries):
        name = str(entry.get("id", f"images[{place}]"))
        try:
            declared = Declaration.model_validate(entry)
        except ValidationError as error:
            faults[name] = f"catalog.toml: {name}: {apps.first_of(error)}"
            continue
        if wrong := _lacks(declared, found, folder, runtimes):
            faults[name] = f"catalog.toml: {name}: {wrong}"
        else:
            found[declared.id] = declared
    return found, faults


def _lacks(
    declared: Declaration,
    found: Mapping[str, Declaration],
    folder: Path,
    runtimes: Mapping[Runtime, RuntimeTable],
) -> str:
    """What it names that is not there; empty where all is."""
    if declared.id in found:
        return "id: it is declared twice"
    if declared.parent and declared.parent not in found:
        return f"parent: {declared.parent!r} is not declared above it, or is left out"
    if unknown := [one.value for one in declared.runtimes if one not in runtimes]:
        return f"runtimes: no table says what {unknown[0]!r} is"
    if not declared.service and not (folder / declared.id / REQUIREMENTS).exists():
        return f"{declared.id}/{REQUIREMENTS} is not there"
    return ""


def image(variant: Variant, id: str, python: str, pinned: str | None = None) -> Image:
    """The image as a deployment offers it; without a pin what this Gearshift ships is meant."""
    card = variant.card(python)
    return Image(id=id, catalog=variant.name, digest=pinned or card["locked"], **card)
