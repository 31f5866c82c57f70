"""Why a start is refused, in one sentence with a way on; and OSErrors put into such sentences."""

from __future__ import annotations

import errno
from pathlib import Path


class CannotStart(Exception):
    """Nothing was started, or all of it has been ended again; the text is for the person at the terminal."""


def about_folder(folder: Path, error: OSError) -> CannotStart:
    """What is wrong with the deployment's folder."""
    other = "Choose another folder with --home or GEARSHIFT_HOME."
    if error.errno == errno.ENOSPC:
        return CannotStart(
            f"The disk of {folder} is full. Free some space, or choose another folder with --home."
        )
    if error.errno == errno.EROFS:
        return CannotStart(f"{folder} is on a read-only file system. {other}")
    if error.errno in (errno.EACCES, errno.EPERM):
        return CannotStart(f"{folder} cannot be written by this user. {other}")
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return CannotStart(f"{folder} is not a folder. {other}")
    return CannotStart(f"{folder} cannot be used: {(error.strerror or str(error)).lower()}. {other}")


def about_port(host: str, port: int, error: OSError, holder: str | None) -> CannotStart:
    """What is wrong with a port."""
    way_on = "Choose another with --port, or in [server] of the deployment file."
    if error.errno == errno.EADDRINUSE:
        by = f" by {holder}" if holder else ""
        return CannotStart(f"Port {port} on {host} is in use{by}. {way_on}")
    if error.errno == errno.EACCES:
        return CannotStart(f"Port {port} needs more rights than this user has. {way_on}")
    return CannotStart(
        f"{host}:{port} cannot be listened on: {(error.strerror or str(error)).lower()}. {way_on}"
    )
