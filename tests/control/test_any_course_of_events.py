"""Whatever people, faults, crashes and time do in whatever order: machines, leases, state and bill agree in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from gearshift.model.operation import OperationState
from gearshift_hub.backends.base import Able
from gearshift_hub.control.operations import journal
from gearshift_hub.control.reconcile import servers
from gearshift_hub.control.services import leases, ledger, workspaces
from gearshift_testing.controls import ON_SQLITE, Control, Person
from gearshift_testing.fakes import Fault, hub_away, refuse, server_away, until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = ON_SQLITE

MACHINES = st.sampled_from(["cpu-small", "cpu-large", "sim-1", "sim-4"])
FAULTS = st.sampled_from(
    [
        ("hub", "spawn", refuse("start_failed", exit=1)),
        ("hub", "start", hub_away),
        ("hub", "started", hub_away),
        ("hub", "stop", hub_away),
        ("hub", "stop", refuse("stop_failed")),
        ("hub", "stopped", hub_away),
        ("hub", "release", hub_away),
        ("hub", "released", hub_away),
        ("hub", "spawn", until(asyncio.Event())),
        ("hub", "stop", until(asyncio.Event())),
        ("servers", "save", server_away),
        ("servers", "save", until(asyncio.Event())),
        ("servers", "restore", server_away),
        ("servers", "restore", refuse("restore_failed", cause="a test")),
        ("servers", "health", server_away),
    ]
)
ACTS = st.one_of(
    st.tuples(st.just("start"), MACHINES),
    st.tuples(st.just("switch"), MACHINES),
    st.tuples(st.sampled_from(["stop", "cancel", "die", "look", "kill"]), st.none()),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.5, 20.0, 90.0, 4000.0])),
    st.tuples(st.just("fault"), FAULTS),
)


class World:
    """One control after the other, one database and hub."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.examples = 0


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    made = World(Control(database_url, able=Able(freeze=True, live_resize=True)))
    yield made
    await made.control.close()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(acts=st.lists(ACTS, max_size=12))
async def test_in_the_end_everything_agrees(world: World, acts: list[tuple[str, object]]) -> None:
    world.examples += 1
    person = await world.control.add_person(f"p{world.examples}")
    for act, what in acts:
        person.control = world.control
        await _do(world, person, act, what)
    await _calm(world)
    _check(world.control, person.name)
    await _leave(world, person.name)


async def _do(world: World, person: Person, act: str, what: object) -> None:
    control = world.control
    if act == "start":
        await _ask(person, {"kind": "start", "name": "work", "spec": {"image": "pytorch", "machine": what}})
    elif act == "switch":
        await _ask(person, {"kind": "switch", "workspace": f"{person.name}/work", "machine": what})
    elif act == "stop":
        await _ask(person, {"kind": "stop", "workspace": f"{person.name}/work"})
    elif act == "cancel":
        for operation in (await person.get("/operations")).json()[:1]:
            assert (await person.post(f"/operations/{operation['id']}/cancel")).status_code < 500
    elif act == "die" and control.hub.server(person.name, "work").current is not None:
        control.hub.die(person.name, "work", 9)
    elif act == "look":
        await servers.compare(control.ctx)
    elif act == "kill":
        world.control = await control.again()
    elif act == "wait":
        assert isinstance(what, float)
        await control.clock.advance(what)
    elif act == "fault":
        assert isinstance(what, tuple)
        part, stage, fault = what
        _fault(control, part, stage, fault)


def _fault(control: Control, part: str, stage: str, fault: Fault) -> None:
    faults = control.hub.faults if part == "hub" else control.servers.faults
    faults.at(stage, fault)


async def _ask(person: Person, body: dict[str, object]) -> None:
    """Plan and confirm, as far as that is possible now; time passes where the server inside hangs."""
    asking = asyncio.ensure_future(person.post("/plans", body))
    while not asking.done():
        await person.control.clock.advance(1)
        await asyncio.sleep(0.001)
    planned = asking.result()
    assert planned.status_code < 500 or planned.status_code in (502, 503, 504), planned.text
    if planned.status_code == 201:
        confirming = asyncio.ensure_future(person.confirm(planned.json()))
        while not confirming.done():
            await person.control.clock.advance(1)
            await asyncio.sleep(0.001)
        assert confirming.result().status_code not in (500, 501), confirming.result().text


async def _calm(world: World) -> None:
    """Nothing fails any more, and time enough passes for everything to be put in order."""
    world.control.hub.faults.clear()
    world.control.servers.faults.clear()
    for _ in range(4):
        await world.control.settled()
        await world.control.look()
    await world.control.settled()


async def _leave(world: World, owner: str) -> None:
    """Make room for the next example."""
    with world.control.db.transaction() as session:
        row = workspaces.find(session, owner, "work")
    if row is not None:
        await world.control.person(owner).stop()


def _check(control: Control, owner: str) -> None:
    with control.db.transaction() as session:
        row = workspaces.find(session, owner, "work")
        state = row.state if row is not None else "stopped"
        held = leases.of_workspace(session, f"{owner}/work")
        intervals = ledger.intervals_of(session, ledger.subject_of(f"{owner}/work"))
        report = ledger.verify(session)
        running = journal.listed(session, f"{owner}/work", None, 200)
    trees = [tree for tree in control.hub.running if tree.plan.workspace.owner == owner]
    open_ones = [interval for interval in intervals if interval.closed_at is None]
    wanted = 1 if state == "ready" else 0
    assert state in ("ready", "stopped", "failed")
    assert (len(held), len(trees), len(open_ones)) == (wanted, wanted, wanted)
    assert all(operation.state is not OperationState.RUNNING for operation in running)
    if row is not None and state == "ready":
        machine = row.spec["machine"]
        assert held[0].machine == open_ones[0].machine == machine
        assert not trees[0].frozen
    assert control.hub.server(owner, "work").held_by is None or state != "ready"
    assert report.ok, report.faults
