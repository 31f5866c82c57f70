"""Jobs in control with gangs in memory: refusals, the line, leases, money and who may press."""

from __future__ import annotations

from typing import Any

from gearshift_testing.controls import Control, Person
from gearshift_testing.gangs import FakeJobs, Jobs

PRESS = "X-Gearshift-Press"
NEXT = {
    "position": 1,
    "of": 1,
    "needs": 4,
    "free": 0,
    "starts_at": None,
    "seconds": None,
    "cost_nano": None,
    "quota": None,
    "shapes": [],
}


async def refused(who: Person, spec: dict[str, Any]) -> dict[str, Any]:
    answer = await who.post("/plans", {"kind": "job", "spec": spec})
    assert answer.status_code >= 400, answer.text
    error: dict[str, Any] = answer.json()["error"]
    return error


BAD: list[tuple[str, Any, str, list[str] | None]] = [
    ("nodes", 0, "bad_nodes", ["1-4"]),
    ("nodes", 1000, "bad_nodes", ["1-4"]),
    ("nodes", "many", "bad_nodes", None),
    ("procs", 0, "bad_nodes", ["1-4"]),
    ("procs", 99, "bad_nodes", ["1-4"]),
    ("launch", "mpi", "bad_request", ["'env', 'torchrun', 'deepspeed' or 'accelerate'"]),
    ("machine", "gpu-9", "unknown_machine", None),
    ("image", "tensorflow", "unknown_image", ["pytorch", "base"]),
    ("code", "0" * 64, "bad_request", None),
    ("code", "../../etc/passwd", "bad_request", None),
    ("deadline_seconds", 0, "bad_request", None),
    ("max_restarts", -1, "bad_request", None),
    ("name", "", "bad_request", None),
    ("colour", "red", "bad_request", None),
    ("env", {"A=B": "x"}, "bad_request", None),
    ("argv", ["a\0b"], "bad_request", None),
    ("resume", "job-00000000", "unknown_job", None),
    ("resume", "../job-1", "bad_request", None),
    ("disks", [{"disk": "team", "mode": "rw"}], "unknown_disk", []),
    ("datasets", ["coco"], "unknown_dataset", None),
]


async def test_bad_input_is_refused_whole_with_field_value_and_what_is_allowed(
    jobs: Jobs, alice: Person
) -> None:
    good = await jobs.spec(alice)
    for field, value, code, allowed in BAD:
        error = await refused(alice, {**good, field: value})
        assert error["code"] == code, error
        assert error["field"].startswith(field), error
        if allowed is not None:
            assert error["allowed"] == allowed
        if not isinstance(value, dict | list):
            assert error["value"] == value
    assert (await alice.get("/jobs")).json() == []
    assert jobs.held() == 0


async def test_a_bundle_of_somebody_else_is_not_there(jobs: Jobs, alice: Person, bob: Person) -> None:
    spec = await jobs.spec(alice)
    assert (await refused(bob, spec))["field"] == "code"


async def test_a_plan_says_price_cap_and_place_and_changes_nothing(jobs: Jobs, alice: Person) -> None:
    plan = await alice.plan("job", spec=await jobs.spec(alice, nodes=2, deadline_seconds=1800))
    figures = plan["figures"]
    assert figures["price_per_hour_nano"] == 2 * 10**9
    assert figures["max_cost_nano"] == 10**9
    assert (figures["starts"], figures["simulated"], figures["bundle_bytes"] > 0) == ("now", True, True)
    assert (await alice.get("/jobs")).json() == []
    assert jobs.held() == 0


async def test_a_job_holds_its_nodes_is_charged_while_it_runs_and_gives_all_back(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    id = await jobs.submit(alice, nodes=2)
    assert (await jobs.job(alice, id))["state"] == "queued"
    await jobs.turn()
    assert (await jobs.job(alice, id))["state"] == "starting"
    placed = backend.gangs[id].placement
    assert sorted(device for node in placed.nodes for device in node.devices) == ["d0", "d1"]
    assert (jobs.held(), jobs.intervals(id)) == (2, [])
    backend.gangs[id].runs()
    await jobs.turn()
    running = await jobs.job(alice, id)
    assert running["state"] == "running"
    assert [rank["device"] for rank in running["ranks"]] == ["d0", "d1"]
    await control.clock.advance(1800)
    assert (await jobs.job(alice, id))["cost_nano"] == 10**9
    backend.gangs[id].ends()
    await jobs.turn()
    done = await jobs.job(alice, id)
    assert (done["state"], done["reason"], done["cost_nano"]) == ("succeeded", "succeeded", 10**9)
    assert jobs.held() == 0
    assert [interval.closed_at is not None for interval in jobs.intervals(id)] == [True]
    assert (await alice.get("/ledger/verify")).json()["ok"]


async def test_C28_two_jobs_of_four_devices_never_hold_half(
    jobs: Jobs, backend: FakeJobs, alice: Person
) -> None:
    shape = {"nodes": 4, "machine": "sim-1"}
    first, second = await jobs.submit(alice, **shape), await jobs.submit(alice, **shape)
    samples = [jobs.held()]
    await jobs.turn()
    samples.append(jobs.held())
    waiting = await jobs.job(alice, second)
    assert waiting["queue"] == NEXT | {"after": first, "after_name": "train", "after_owner": "alice"}
    backend.gangs[first].runs()
    await jobs.turn()
    samples.append(jobs.held())
    backend.gangs[first].ends()
    await jobs.turn()
    samples.append(jobs.held())
    await jobs.turn()
    samples.append(jobs.held())
    assert (await jobs.job(alice, second))["state"] == "starting"
    assert set(samples) == {0, 4}


async def test_C28_a_start_that_fails_gives_everything_back_and_the_next_one_starts(
    jobs: Jobs, backend: FakeJobs, alice: Person
) -> None:
    backend.refuse = "no fork server"
    first, second = await jobs.submit(alice, nodes=4), await jobs.submit(alice, nodes=4)
    await jobs.turn()
    failed = await jobs.job(alice, first)
    assert (failed["state"], failed["reason"], failed["note"]) == ("failed", "start_failed", "no fork server")
    assert (failed["cost_nano"], jobs.intervals(first)) == (0, [])
    await jobs.turn()
    assert (await jobs.job(alice, second))["state"] == "starting"


async def test_a_small_job_may_pass_a_large_one_but_only_so_often(
    jobs: Jobs, backend: FakeJobs, alice: Person, bob: Person, root: Person
) -> None:
    running = await jobs.submit(alice, nodes=2)
    await jobs.turn()
    large = await jobs.submit(alice, nodes=4)
    passed = []
    for _ in range(4):
        small = await jobs.submit(bob, nodes=1)
        await jobs.turn()
        if (await jobs.job(bob, small))["state"] == "queued":
            break
        passed.append(small)
        backend.gangs[small].runs()
        backend.gangs[small].ends()
        await jobs.turn()
    assert len(passed) == 3
    backend.gangs[running].runs()
    backend.gangs[running].ends()
    await jobs.turn()
    await jobs.turn()
    assert (await jobs.job(alice, large))["state"] == "starting"


async def test_cancel_is_legal_in_every_state_and_leaves_no_lease_or_open_interval(
    jobs: Jobs, backend: FakeJobs, alice: Person
) -> None:
    async def cancel(id: str) -> dict[str, Any]:
        await alice.begin("cancel_job", job=id)
        await jobs.turn()
        await jobs.turn()
        return await jobs.job(alice, id)

    starting, running, queued = [await jobs.submit(alice, nodes=2) for _ in range(3)]
    await jobs.turn()
    backend.gangs[running].runs()
    await jobs.turn()
    for id in (queued, starting, running, running):
        ended = await cancel(id)
        assert (ended["state"], ended["reason"], ended["ended_by"]) == ("cancelled", "cancelled", "alice")
    assert backend.stopped == [starting, running]
    assert jobs.held() == 0
    assert [interval.closed_at is not None for interval in jobs.intervals(running)] == [True]
    assert (jobs.intervals(queued), jobs.intervals(starting)) == ([], [])


async def test_somebody_elses_job_does_not_exist(
    jobs: Jobs, alice: Person, bob: Person, root: Person
) -> None:
    id = await jobs.submit(alice)
    for path in (f"/jobs/{id}", f"/jobs/{id}/logs", f"/jobs/{id}/metrics", f"/jobs/{id}/result"):
        answer = await bob.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_job")
    assert (await bob.post("/plans", {"kind": "cancel_job", "job": id})).status_code == 404
    assert (await bob.get("/jobs")).json() == []
    assert (await root.get(f"/jobs/{id}")).status_code == 200


async def test_only_an_ended_job_of_ones_own_with_a_checkpoint_is_resumed(
    jobs: Jobs, alice: Person, bob: Person
) -> None:
    id = await jobs.submit(alice)
    again = {**await jobs.spec(alice), "resume": id}
    assert (await refused(alice, again))["code"] == "job_not_ended"
    await alice.begin("cancel_job", job=id)
    await jobs.until(alice, id, "cancelled")
    assert (await refused(alice, again))["code"] == "no_checkpoint"
    assert (await refused(bob, {**await jobs.spec(bob), "resume": id}))["code"] == "unknown_job"


async def test_an_attached_job_lives_as_long_as_its_owners_cell_tells(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person, bob: Person, root: Person
) -> None:
    id, detached = await jobs.submit(alice, attached=True), await jobs.submit(alice)
    await jobs.turn()
    for _ in range(3):
        await control.clock.advance(15)
        assert (await alice.post(f"/jobs/{id}/attendance", {"over": False})).status_code == 204
        await jobs.turn()
        assert (await jobs.job(alice, id))["state"] == "starting"
    for who, job, status in ((bob, id, 404), (root, id, 409), (alice, detached, 409)):
        answer = await who.post(f"/jobs/{job}/attendance", {"over": True})
        assert (answer.status_code, answer.json()["error"]["field"]) == (status, "job")
    await control.clock.advance(21)
    await jobs.until(alice, id, "cancelled")
    assert (await jobs.job(alice, detached))["state"] == "starting"


async def test_an_attached_job_that_waits_leaves_the_line_when_its_cell_is_interrupted(
    jobs: Jobs, alice: Person
) -> None:
    id = await jobs.submit(alice, attached=True)
    assert (await alice.post(f"/jobs/{id}/attendance", {"over": True})).status_code == 204
    assert (await jobs.job(alice, id))["state"] == "cancelled"


async def test_the_limit_of_jobs_counts_those_that_wait(jobs: Jobs, alice: Person) -> None:
    for _ in range(4):
        await jobs.submit(alice)
    error = await refused(alice, await jobs.spec(alice))
    assert (error["code"], error["facts"]["limit"]) == ("limit_reached", 4)


async def test_a_cap_on_cost_ends_the_job_before_it_is_passed(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    plan = await alice.plan("job", spec=await jobs.spec(alice, nodes=1))
    caps = {"max_price_nano": 10**9, "max_cost_nano": 10**9 // 10}
    id = (await alice.post(f"/plans/{plan['id']}/confirm", caps)).json()["id"]
    await jobs.turn()
    backend.gangs[id].runs()
    await jobs.turn()
    for beat in range(1, 80):
        backend.gangs[id].beat = beat
        await control.clock.advance(5)
        await jobs.turn()
        if (await jobs.job(alice, id))["state"] == "failed":
            break
    ended = await jobs.job(alice, id)
    assert (ended["reason"], ended["cap_nano"]) == ("budget", 10**8)
    assert 0.9 * 10**8 < ended["cost_nano"] <= 10**8


async def test_a_price_over_the_cap_is_refused_before_anything_starts(jobs: Jobs, alice: Person) -> None:
    plan = await alice.plan("job", spec=await jobs.spec(alice, nodes=2))
    answer = await alice.post(
        f"/plans/{plan['id']}/confirm", {"max_price_nano": 10**9, "max_cost_nano": 10**9}
    )
    assert answer.json()["error"]["code"] == "over_cap"
    assert (await alice.get("/jobs")).json() == []


async def test_a_workspaces_token_may_propose_but_not_confirm_without_a_press(
    jobs: Jobs, control: Control, alice: Person
) -> None:
    await alice.start("work")
    inside = control.workspace_token("alice", "work")
    plan = await inside.plan("job", spec=await jobs.spec(inside))
    for said in ({"press": True}, {"terminal": True}, {"max_price_nano": 10**10, "max_cost_nano": 10**10}):
        answer = await inside.post(f"/plans/{plan['id']}/confirm", said)
        assert answer.json()["error"]["code"] == "needs_confirmation"
    for forged in ("1", inside.token, alice.token, control.page_token("bob", "work")):
        answer = await inside.post(f"/plans/{plan['id']}/confirm", {"press": True}, **{PRESS: forged})
        assert answer.json()["error"]["code"] == "needs_confirmation"
    pressed = {PRESS: control.page_token("alice", "work")}
    answer = await inside.post(f"/plans/{plan['id']}/confirm", {"press": True}, **pressed)
    assert answer.status_code == 202
    assert answer.json()["state"] == "queued"
    found = (await inside.get("/jobs", plan=plan["id"])).json()
    assert [job["id"] for job in found] == [answer.json()["id"]]
