"""The declarations of apps, `images/apps/*.toml`: an image that starts one program and shows it in the browser."""

from __future__ import annotations

import string
import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from gearshift.model.app import App
from gearshift.model.record import Input, Text
from gearshift.model.units import parse_bytes
from pydantic import BeforeValidator, Field, ValidationError, model_validator

FOLDER = "apps"
PLACES = {"port", "socket", "base", "starter"}
Memory = Annotated[int, BeforeValidator(parse_bytes), Field(gt=0)]


class Check(Input):
    """How far it was seen to work; a card claims no more."""

    how: Literal["launched", "resolved", "declared"]
    on: date | None = None
    """When it was launched or resolved."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Of what was launched; a lock with others is a claim that nobody saw."""
    needs: Text | None = None
    """What it lacks here, where it is only declared."""

    @model_validator(mode="after")
    def _says_what_it_must(self) -> Check:
        if self.how == "declared" and self.needs is None:
            raise ValueError("a declared app says what it needs")
        if self.how != "declared" and self.on is None:
            raise ValueError("say on which day it was seen")
        if (self.how == "launched") != bool(self.versions):
            raise ValueError("versions belong to a launched app, and to no other")
        return self


class AppDeclaration(Input):
    """One file."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    title: Text
    about: Text
    packages: tuple[str, ...] = ()
    main: tuple[str, ...] = ()
    """Packages whose versions the card names."""
    command: tuple[str, ...] = ()
    listens: Literal["socket", "port"] = "port"
    sees_base: bool = True
    ready: Annotated[str, Field(pattern="^/")] = "/"
    starter: str = ""
    starter_name: str = "app.py"
    env: dict[str, str] = Field(default_factory=dict)
    chips: tuple[str, ...] = ("any",)
    minimum_memory_bytes: Memory = Field(alias="minimum_memory")
    licence: str
    home_page: Annotated[str, Field(pattern="^https://")]
    check: Check

    @model_validator(mode="after")
    def _can_be_started(self) -> AppDeclaration:
        if self.check.how == "declared":
            return self
        if not (self.packages and self.main and self.command):
            raise ValueError("an app that is not only declared has packages, main and a command")
        words = [*self.command, *self.env.values()]
        named = {name for word in words for _, name, _, _ in string.Formatter().parse(word) if name}
        if named - PLACES:
            raise ValueError(f"unknown place {{{min(named - PLACES)}}}")
        if self.listens not in named:
            raise ValueError(f"its command never says {{{self.listens}}}")
        return self

    @property
    def is_locked(self) -> bool:
        """It has a lock beside it."""
        return self.check.how != "declared"

    def app(self) -> App:
        return App(**{name: getattr(self, name) for name in App.model_fields})


class AppError(Exception):
    """A declaration that is wrong; the text names file and key."""


def read(folder: Path) -> tuple[dict[str, AppDeclaration], dict[str, str]]:
    """All declarations by id, and what is wrong with the others by the name of their file."""
    found: dict[str, AppDeclaration] = {}
    faults: dict[str, str] = {}
    for file in sorted((folder / FOLDER).glob("*.toml")):
        try:
            found[file.stem] = _read(file)
        except AppError as error:
            faults[file.stem] = f"apps/{error}"
    return found, faults


def _read(file: Path) -> AppDeclaration:
    try:
        raw: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))
        declared = AppDeclaration.model_validate(raw)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AppError(f"{file.name}: it is not TOML: {error}") from error
    except ValidationError as error:
        raise AppError(f"{file.name}: {first_of(error)}") from error
    if declared.id != file.stem:
        raise AppError(f"{file.name}: id: it must be {file.stem!r}, the name of the file")
    return declared


def first_of(error: ValidationError) -> str:
    """The first complaint, with the path of its key."""
    first = error.errors()[0]
    path = ".".join(map(str, first["loc"]))
    return f"{path}: {first['msg']}" if path else str(first["msg"])
