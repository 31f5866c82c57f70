"""Which processes a supervisor has started, written down so that a later one finds what a crash left over."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import IO

from gearshift_hub.backends.local import process_table
from gearshift_hub.paths import Home, write_private
from gearshift_hub.supervisor.trouble import CannotStart

POLITE_S = 10.0
KILLED_FIRST = "forkserver"
"""Its trees have keepers and outlive a KILL, so that the next fork server adopts them; a TERM would end them."""


def lock(home: Home) -> IO[str]:
    """The right to be this deployment's supervisor, held until the process ends."""
    file = home.lock.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as taken:
        file.seek(0)
        pid = file.read().strip() or "unknown"
        file.close()
        raise CannotStart(
            f"Gearshift already runs in {home.root} (process {pid}). "
            "Stop it with Ctrl-C there, or choose another folder with --home."
        ) from taken
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def record(home: Home, part: str, pid: int) -> None:
    """Write down a part the moment it exists."""
    process = process_table.read(pid)
    start = process.start if process else 0
    facts = {"part": part, "pid": pid, "start": start, "boot": process_table.boot_id()}
    write_private(_file(home, part), json.dumps(facts))


def forget(home: Home, part: str) -> None:
    _file(home, part).unlink(missing_ok=True)


def end_leftovers(home: Home) -> list[str]:
    """End the recorded parts of a supervisor that was killed; returns their names. Workspaces go on."""
    ended = []
    for file in sorted(home.run.glob("*.pid.json")):
        with suppress(OSError, ValueError, KeyError):
            facts = json.loads(file.read_text())
            if facts["boot"] == process_table.boot_id() and _end(facts["part"], facts["pid"], facts["start"]):
                ended.append(facts["part"])
        file.unlink(missing_ok=True)
    return ended


def _end(part: str, pid: int, start: int) -> bool:
    if not process_table.is_alive(pid, start):
        return False
    first = signal.SIGKILL if part == KILLED_FIRST else signal.SIGTERM
    process_table.send(pid, start, first)
    if not process_table.wait_for_end(pid, start, POLITE_S):
        process_table.send(pid, start, signal.SIGKILL)
        process_table.wait_for_end(pid, start, POLITE_S)
    return True


def _file(home: Home, part: str) -> Path:
    return home.run / f"{part}.pid.json"
