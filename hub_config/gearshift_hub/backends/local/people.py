"""People on this box: a uid and a home folder each. A home is made once, with what its owner first finds in it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from gearshift.model.launch import Person

from gearshift_hub import data
from gearshift_hub.paths import Home

from . import names

TUTORIAL = "01-first-drive.ipynb"
LOWEST_UID = 1000
"""Below it are the box's own accounts; nobody's code ever runs as one of them."""


class HomeNotTheirs(Exception):
    """The home folder exists and belongs to another uid."""


def ensure(home: Home, name: str, slug: str, uid: int) -> Person:
    """The person, with a home folder and a name for the uid. Not root: everything runs as ourselves.

    An existing home is left as it is: its owner may have put links in it.
    """
    root = os.geteuid() == 0
    uid, gid = (uid, uid) if root else (os.geteuid(), os.getegid())
    person = Person(name=name, slug=slug, uid=uid, gid=gid, home=str(home.homes / slug))
    if root and uid < LOWEST_UID:
        raise ValueError(f"uid {uid}: people have uids from {LOWEST_UID} on")
    _make_home(Path(person.home), person)
    if root:
        names.publish(home, names.Account(names.login(slug, uid), name, person.uid, person.gid, person.home))
    return person


def _make_home(folder: Path, person: Person) -> None:
    """Whole or not at all: filled under another name, given away, then renamed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        if folder.stat().st_uid != person.uid:
            raise HomeNotTheirs(f"{folder} belongs to uid {folder.stat().st_uid}, not {person.uid}")
        return
    draft = Path(tempfile.mkdtemp(prefix=f".{person.slug[:32]}.", dir=folder.parent))
    try:
        _fill(draft, person)
        _give(draft, person)
        draft.rename(folder)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        if not folder.exists():
            raise


def _fill(folder: Path, person: Person) -> None:
    git_name = " ".join(person.name.split()).replace('"', "").replace("\\", "")
    (folder / ".gitconfig").write_text(f'[user]\n\tname = "{git_name}"\n\temail = {person.slug}@localhost\n')
    shutil.copyfile(data.path("notebooks") / TUTORIAL, folder / "first-drive.ipynb")


def _give(folder: Path, person: Person) -> None:
    for entry in folder.iterdir():
        entry.chmod(0o600)
        os.chown(entry, person.uid, person.gid)
    folder.chmod(0o700)
    os.chown(folder, person.uid, person.gid)


def workspace_folders(home: Home, person: Person, short: str) -> tuple[Path, Path]:
    """Where a workspace's trees keep sockets (ours, a folder of theirs for each tree), and its kernel state."""
    runtime, state = home.runtime / short, home.kernels / short
    runtime.mkdir(mode=0o711, parents=True, exist_ok=True)
    runtime.chmod(0o711)
    if not state.exists():
        state.mkdir(mode=0o700, parents=True)
        os.chown(state, person.uid, person.gid)
    return runtime, state


def bin_home(home: Home, slug: str, stamp: str) -> None:
    """Put a deleted person's home where only we can enter it; a home that is not there is success."""
    folder, bin_folder = home.homes / slug, home.state / "bin"
    bin_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.exists():
        folder.rename(bin_folder / f"{slug}-{stamp}")
