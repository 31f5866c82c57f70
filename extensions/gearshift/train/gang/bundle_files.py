"""The file side of a bundle, unpacked by the submitter's own process: modules to import, prebuilt operators."""

from __future__ import annotations

import errno
import shutil
import zipfile
from pathlib import Path, PurePosixPath

from gearshift.train.gang.order import Order

FILES = "files/"


def prepare(order: Order) -> None:
    """Lay out `code/` (the bundle's files) and `extensions/` (a writable copy of what was built once)."""
    order.checkpoints.mkdir(parents=True, exist_ok=True)
    unpack(order.bundle, order.out / "code")
    if order.extensions and Path(order.extensions).is_dir() and not (order.out / "extensions").exists():
        shutil.copytree(order.extensions, order.out / "extensions", copy_function=shutil.copy2)


def tidy(order: Order) -> None:
    """The copy of the operators is of no use to anybody afterwards."""
    shutil.rmtree(order.out / "extensions", ignore_errors=True)


def unpack(bundle: Path, target: Path) -> None:
    """The files of the bundle below `target`, and nothing anywhere else."""
    target.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(bundle) as archive:
            for entry in archive.infolist():
                if entry.filename.startswith(FILES) and not entry.is_dir():
                    path = target.joinpath(*_inside(entry.filename.removeprefix(FILES)))
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.read(entry))
    except zipfile.BadZipFile as error:
        raise OSError(errno.EINVAL, "this is no bundle", str(bundle)) from error


def _inside(name: str) -> tuple[str, ...]:
    parts = PurePosixPath(name).parts
    if not parts or any(part in ("..", "/", "") or "\0" in part for part in parts):
        raise OSError(errno.EINVAL, "a path in the bundle leads outside", name)
    return parts
