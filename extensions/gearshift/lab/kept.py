"""What may be loaded: a save of this owner's, of this workspace, whole, in its own place. All else is `state_refused`.

A save is data that becomes code when it is loaded. So it is believed only where our own key signed its list, the list
names this owner, this workspace and this very folder, and each file is the one that was listed, in no other place.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from pathlib import Path

from gearshift.lab import manifest
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.manifest import Manifest, SavedKernel
from gearshift.lab.own_file import NotOurs, opened
from gearshift.model.errors import GearshiftError, fail
from gearshift.state.container import HEADER, Reader, Refused


def file_name(kernel_id: str) -> str:
    return f"kernel-{kernel_id}.gsk"


def seal(path: Path) -> str:
    """Stands for the whole file: its first block holds the signature over everything in it."""
    with opened(path) as file:
        return hashlib.sha256(file.read(HEADER)).hexdigest()


def trusted(environment: LabEnvironment, state: str) -> Manifest:
    """The list of this kept state, checked but for the files' contents."""
    folder = manifest.folder_of(environment.state_dir, state)
    _check_place(folder, state)
    saved = manifest.read(folder, environment.state_key)
    if (saved.owner, saved.workspace) != (environment.owner, environment.workspace):
        raise refused(state, "it belongs to another workspace")
    if saved.operation != state:
        raise refused(state, "it was saved under another name")
    for kernel in saved.kernels:
        _check_file(folder, state, kernel)
    return saved


async def verify(environment: LabEnvironment, state: str) -> Manifest:
    """The same, and every byte of every file, before anything is touched."""
    saved = trusted(environment, state)
    folder = manifest.folder_of(environment.state_dir, state)
    for kernel in saved.kernels:
        if kernel.file is not None:
            await asyncio.to_thread(_read_through, folder / kernel.file, environment.state_key, state)
    return saved


def refused(state: str, cause: str) -> GearshiftError:
    return fail("state_refused", field="state", value=state, state=state, cause=cause)


def _check_place(folder: Path, state: str) -> None:
    """A link could lead to a shared disk, where others write; nothing is loaded from there."""
    try:
        facts = folder.lstat()
    except OSError:
        return  # reading the list says that there is none
    if not stat.S_ISDIR(facts.st_mode):
        raise refused(state, "its folder is a link, or no folder")
    if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
        raise refused(state, "others can write to its folder")


def _check_file(folder: Path, state: str, kernel: SavedKernel) -> None:
    if kernel.file is None:
        return
    if kernel.file != file_name(kernel.id):
        raise refused(state, "a file of it has a name that is none of ours")
    try:
        found = seal(folder / kernel.file)
    except NotOurs as error:
        raise refused(state, str(error)) from error
    if found != kernel.seal:
        raise refused(state, f"{kernel.file} is not the file that was saved")


def _read_through(path: Path, key: bytes, state: str) -> None:
    try:
        Reader(path, key)
    except Refused as error:
        raise refused(state, str(error)) from error
