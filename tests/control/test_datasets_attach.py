"""Data sets through the public door: found, attached at once to what runs, taken off, and failing without harm."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gearshift.model.dataset import Card
from gearshift.model.errors import fail
from gearshift_hub.backends.local.datasets import LocalDatasets
from gearshift_hub.control.app import plug
from gearshift_hub.control.events import Audience
from gearshift_hub.control.services import datasets
from gearshift_hub.control.services.datasets import DatasetShelf
from gearshift_testing.controls import Control, Person

OFFERED = {"digits", "breast-cancer", "iris", "palmer-penguins"}


class StubbornStore(LocalDatasets):
    """A store that waits, or fails, before it makes anything."""

    def __init__(self, store: Path) -> None:
        super().__init__(store)
        self.go_on = threading.Event()
        self.go_on.set()
        self.broken = False
        self.made = 0

    def materialise(self, card: Card) -> Path:
        assert self.go_on.wait(20)
        if self.broken:
            raise fail("data_failed", cause="the medium is broken", value=card.id)
        self.made += not self.is_there(card)
        return super().materialise(card)


@pytest.fixture(autouse=True)
async def store(control: Control) -> AsyncIterator[StubbornStore]:
    plug(control.ctx)
    made = StubbornStore(control.ctx.home.store)
    shelf = control.ctx.backend.parts.get(DatasetShelf)
    control.ctx.backend.parts.put(DatasetShelf, DatasetShelf(shelf.cards, made))
    yield made
    made.go_on.set()
    for folder, _, _ in os.walk(made.store):
        os.chmod(folder, 0o755)
    shutil.rmtree(made.store)


@pytest.fixture
def home(control: Control) -> Path:
    folder = control.ctx.home.homes / "alice"
    folder.mkdir(parents=True)
    return folder


async def send(person: Person, method: str, path: str, body: Any = None) -> httpx.Response:
    async with person.control.outside(person.headers) as client:
        return await client.request(method, f"/api/v1{path}", json=body)


async def attach(person: Person, dataset: str, workspace: str = "alice/work") -> httpx.Response:
    return await send(person, "POST", f"/workspaces/{workspace}/datasets", {"dataset": dataset})


def told(control: Control) -> list[tuple[str, str, str | None]]:
    events = control.ctx.events.after(0, Audience(None))
    return [(e.data["dataset"], e.data["state"], e.data["path"]) for e in events if e.kind == "dataset.state"]


async def test_what_the_deployment_offers_is_listed_and_found_by_word(alice: Person) -> None:
    listed = (await alice.get("/datasets")).json()
    assert {one["card"]["id"] for one in listed} == OFFERED
    assert {one["state"] for one in listed} == {"ready"}
    assert [one["card"]["id"] for one in (await alice.get("/datasets", q="penguin")).json()] == [
        "palmer-penguins"
    ]
    assert [one["card"]["id"] for one in (await alice.get("/datasets", q="手写")).json()] == ["digits"]
    assert (await alice.get("/datasets", q="nothing like it")).json() == []
    card = (await alice.get("/datasets/iris")).json()["card"]
    assert (card["licence"], card["samples"], card["title"]["zh"]) == ("CC BY 4.0", 150, "鸢尾花")


async def test_attaching_works_at_once_in_a_running_workspace_and_twice_is_once(
    control: Control, alice: Person, home: Path, store: StubbornStore
) -> None:
    await alice.start()
    for _ in range(2):
        answer = await attach(alice, "iris")
        assert answer.status_code == 200
        assert (answer.json()["state"], answer.json()["path"]) == ("attached", "~/datasets/iris")
    assert (home / "datasets" / "iris" / "iris.csv").read_text().startswith("sepal_length_cm,")
    assert (await alice.workspace())["spec"]["datasets"] == ["iris"]
    assert (await alice.workspace())["state"] == "ready"
    assert store.made == 1
    assert told(control)[0] == ("iris", "attached", "~/datasets/iris")
    states = {
        one["card"]["id"]: one["state"]
        for one in (await alice.get("/datasets", workspace="alice/work")).json()
    }
    assert states == {**dict.fromkeys(OFFERED, "ready"), "iris": "attached"}


async def test_detaching_takes_the_link_and_leaves_the_store(
    control: Control, alice: Person, home: Path, store: StubbornStore
) -> None:
    await alice.start()
    await attach(alice, "iris")
    for _ in range(2):
        answer = await send(alice, "DELETE", "/workspaces/alice/work/datasets/iris")
        assert answer.json()["state"] == "ready"
    assert os.listdir(home / "datasets") == []
    assert (await alice.workspace())["spec"]["datasets"] == []
    assert store.damaged(store_card(control, "iris")) == []


def store_card(control: Control, name: str) -> Card:
    return control.ctx.backend.parts.get(DatasetShelf).card(name)


async def test_a_set_that_another_workspace_has_keeps_its_link(alice: Person, home: Path) -> None:
    await alice.start()
    await alice.start("second", datasets=["iris"])
    await attach(alice, "iris")
    await send(alice, "DELETE", "/workspaces/alice/work/datasets/iris")
    assert os.listdir(home / "datasets") == ["iris"]


async def test_what_a_start_names_is_ready_before_it_is_launched(
    control: Control, alice: Person, home: Path
) -> None:
    await alice.start(datasets=["digits", "palmer-penguins"])
    assert sorted(os.listdir(home / "datasets")) == ["digits", "palmer-penguins"]
    inside = control.workspace_token("alice", "work")
    states = {one["card"]["id"]: one["state"] for one in (await inside.get("/datasets")).json()}
    assert (states["digits"], states["iris"]) == ("attached", "ready")


async def test_code_in_a_workspace_may_attach(control: Control, alice: Person, home: Path) -> None:
    await alice.start()
    assert (await attach(control.workspace_token("alice", "work"), "digits")).json()["state"] == "attached"


async def test_an_unknown_set_and_a_strangers_workspace_are_refused(alice: Person, bob: Person) -> None:
    await alice.start()
    answer = await attach(alice, "mnist")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"], error["value"]) == (
        404,
        "unknown_dataset",
        "dataset",
        "mnist",
    )
    assert set(error["allowed"]) == OFFERED
    assert (await attach(alice, "../iris")).status_code == 404
    assert (await attach(bob, "iris")).status_code == 403
    assert (await attach(alice, "iris", "alice/none")).status_code == 404
    assert (await bob.get("/datasets", workspace="alice/work")).status_code == 403
    assert (await alice.workspace())["spec"]["datasets"] == []


async def test_files_that_take_longer_are_told_as_preparing_and_then_as_attached(
    control: Control, alice: Person, home: Path, store: StubbornStore
) -> None:
    await alice.start()
    store.go_on.clear()
    asking = asyncio.ensure_future(attach(alice, "digits"))
    while not control.ctx.backend.parts.get(DatasetShelf).making:
        await asyncio.sleep(0.005)
    await control.clock.advance(datasets.ANSWER_S)
    assert (await asking).json()["state"] == "preparing"
    assert not (home / "datasets").exists()
    store.go_on.set()
    while ("digits", "attached", "~/datasets/digits") not in told(control):
        await asyncio.sleep(0.005)
    assert (home / "datasets" / "digits" / "digits.csv").is_file()
    assert [state for _, state, _ in told(control)] == ["preparing", "attached"]


async def test_two_who_attach_at_once_make_one_copy(
    control: Control, alice: Person, bob: Person, home: Path, store: StubbornStore
) -> None:
    await alice.start()
    await bob.start()
    answers = await asyncio.gather(attach(alice, "iris"), attach(bob, "iris", "bob/work"))
    assert [answer.json()["state"] for answer in answers] == ["attached", "attached"]
    assert store.made == 1


async def test_a_set_that_cannot_be_made_is_told_and_leaves_nothing_half_done(
    control: Control, alice: Person, home: Path, store: StubbornStore
) -> None:
    await alice.start()
    store.broken = True
    answer = await attach(alice, "iris")
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "data_failed")
    assert "the medium is broken" in answer.json()["error"]["message"]
    assert (await alice.workspace())["spec"]["datasets"] == []
    assert (await alice.workspace())["state"] == "ready"
    assert not (home / "datasets").exists()
    assert told(control)[-1][:2] == ("iris", "failed")


async def test_a_set_that_cannot_be_made_does_not_keep_a_workspace_from_starting(
    control: Control, alice: Person, home: Path, store: StubbornStore
) -> None:
    store.broken = True
    assert (await alice.start(datasets=["iris"]))["state"] == "done"
    assert (await alice.workspace())["spec"]["datasets"] == []
    assert told(control)[-1][:2] == ("iris", "failed")
