"""From the file to a Deployment: each table is read for itself, so that all problems are told at once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from gearshift.model.image import Image
from gearshift.model.problems import Problem, nearest, problems
from pydantic import BaseModel, ValidationError

from gearshift_hub.deployment import catalog_images
from gearshift_hub.deployment.checks import check
from gearshift_hub.deployment.model import DeclaredPool, Deployment, TeamTable
from gearshift_hub.deployment.tables import STAND_IN, ImageTable, MachineTable

T = TypeVar("T", bound=BaseModel)

_LISTS: dict[str, type[BaseModel]] = {
    "pools": DeclaredPool,
    "machines": MachineTable,
    "images": ImageTable,
    "teams": TeamTable,
}
_MAY_BE_NONE = ("teams",)
_TABLES: dict[str, type[BaseModel]] = {
    name: field.annotation
    for name, field in Deployment.model_fields.items()
    if name not in _LISTS and isinstance(field.annotation, type)
}


class DeploymentError(Exception):
    """The deployment file was refused; `problems` are all reasons, each with key, value, what is allowed, remedy."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__("\n".join([f"{source} has {count}:", *(f"  {problem}" for problem in problems)]))


def load(path: Path | str) -> Deployment:
    """The deployment that the file describes, or a DeploymentError."""
    source = Path(path)
    try:
        data = tomllib.loads(source.read_text("utf-8"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _refuse(source, f"it cannot be read: {reason}", "Name a file that is there.") from error
    except UnicodeDecodeError as error:
        raise _refuse(source, "it is not UTF-8 text", "Save it as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise _refuse(source, f"it is not TOML: {error}", "Correct this line.") from error
    return from_data(data, str(source))


def from_data(data: Mapping[str, Any], source: str = "deployment") -> Deployment:
    """The deployment that this data describes, or a DeploymentError that lists all problems."""
    found = [*_unknown(data)]
    data = catalog_images.filled(data, found)
    tables = {name: _table(name, model, data, found) for name, model in _TABLES.items()}
    lists = {name: _list(name, model, data, found) for name, model in _LISTS.items()}
    found += check(data, tables, lists)
    if found:
        raise DeploymentError(source, found)
    return _deployment({**tables, "backend": data.get("backend", "local")}, lists)


def _deployment(tables: Mapping[str, Any], lists: Mapping[str, Mapping[int, Any]]) -> Deployment:
    images = tuple(Image(**table.model_dump()) for table in lists["images"].values())
    pools = tuple(lists["pools"].values())
    simulated = {pool.id for pool in pools if pool.simulated}
    least = {image.id: image.minimum_memory_bytes for image in images}
    return Deployment(
        **tables,
        pools=pools,
        images=images,
        teams=tuple(lists["teams"].values()),
        machines=tuple(table.machine(least, table.pool in simulated) for table in lists["machines"].values()),
    )


def _unknown(data: Mapping[str, Any]) -> list[Problem]:
    known = [*_TABLES, *_LISTS, "backend", catalog_images.APPS]
    found: list[Problem] = []
    for key in data:
        if key not in known:
            hint = nearest(key, known)
            remedy = f"Did you mean {hint!r}?" if hint else "Remove it."
            found.append(Problem(key=key, because="unknown table", allowed=tuple(known), remedy=remedy))
    return found


def _table(name: str, model: type[T], data: Mapping[str, Any], found: list[Problem]) -> T:
    """The table; where it is wrong, its defaults, so that the other checks can go on."""
    return _read(model, data.get(name, {}), name, found) or model()


def _list(name: str, model: type[T], data: Mapping[str, Any], found: list[Problem]) -> dict[int, T]:
    """The entries of `[[name]]` by their place in the file."""
    raw = data.get(name, [])
    if raw == [] and name in _MAY_BE_NONE:
        return {}
    if not isinstance(raw, list) or not raw:
        because = "it is not a list of tables" if raw else "there is none"
        found.append(Problem(key=name, because=because, remedy=f"Write at least one [[{name}]] table."))
        return {}
    read = {place: _read(model, entry, f"{name}[{place}]", found) for place, entry in enumerate(raw)}
    return {place: entry for place, entry in read.items() if entry is not None}


def _read(model: type[T], raw: Any, key: str, found: list[Problem]) -> T | None:
    """The model; what is wrong goes into `found`, and the checks see the model with a stand-in there."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        found += problems(error, model, key)
        if not isinstance(raw, dict):
            return None
        wrong = {fault["loc"][0] for fault in error.errors() if fault["loc"]}
        sound = {name: value for name, value in raw.items() if name not in wrong}
        return model.model_validate({**STAND_IN.get(model, {}), **sound})


def _refuse(source: Path, because: str, remedy: str) -> DeploymentError:
    return DeploymentError(str(source), [Problem(key=source.name, because=because, remedy=remedy)])
