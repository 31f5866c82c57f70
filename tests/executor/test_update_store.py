"""What is kept of a shared document's changes: in the instant of the change, whole, and readable after a killed server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gearshift.lab.documents.change_log import ChangeLog
from gearshift.lab.documents.store import stored_document
from gearshift.lab.documents.update_store import MANY, UpdateStore
from jupyter_ydoc import YNotebook
from pycrdt import Doc, Text
from pycrdt.store import YDocNotFound

NAME = ".notebook:n1.y"


@pytest.fixture
def store(tmp_path: Path) -> UpdateStore:
    UpdateStore.folder = tmp_path
    return UpdateStore(NAME)


def typed(doc: Doc[Any], words: str) -> None:
    doc.get("words", type=Text).insert(len(doc.get("words", type=Text)), words)


def words(doc: Doc[Any]) -> str:
    return str(doc.get("words", type=Text))


async def again(store: UpdateStore) -> Doc[Any]:
    doc: Doc[Any] = Doc()
    await UpdateStore(NAME).apply_updates(doc)
    return doc


async def test_a_change_is_kept_when_it_has_happened(store: UpdateStore) -> None:
    """With no turn of the loop between: whoever is told of it by a task is told later."""
    doc: Doc[Any] = Doc()
    store.follow(doc)
    for so_far in ("one", "one two"):
        typed(doc, so_far.removeprefix(words(doc)))
        other: Doc[Any] = Doc()
        for _, change in ChangeLog(store.folder / NAME).read().changes:
            other.apply_update(change)
        assert words(other) == so_far


async def test_a_document_that_was_never_kept_is_not_found(store: UpdateStore) -> None:
    with pytest.raises(YDocNotFound):
        await store.apply_updates(Doc())
    assert await stored_document(store.folder, "notebook", "n1") is None


async def test_what_a_killed_server_wrote_half_is_taken_away_and_what_follows_is_read(
    store: UpdateStore,
) -> None:
    doc: Doc[Any] = Doc()
    store.follow(doc)
    typed(doc, "whole")
    file = store.folder / NAME
    size = file.stat().st_size
    typed(doc, " half")
    os.truncate(file, file.stat().st_size - 3)
    found = await again(store)
    assert (words(found), file.stat().st_size) == ("whole", size)
    UpdateStore(NAME).follow(found)
    typed(found, " more")
    assert words(await again(store)) == "whole more"


async def test_many_changes_are_put_together_when_a_document_is_opened(store: UpdateStore) -> None:
    doc: Doc[Any] = Doc()
    store.follow(doc)
    for _ in range(MANY + 1):
        typed(doc, "x")
    assert words(await again(store)) == "x" * (MANY + 1)
    assert len(ChangeLog(store.folder / NAME).read().changes) == 1
    typed(doc, "y")
    assert words(await again(store)).endswith("xy")


async def test_a_notebook_is_read_from_the_store_without_a_room(store: UpdateStore) -> None:
    notebook = YNotebook()
    store.follow(notebook.ydoc)
    notebook.append_cell({"cell_type": "code", "source": "a = 1", "metadata": {}, "outputs": [], "id": "c"})
    notebook.hash = "h1"
    found = await stored_document(store.folder, "notebook", "n1")
    assert found is not None
    assert (found.hash, found.content["cells"][0]["source"]) == ("h1", "a = 1")


FULL = """
import resource, sys
from pathlib import Path
from gearshift.lab.documents.change_log import ChangeLog
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = ChangeLog(Path(sys.argv[1]))
log.append(b"first")
resource.setrlimit(resource.RLIMIT_FSIZE, (60, resource.RLIM_INFINITY))
log.append(b"x" * 100)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.append(b"last")
"""


def test_a_full_disk_leaves_a_gap_that_is_known(tmp_path: Path) -> None:
    """A store with a gap is never taken for the document."""
    file = tmp_path / "changes"
    subprocess.run([sys.executable, "-c", FULL, str(file)], check=True, timeout=60)
    kept = ChangeLog(file).read()
    assert [change for _, change in kept.changes] == [b"first", b"last"]
    assert not kept.is_whole
    ChangeLog(file).replace(b"all")
    assert ChangeLog(file).read().is_whole
