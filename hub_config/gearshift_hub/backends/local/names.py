"""Names for uids. ssh, git over ssh and `whoami` refuse to work for a number without one (facts-box 1.1).

Where libnss-extrausers is installed and switched on in nsswitch.conf, its file gets a line per person; else
each tree sees a private /etc/passwd. The box's own account files are never touched.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gearshift_hub.paths import Home

from .isolation import Bind

EXTRAUSERS = Path("/var/lib/extrausers")
NSSWITCH = Path("/etc/nsswitch.conf")
LONGEST_LOGIN = 32


@dataclass(frozen=True)
class Account:
    """A line of a passwd file and of a group file."""

    login: str
    title: str
    uid: int
    gid: int
    home: str

    def passwd(self) -> str:
        title = "".join(" " if sign in ":,\r\n" else sign for sign in self.title).strip()
        return f"{self.login}:x:{self.uid}:{self.gid}:{title},,,:{self.home}:/bin/bash"

    def group(self) -> str:
        return f"{self.login}:x:{self.gid}:"


def login(slug: str, uid: int, files: Iterable[Path] = (Path("/etc/passwd"), EXTRAUSERS / "passwd")) -> str:
    """The slug, unless it is too long or is the name of another uid (a person called `daemon`)."""
    lines = [line.split(":") for path in files if path.exists() for line in path.read_text().splitlines()]
    taken = any(words[0] == slug and words[2] != str(uid) for words in lines if len(words) > 2)
    return slug if len(slug) <= LONGEST_LOGIN and not taken else f"u{uid}"


def extrausers_is_on(nsswitch: Path = NSSWITCH, folder: Path = EXTRAUSERS) -> bool:
    """Whether the box looks names up in the extra file. Not switched on by us: the file is the box's own."""
    try:
        lines = nsswitch.read_text().splitlines()
    except OSError:
        return False
    on = any(line.startswith("passwd:") and "extrausers" in line.split() for line in lines)
    return on and folder.is_dir() and os.access(folder, os.W_OK)


def publish(home: Home, account: Account) -> None:
    """Make the name known, to the whole box or in files that trees see as theirs."""
    if extrausers_is_on():
        write_accounts(EXTRAUSERS, [account], [])
    else:
        system = [Path("/etc/passwd"), Path("/etc/group")]
        folder = _private(home)
        folder.mkdir(mode=0o755, exist_ok=True)
        write_accounts(folder, [account], system)


def binds(home: Home) -> list[Bind]:
    """What a tree must see in place of the box's account files; nothing where those know the names."""
    if extrausers_is_on():
        return []
    files = [(_private(home) / name, f"/etc/{name}") for name in ("passwd", "group")]
    return [Bind(str(path), target, read_only=True) for path, target in files if path.exists()]


def write_accounts(folder: Path, accounts: Iterable[Account], system: list[Path]) -> None:
    """Add or replace accounts in the folder's passwd and group, each written whole and renamed.

    With `system` the files begin with the box's own lines as they are now.
    """
    accounts = list(accounts)
    with _locked(folder):
        for index, (name, lines) in enumerate(
            (("passwd", [a.passwd() for a in accounts]), ("group", [a.group() for a in accounts]))
        ):
            head = system[index].read_text().splitlines() if system else []
            _rewrite(folder / name, head, lines)


def _private(home: Home) -> Path:
    return home.run / "names"


def _rewrite(path: Path, head: list[str], lines: list[str]) -> None:
    gone = {line.split(":")[0] for line in [*head, *lines]} | {line.split(":")[2] for line in lines}
    old = path.read_text().splitlines() if path.exists() else []
    kept = [line for line in old if not gone & {line.split(":")[0], line.split(":")[2]}]
    text = "\n".join([*head, *kept, *lines]) + "\n"
    if path.exists() and path.read_text() == text:
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text)
    draft.chmod(0o644)
    draft.replace(path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / ".gearshift.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
