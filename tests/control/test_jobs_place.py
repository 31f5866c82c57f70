"""The place in line of a job: quotas, priority, when its turn comes, and the shapes that would start at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from gearshift.model.units import from_iso
from gearshift_hub.control.db.events import EventRow
from gearshift_hub.control.reconcile.line_news import LineNews
from gearshift_hub.deployment.model import TeamTable
from gearshift_testing.controls import ON_SQLITE, Control, Person
from gearshift_testing.gangs import FakeJobs, Jobs
from sqlalchemy import select

pytestmark = ON_SQLITE


async def place(jobs: Jobs, who: Person, id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await jobs.job(who, id))["queue"]
    return found


async def test_who_waits_is_told_when_their_turn_comes_and_what_it_will_cost(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person, bob: Person
) -> None:
    first = await jobs.submit(alice, nodes=4, expected_seconds=720)
    await jobs.turn()
    backend.gangs[first].runs()
    await jobs.turn()
    began = control.clock.now()
    second = await jobs.submit(alice, nodes=4, expected_seconds=1800, name="second")
    third = await jobs.submit(bob, nodes=2)
    mine, theirs = await place(jobs, alice, second), await place(jobs, bob, third)
    assert (mine["position"], mine["of"], mine["needs"], mine["free"]) == (1, 2, 4, 0)
    assert (mine["after"], mine["after_name"], mine["after_owner"]) == (first, "train", "alice")
    assert from_iso(mine["starts_at"]) == began + timedelta(seconds=720)
    assert (mine["seconds"], mine["cost_nano"]) == (1800, 2 * 10**9)
    assert (theirs["after"], theirs["after_name"]) == (second, None), "a stranger's job has no name here"
    assert from_iso(theirs["starts_at"]) == began + timedelta(seconds=720 + 1800)


async def test_what_was_measured_before_is_expected_again(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    for minutes in (10, 20):
        id = await jobs.submit(alice, nodes=4)
        await jobs.turn()
        backend.gangs[id].runs()
        await jobs.turn()
        for _ in range(minutes * 6):
            await control.clock.advance(10)
        backend.gangs[id].ends()
        await jobs.turn()
    plan = await alice.plan("job", spec=await jobs.spec(alice, nodes=4))
    assert plan["figures"]["seconds"] == 900
    assert plan["figures"]["estimate_nano"] == 10**9


async def test_shapes_that_would_start_now_are_offered_and_taken_in_place(
    jobs: Jobs, alice: Person, bob: Person, root: Person
) -> None:
    await jobs.submit(bob, nodes=2, name="other")
    await jobs.turn()
    id = await jobs.submit(alice, nodes=4, expected_seconds=1800)
    await jobs.turn()
    shapes = (await place(jobs, alice, id))["shapes"]
    first = shapes[0]
    assert (first["machine"], first["nodes"], first["price_per_hour_nano"]) == ("sim-1", 2, 2 * 10**9)
    assert (first["seconds"], first["cost_nano"]) == (3600, 2 * 10**9)
    assert all(shape["machine"] != "cpu-small" for shape in shapes), "not without a chip"
    for who, status in ((bob, 404), (root, 403)):
        answer = await who.post("/plans", {"kind": "reshape_job", "job": id, "nodes": 2})
        assert answer.status_code == status
    changed = await alice.begin("reshape_job", job=id, machine="sim-1", nodes=2)
    assert (changed["id"], changed["spec"]["nodes"], changed["price_per_hour_nano"]) == (id, 2, 2 * 10**9)
    await jobs.turn()
    assert (await jobs.job(alice, id))["state"] == "starting"
    late = await alice.post("/plans", {"kind": "reshape_job", "job": id, "nodes": 1})
    assert late.json()["error"]["code"] == "not_queued"


async def test_a_priority_above_what_people_may_ask_for_is_for_admins(
    jobs: Jobs, alice: Person, bob: Person, root: Person
) -> None:
    answer = await alice.post("/plans", {"kind": "job", "spec": await jobs.spec(alice, priority=1)})
    error = answer.json()["error"]
    assert (error["code"], error["field"], error["allowed"]) == ("bad_request", "priority", ["-10 to 0"])
    await jobs.submit(bob, nodes=4)
    await jobs.turn()
    late, low = await jobs.submit(alice, nodes=4), await jobs.submit(alice, nodes=4, priority=-5)
    urgent = await jobs.submit(root, nodes=4, priority=9)
    assert [(await place(jobs, root, id))["position"] for id in (urgent, late, low)] == [1, 2, 3]


async def test_a_quota_of_a_person_and_of_a_team_bounds_what_their_jobs_hold(
    database_url: str, backend: FakeJobs
) -> None:
    control = with_teams(database_url)
    try:
        ann, ben, cem = [await control.add_person(name) for name in ("ann", "ben", "cem")]
        jobs = Jobs(control, backend)
        spec = await jobs.spec(ann, nodes=4)
        refused = (await ann.post("/plans", {"kind": "job", "spec": spec})).json()["error"]
        assert (refused["code"], refused["facts"]["limit"], refused["facts"]["whose"]) == (
            "quota_over",
            2,
            "you",
        )
        first, second = await jobs.submit(ann, nodes=2), await jobs.submit(ann, nodes=1)
        third, fourth = await jobs.submit(ben, nodes=2), await jobs.submit(cem, nodes=1)
        await jobs.turn()
        states = [(await jobs.job(who, id))["state"] for who, id in ((ann, first), (cem, fourth))]
        assert states == ["starting", "starting"], "who waits for a quota holds nobody up"
        mine = await place(jobs, ann, second)
        assert mine["quota"] == {"whose": "person", "name": "ann", "what": "chips", "limit": 2, "used": 2}
        theirs = await place(jobs, ben, third)
        assert (theirs["quota"]["whose"], theirs["quota"]["name"], theirs["quota"]["limit"]) == (
            "team",
            "vision",
            3,
        )
        assert jobs.row(second).overtaken == 0
    finally:
        await control.close()


def with_teams(database_url: str) -> Control:
    """Two chips a person, three for the team of ann and ben together."""
    like = Control(database_url)
    vision = TeamTable(id="vision", members=("ann", "ben"), chips=3)
    queue = like.deployment.queue.model_copy(update={"chips_per_person": 2})
    deployment = like.deployment.model_copy(update={"queue": queue, "teams": (vision,)})
    like.db.close()
    like.folder.cleanup()
    return Control(database_url, deployment=deployment)


async def test_who_waits_hears_once_of_each_change_of_their_place(
    jobs: Jobs, control: Control, alice: Person, bob: Person
) -> None:
    news = LineNews(control.ctx)
    await jobs.submit(bob, nodes=4)
    await jobs.turn()
    first, second = await jobs.submit(alice, nodes=4), await jobs.submit(alice, nodes=4)
    await news.look()

    def told() -> list[tuple[str, int]]:
        with control.db.transaction() as session:
            query = select(EventRow).where(EventRow.kind == "job.state").order_by(EventRow.id)
            jobs = [row.data["job"] for row in session.scalars(query)]
        return [(job["id"], job["queue"]["position"]) for job in jobs if job["queue"]]

    before = told()
    await news.look()
    assert told() == before
    await alice.begin("cancel_job", job=first)
    await news.look()
    await news.look()
    assert told()[len(before) :] == [(second, 1)]
