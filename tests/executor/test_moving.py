"""The open document while its server is replaced: the cases of facts-lab 8, with pages that hold their own copy."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import pytest
from gearshift.lab.documents.store import stored_document
from gearshift_testing.lab_server import TOKEN, FakeControl, Folders, LabServer
from gearshift_testing.shared_page import (
    PATIENCE_S,
    SharedPage,
    in_file,
    notebook,
    saved,
    text_in_file,
    until,
)

LEAVING = {"operation": "op-1", "busy": "leave", "leaving": True}


class Move:
    """Servers that follow each other on the same folders, and the pages on them."""

    def __init__(self, control: FakeControl, folders: Folders) -> None:
        self._control, self._folders = control, folders
        self._servers, self._pages = ExitStack(), AsyncExitStack()
        self.pages: list[SharedPage] = []
        self.file = notebook(folders.work, "a.ipynb")
        self.state = folders.state

    def start(self, **env: str) -> LabServer:
        """The next server; pages find it at once, as behind the hub's proxy."""
        server = LabServer(self._folders, self._control.url, documents=True, **env)
        self.lab = self._servers.enter_context(server)
        for page in self.pages:
            page.moved_to(self.lab.url)
        return self.lab

    async def page(self) -> SharedPage:
        page = await self._pages.enter_async_context(SharedPage(self.lab.url, TOKEN, "a.ipynb"))
        await page.kernel()
        self.pages.append(page)
        return page

    async def stored(self, page: SharedPage, cell: str, text: str) -> None:
        """What pages saw is in the update store: a moment later at most, but later."""
        folder, file_id = self.state / "documents", page.document.split(":", 2)[2]

        async def cells() -> list[dict[str, Any]]:
            found = await stored_document(folder, "notebook", file_id)
            return [] if found is None else [one for one in found.content["cells"] if one["id"] == cell]

        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while not any(text in said(one) for one in await cells()):
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.02)

    async def synced(self) -> None:
        """All pages are in the room again."""
        await until(lambda: all(page.is_synced for page in self.pages))

    async def agree(self, told: Callable[[SharedPage], Any], wanted: Any) -> None:
        """Every page, and the file, say so."""
        for page in self.pages:
            await until(lambda page=page: told(page) == wanted, f"{told(page)!r} is not {wanted!r}")

    async def leave(self) -> None:
        """As control does before a stop; pages have left the room."""
        said = await asyncio.to_thread(self.lab.http.post, "gearshift/state/save", json=LEAVING)
        said.raise_for_status()

    async def end(self) -> None:
        self.lab.end()
        await until(lambda: not any(page.is_synced for page in self.pages))

    async def close(self) -> None:
        await self._pages.aclose()
        self._servers.close()


@pytest.fixture
async def move(control: FakeControl, tmp_path: Path) -> AsyncIterator[Move]:
    move = Move(control, Folders.make(tmp_path / "mei"))
    yield move
    await move.close()


def said(cell: dict[str, Any]) -> str:
    return cell["source"] + "".join(one.get("text", "") for one in cell["outputs"])


def source(cell: str) -> Callable[[SharedPage], str]:
    return lambda page: str(page.ycell(cell)["source"])


def type_at_end(page: SharedPage, cell: str, text: str) -> None:
    source = page.ycell(cell)["source"]
    source += text


async def test_a_planned_move_keeps_every_edit_before_within_and_after_it_and_runs_what_waited(
    move: Move,
) -> None:
    """Cases 1, 2, 3, 4 and 5."""
    move.start()
    one, two, three = [await move.page() for _ in range(3)]
    cell = one.add("a = 1")
    running = one.add("import time\nfor n in range(400):\n    print('line', n, flush=True); time.sleep(0.05)")
    queued = one.add("print('ran after the move')")
    (await one.send(running, queued)).raise_for_status()
    await until(lambda: has(three, running) and "line 5" in three.text(running))
    type_at_end(one, cell, " # before")
    await until(lambda: "before" in str(two.ycell(cell)["source"]))
    await move.leave()
    await until(lambda: set(one.closes) == {1012})
    assert "line 5" in text_in_file(move.file, running)
    assert in_file(move.file, running)["outputs"][-1]["ename"] == "Moved"
    assert in_file(move.file, cell)["source"] == "a = 1 # before"
    type_at_end(one, cell, " # late")
    await move.end()
    type_at_end(two, cell, " # gap2")
    type_at_end(three, queued, " # gap3")
    new = move.start(GEARSHIFT_RESTORE="op-1")
    await move.synced()
    await until(
        lambda: "gap3" in str(two.ycell(queued)["source"]) and "gap2" in str(one.ycell(cell)["source"])
    )
    text = str(one.ycell(cell)["source"])
    assert sorted(text.split(" # ")) == ["a = 1", "before", "gap2", "late"]
    await move.agree(source(cell), text)
    found = await two.done(queued)
    assert two.text(queued) == "ran after the move\n"
    assert found["execution_count"] is not None
    assert one.ycell(running)["execution_state"] == "idle"
    assert one.cell(running)["outputs"][-1]["ename"] == "Moved"
    await until(lambda: len({json.dumps(page.notebook.get(), sort_keys=True) for page in move.pages}) == 1)
    await until(lambda: in_file(move.file, cell).get("source") == text)
    assert new.http.get("gearshift/health").json()["restored_operation"] == "op-1"
    again = await three.run("print('on')")
    await three.done(again)
    await until(lambda: one.text(again) == two.text(again) == "on\n")


async def test_what_waits_behind_a_cell_that_a_move_interrupts_is_run_after_it(move: Move) -> None:
    move.start()
    page = await move.page()
    long = page.add("import time\nkept = 1\nprint('on', flush=True); time.sleep(600)")
    queued = page.add("print('kept', kept)")
    (await page.send(long, queued)).raise_for_status()
    await until(lambda: page.text(long) == "on\n")
    state = await asyncio.to_thread(move.lab.http.get, f"api/kernels/{page.kernel_id}")
    assert state.json()["execution_state"] == "busy"  # also for whoever asks the server, not us
    said = await asyncio.to_thread(
        move.lab.http.post, "gearshift/state/save", json={**LEAVING, "busy": "interrupt"}
    )
    said.raise_for_status()
    assert in_file(move.file, long)["outputs"][-1]["ename"] in ("KeyboardInterrupt", "Moved")
    await move.end()
    move.start(GEARSHIFT_RESTORE="op-1")
    await move.synced()
    await page.done(queued)
    await until(lambda: page.text(queued) == "kept 1\n", str(page.cell(queued)["outputs"]))


async def test_no_warning_at_all_loses_nothing_that_was_stored(move: Move) -> None:
    """Case 9, with edits within (2+3): kill -9 in the middle of prints and typing."""
    move.start()
    one, two = [await move.page() for _ in range(2)]
    cell = one.add("b = 1")
    running = await one.run(
        "import time\nfor n in range(400):\n    print('line', n, flush=True); time.sleep(0.05)"
    )
    await until(lambda: one.text(running).count("\n") > 60)  # saved at least once
    type_at_end(one, cell, " # late")
    await until(lambda: "late" in str(two.ycell(cell)["source"]))
    seen = two.text(running)
    await move.stored(one, running, seen)
    await move.stored(one, cell, "late")
    await move.end()
    type_at_end(two, cell, " # gap")
    move.start()
    await move.synced()
    await move.agree(source(cell), "b = 1 # late # gap")
    assert two.text(running).startswith(seen)
    assert one.cell(running)["outputs"][-1]["ename"] == "Stopped"
    assert one.ycell(running)["execution_state"] == "idle"
    await until(lambda: in_file(move.file, cell).get("source") == "b = 1 # late # gap")
    assert text_in_file(move.file, running).startswith(seen)


async def test_with_no_page_open_a_killed_server_still_leaves_all_to_the_next_one(move: Move) -> None:
    """The last seconds before kill -9, for somebody who comes later."""
    move.start()
    page = await move.page()
    cell = await page.run(
        "import time\nfor n in range(400):\n    print('line', n, flush=True); time.sleep(0.05)"
    )
    await until(lambda: page.text(cell).count("\n") > 60)
    seen = page.text(cell)
    await page.leave()
    await move.stored(page, cell, seen)
    move.pages.clear()
    await move.end()
    move.start()
    later = await move.page()
    assert later.text(cell).startswith(seen)
    assert later.cell(cell)["outputs"][-1]["ename"] == "Stopped"


async def test_a_file_that_was_changed_meanwhile_holds(move: Move) -> None:
    """Case 7."""
    move.start()
    one, two = [await move.page() for _ in range(2)]
    cell = one.add("c = 1")
    await until(lambda: in_file(move.file, cell).get("source") == "c = 1")
    await move.leave()
    await move.end()
    found = saved(move.file)
    next(one for one in found["cells"] if one["id"] == cell)["source"] = "c = 'from the disk'"
    move.file.write_text(json.dumps(found))
    move.start()
    await move.synced()
    await move.agree(source(cell), "c = 'from the disk'")
    assert two.closes == one.closes


async def test_a_stop_that_does_not_come_lets_pages_and_the_cell_go_on(move: Move) -> None:
    """A switch that goes back before or after the pause: the same server, told to stay."""
    lab = move.start()
    one, two = [await move.page() for _ in range(2)]
    running = one.add("import time\nfor n in range(80):\n    print('line', n, flush=True); time.sleep(0.05)")
    queued = one.add("print('after', n)")
    (await one.send(running, queued)).raise_for_status()
    await until(lambda: "line 5" in one.text(running))
    await move.leave()
    assert in_file(move.file, running)["outputs"][-1]["ename"] == "Moved"
    type_at_end(two, queued, " # gap")
    os.kill(lab.pid, signal.SIGSTOP)
    os.kill(lab.pid, signal.SIGCONT)
    (await asyncio.to_thread(lab.http.post, "gearshift/documents/stay")).raise_for_status()
    await move.synced()
    await one.done(queued)
    await until(lambda: "gap" in str(one.ycell(queued)["source"]))
    for page in (one, two):
        await until(lambda page=page: page.text(running) == "".join(f"line {n}\n" for n in range(80)))
        assert len(page.cell(running)["outputs"]) == 1
    assert two.text(queued) == "after 79\n"
    await until(lambda: text_in_file(move.file, running).endswith("line 79\n"))
    assert (await asyncio.to_thread(lab.http.post, "gearshift/documents/stay")).status_code == 200


async def test_a_question_is_asked_again_by_a_server_that_stays_and_gone_with_one_that_is_killed(
    move: Move,
) -> None:
    lab = move.start()
    one = await move.page()
    cell = await one.run("name = input('who? '); print('hello', name)")
    await until(lambda: asked(one, cell))
    await move.leave()
    assert "gearshift_input" not in in_file(move.file, cell)["metadata"]
    (await asyncio.to_thread(lab.http.post, "gearshift/documents/stay")).raise_for_status()
    question = await until(lambda: one.is_synced and asked(one, cell))
    answer = {"kernel_id": one.kernel_id, "question": question["id"], "value": "mei"}
    (await one.post("gearshift/documents/answer", answer)).raise_for_status()
    await one.done(cell)
    assert one.text(cell) == "who? mei\nhello mei\n"
    open_one = await one.run("input('once more? ')")
    await until(lambda: asked(one, open_one))
    await move.end()
    move.start()
    await move.synced()
    await one.done(open_one)
    assert one.cell(open_one)["outputs"][-1]["ename"] == "Stopped"
    assert asked(one, open_one) is None


async def test_pages_are_known_after_more_changes_of_server_than_others_remember(move: Move) -> None:
    """Case 6 does not come by itself: the session is that of the store, not of a process."""
    move.start()
    one = await move.page()
    cell = one.add("d = 0")
    for n in range(3):
        await until(lambda: in_file(move.file, cell).get("source") == str(one.ycell(cell)["source"]))
        await move.end()
        type_at_end(one, cell, f" # {n}")
        move.start()
        await move.synced()
        await move.agree(source(cell), "d = 0" + "".join(f" # {m}" for m in range(n + 1)))
    assert 1003 not in one.closes
    async with SharedPage(move.lab.url, TOKEN, "a.ipynb") as new:
        assert new.session == one.session


async def test_store_session_and_file_ids_lost_together_are_told_to_the_page(move: Move) -> None:
    """Case 6: an old page is refused as of an unknown session; a new one has the file."""
    move.start()
    one = await move.page()
    cell = one.add("e = 1")
    await until(lambda: in_file(move.file, cell).get("source") == "e = 1")
    await move.leave()
    await move.end()
    shutil.rmtree(move.state / "documents")
    move.start()
    async with SharedPage(move.lab.url, TOKEN, "a.ipynb") as new:
        assert source(cell)(new) == "e = 1"
        assert new.session != one.session
        assert new.document != one.document
    assert not one.is_synced


async def test_half_a_file_that_a_killed_server_left_is_made_whole(move: Move) -> None:
    move.start()
    one = await move.page()
    cell = one.add("f = 1")
    await until(lambda: in_file(move.file, cell).get("source") == "f = 1")
    await move.end()
    whole = move.file.read_text()
    move.file.with_name(".~a.ipynb").write_text(whole)
    move.file.write_text(whole[: len(whole) // 2])
    move.start()
    await move.synced()
    await until(lambda: in_file(move.file, cell).get("source") == "f = 1")


def has(page: SharedPage, cell: str) -> bool:
    return any(found["id"] == cell for found in page.notebook.ycells)


def asked(page: SharedPage, cell: str) -> Any:
    return page.cell(cell)["metadata"].get("gearshift_input")
