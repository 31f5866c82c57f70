"""Paths that must stay below a root: resolved with their links and compared by parts, never by prefix.

`resolve_within` answers "which path is meant?" for display and for paths nobody else can change.
`open_within` answers it with an open descriptor, walking part by part from the root, so that a link swapped
between check and use changes nothing: what was checked is what is open.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from gearshift.model.errors import GearshiftError, fail

MAX_LINKS = 40
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def parts_of(requested: str) -> tuple[str, ...]:
    """Split a requested path into its names; refuse what climbs, is absolute, holds NUL or hides either."""
    if "\0" in requested or "\\" in requested or requested.startswith("/"):
        raise _refused(requested)
    names = tuple(name for name in requested.split("/") if name not in ("", "."))
    if any(_climbs(name) for name in names):
        raise _refused(requested)
    return names


def is_within(root: Path, path: Path) -> bool:
    """Whether `path` (already resolved) is the root or below it, compared by parts; `/` holds everything."""
    return path.parts[: len(root.parts)] == root.parts


def resolve_within(root: Path, requested: str) -> Path:
    """The real path meant by `requested` below `root`, links resolved; `bad_path` when it leads outside."""
    top = root.resolve()
    found = top.joinpath(*parts_of(requested)).resolve()
    if not is_within(top, found):
        raise _refused(requested)
    return found


@contextmanager
def open_within(root: Path, requested: str, flags: int = os.O_RDONLY) -> Iterator[int]:
    """A descriptor of what `requested` names below `root`; links that stay inside are followed."""
    top = root.resolve()
    with ExitStack() as held:
        descriptor = _walk(top, list(parts_of(requested)), flags, held, requested)
        yield descriptor


def _walk(top: Path, todo: list[str], flags: int, held: ExitStack, requested: str) -> int:
    """Open part by part; `held` closes every descriptor at the end, `chain` is the way back for `..`."""
    chain = [_hold(held, os.open(top, FOLDER))]
    links = 0
    while todo:
        name = todo.pop(0)
        if name == "..":
            if len(chain) == 1:
                raise _refused(requested)
            chain.pop()
            continue
        target = _link_target(name, chain[-1])
        if target is None:
            opened = _hold(held, _open(name, chain[-1], FOLDER if todo else flags))
            if not todo:
                return opened
            chain.append(opened)
            continue
        links += 1
        if links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), requested)
        if target.is_absolute():
            target = _inside(top, target, requested)
            del chain[1:]
        todo[:0] = [part for part in target.parts if part != "."]
    return _hold(held, _open(".", chain[-1], flags))


def _link_target(name: str, folder: int) -> PurePosixPath | None:
    try:
        return PurePosixPath(os.readlink(name, dir_fd=folder))
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise


def _open(name: str, folder: int, flags: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600, dir_fd=folder)


def _inside(top: Path, target: PurePosixPath, requested: str) -> PurePosixPath:
    if ".." in target.parts or target.parts[: len(top.parts)] != top.parts:
        raise _refused(requested)
    return PurePosixPath(*target.parts[len(top.parts) :])


def _hold(held: ExitStack, descriptor: int) -> int:
    held.callback(os.close, descriptor)
    return descriptor


def _climbs(name: str) -> bool:
    """Whether a name climbs, now or once somebody decodes its percent signs."""
    plain = unquote(name)
    return plain in ("", ".", "..") or "/" in plain or "\\" in plain or "\0" in plain


def _refused(requested: str) -> GearshiftError:
    return fail("bad_path", field="path", value=requested, root="this folder")
