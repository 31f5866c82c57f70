"""The folder of one save: a signed list of the kernels and sessions that were there, a file per kernel, two reports.

The list says whose it is and under which name it was saved; who loads it compares that (see `kept`).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gearshift.lab.own_file import NotOurs, opened
from gearshift.model import foreign_json
from gearshift.model.errors import GearshiftError, fail

KEPT_S = 7 * 24 * 3600.0
LARGEST = 16 << 20
FORMAT = 1
CHANGED = "the list of kernels was changed or cut short"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}\Z")


@dataclass(frozen=True)
class SavedSession:
    """A notebook or console on a kernel."""

    id: str
    path: str
    name: str
    type: str
    kernel_id: str


@dataclass(frozen=True)
class SavedKernel:
    """A kernel; `file` is None when its variables were not saved, else `seal` stands for the contents of the file.

    `rerun`: names whose cells its person wants to be run again."""

    id: str
    spec: str
    file: str | None
    seal: str | None = None
    rerun: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """What a restore brings back."""

    operation: str
    kernels: tuple[SavedKernel, ...]
    sessions: tuple[SavedSession, ...]
    owner: str = ""
    workspace: str = ""


def folder_of(state_dir: Path, operation: str) -> Path:
    """The folder of an operation; only plain names, so that no request reaches beside the state folder."""
    if not isinstance(operation, str) or not _NAME.match(operation):
        raise fail("bad_request", field="operation", value=operation, allowed=["an operation's id"])
    return state_dir / operation


def write(folder: Path, manifest: Manifest, key: bytes, *, durable: bool = True) -> None:
    body = json.dumps({"format": FORMAT, **asdict(manifest)}, sort_keys=True)
    signed = {"body": body, "signature": _sign(key, body)}
    write_json(folder / "manifest.json", signed, durable=durable)


def read(folder: Path, key: bytes) -> Manifest:
    """Raises `restore_failed` where there is none, `state_refused` where it was changed, cut short, or is not ours."""
    path = folder / "manifest.json"
    if not os.path.lexists(path):
        raise fail("restore_failed", machine="this machine", cause="nothing was saved under this operation")
    try:
        with opened(path) as file:
            raw = file.read(LARGEST)
    except NotOurs as error:
        raise _refused(folder.name, CHANGED) from error
    return parse(raw, key, folder.name)


def parse(raw: bytes, key: bytes, state: str) -> Manifest:
    """The list that these bytes are, by our own signature; `state_refused` for any other."""
    try:
        outer = foreign_json.read(raw)
        body, signature = str(outer["body"]), str(outer["signature"])
    except (ValueError, KeyError, TypeError) as error:
        raise _refused(state, CHANGED) from error
    if not hmac.compare_digest(signature.encode(), _sign(key, body).encode()):
        raise _refused(state, "the list of kernels was changed, or signed by somebody else")
    found = json.loads(body)
    kernels = tuple(
        SavedKernel(**{**kernel, "rerun": tuple(kernel.get("rerun", ()))}) for kernel in found["kernels"]
    )
    sessions = tuple(SavedSession(**session) for session in found["sessions"])
    return Manifest(found["operation"], kernels, sessions, found["owner"], found["workspace"])


def write_json(path: Path, body: dict[str, Any], *, durable: bool = True) -> None:
    """Whole or not at all, for its owner only."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(aside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        json.dump(body, file)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    aside.rename(path)


def forget_old(state_dir: Path, keep: str, now: float | None = None, kept_s: float = KEPT_S) -> None:
    """Saves older than they are kept go, except the one in hand."""
    limit = (time.time() if now is None else now) - kept_s
    for folder in state_dir.iterdir():
        is_save = folder.name != keep and (folder / "manifest.json").is_file() and not folder.is_symlink()
        if is_save and folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)


def _refused(state: str, cause: str) -> GearshiftError:
    return fail("state_refused", field="state", value=state, state=state, cause=cause)


def _sign(key: bytes, body: str) -> str:
    return hmac.new(key, body.encode(), hashlib.sha256).hexdigest()
