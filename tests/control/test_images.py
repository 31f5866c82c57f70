"""Images as control treats them: who waits for one that is being made, what is refused, what the start page says."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator

import pytest
from gearshift.model.image import Making
from gearshift_hub.backends.images import ImageStore
from gearshift_hub.control.app import plug
from gearshift_hub.control.operations import hub_doors
from gearshift_hub.deployment import from_data
from gearshift_testing.controls import DEPLOYMENT, ON_SQLITE, Control, Person
from gearshift_testing.fake_images import FakeImages, failed
from gearshift_testing.fakes import idle
from gearshift_testing.page_forms import Inputs, read

pytestmark = ON_SQLITE
NEXT = "sha256:" + "0" * 64
STEPS = 50


@pytest.fixture
async def offering(database_url: str) -> AsyncIterator[Control]:
    """A deployment with an image that moved and one that is only declared, for a card that it has no machine of."""
    raw = tomllib.loads(DEPLOYMENT.read_text())
    raw["images"].append({"id": "moved", "catalog": "cpu", "digest": NEXT})
    raw["images"].append({"id": "cuda", "catalog": "pytorch-cuda"})
    cpu_ones = ["pytorch", "base", "moved"]
    for machine in raw["machines"]:
        machine["images"] = cpu_ones
    card = {"vendor": "nvidia", "model": "H100", "count": 1, "memory": "80 GiB"}
    raw["pools"].append({"id": "cards", "cores": 8, "memory": "32 GiB"})
    raw["machines"].append(
        {**raw["machines"][0], "id": "h100", "chip": card, "pool": "cards", "images": ["pytorch", "cuda"]}
    )
    made = Control(database_url, deployment=from_data(raw))
    plug(made.ctx)
    yield made
    await made.close()


def store(control: Control, *stages: Making) -> FakeImages:
    images = FakeImages(*stages)
    control.ctx.backend.parts.put(ImageStore, images)
    return images


async def refused(person: Person, image: str, machine: str = "cpu-small") -> dict[str, object]:
    spec = {"image": image, "machine": machine}
    answer = await person.post("/plans", {"kind": "start", "name": "work", "spec": spec})
    assert answer.status_code in (409, 422), answer.text
    error: dict[str, object] = answer.json()["error"]
    return error


async def test_a_start_waits_for_its_image_and_says_what_is_being_done(
    control: Control, alice: Person
) -> None:
    store(control, Making.ENVIRONMENT, Making.PACKAGES, Making.PACKAGES)
    operation = await alice.begin("start", name="work", spec={"image": "base", "machine": "cpu-small"})
    seen = []
    while "image_packages" not in seen:
        assert len(seen) < STEPS, seen
        await idle()
        workspace = await alice.workspace()
        assert not workspace["interval_open"]
        seen.append(workspace["reason"])
        await control.clock.advance(0.3)
    assert (await control.ended(operation["id"])).state == "done"
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"], workspace["interval_open"]) == ("ready", None, True)


async def test_an_image_that_cannot_be_made_ends_the_start_with_the_cause(
    control: Control, alice: Person
) -> None:
    store(control).refusal = failed("no route to the registry.")
    operation = await alice.start(image="base")
    assert (operation["state"], operation["error"]["code"]) == ("failed", "image_failed")
    assert "no route to the registry" in operation["error"]["message"]
    assert control.hub.running == []
    assert len((await alice.get("/ledger")).json()["entries"]) == 1


async def test_a_switch_to_an_image_that_is_not_there_is_refused_and_begins_its_making(
    control: Control, alice: Person
) -> None:
    images = store(control, Making.TORCH)
    await alice.start()
    body = {"kind": "switch", "workspace": f"{alice.name}/work", "machine": "cpu-small", "image": "base"}
    error = (await alice.post("/plans", body)).json()["error"]
    assert (error["code"], error["facts"]["doing"]) == ("image_not_ready", "installing torch")
    assert "正在安装 torch" in error["message_zh"]
    assert images.asked == 1
    assert (await alice.post("/plans", body)).status_code == 201


async def test_the_hubs_own_door_waits_for_no_image(control: Control, alice: Person) -> None:
    store(control, Making.BEGIN)
    options = {"image": "base", "machine": "cpu-small"}
    with pytest.raises(Exception, match="is being made"):
        await hub_doors.launch(control.ctx, control.engine, alice.name, "work", options, None)
    assert (await alice.get("/workspaces")).json() == []


async def test_a_launch_names_the_environment_of_its_image(control: Control, alice: Person) -> None:
    store(control)
    operation = await alice.start(image="base")
    launched = control.engine.read(operation["id"]).data["launch"]["image"]
    assert (launched["id"], launched["prefix"]) == ("base", "/images/base")
    assert launched["digest"].startswith("sha256:")


async def test_what_moved_is_refused_with_both_digests_and_nothing_is_held(offering: Control) -> None:
    mei = await offering.add_person("mei")
    error = await refused(mei, "moved")
    locked = offering.deployment.image("moved")
    assert locked is not None
    assert error["code"] == "image_moved"
    assert NEXT in str(error["message"])
    assert locked.locked in str(error["message_zh"])
    assert error["allowed"] == ["pytorch", "base"]
    assert (await mei.get("/workspaces")).json() == []


async def test_what_is_only_declared_is_refused_with_what_it_needs(offering: Control) -> None:
    mei = await offering.add_person("mei")
    error = await refused(mei, "cuda", "h100")
    assert (error["code"], error["allowed"]) == ("image_declared", ["pytorch"])
    assert "NVIDIA driver" in str(error["message"])


async def test_the_start_page_offers_what_can_start_and_says_why_the_rest_cannot(offering: Control) -> None:
    await offering.add_person("mei")
    browser = offering.browser("mei")
    page = await browser.request("GET", "/start?image=moved")
    assert Inputs(page.text).sent["image"] == ["pytorch"]
    shown = read(page)
    assert "Python 3.11 · ipykernel 7.4.0 · ipywidgets 8.1.9" in shown
    assert "first start makes it ready" in shown
    assert "moved, not let in" in shown
    assert "declared, cannot start here" in shown
    assert "It needs a box with an NVIDIA driver" in shown
    chinese = read(await browser.request("GET", "/start?lang=zh"))
    assert "仅作声明，此处不能启动" in chinese
    assert "首次启动时准备" in chinese
