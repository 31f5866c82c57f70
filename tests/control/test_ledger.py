"""The ledger in the database: whatever happens in whatever order, lines add up and the chain holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from gearshift.model.units import cost_nano
from gearshift_hub.control.db.ledger import EntryRow
from gearshift_hub.control.services import ledger
from gearshift_testing.controls import Control, Person
from gearshift_testing.fakes import BEGIN
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import Session

ACTS = st.lists(
    st.tuples(
        st.sampled_from(["open", "close", "price", "charge", "credit", "back"]),
        st.integers(0, 3 * 3600 * 10**6),
        st.sampled_from(["cpu-small", "sim-1", "sim-4"]),
        st.sampled_from(["w1", "w2"]),
    ),
    max_size=25,
)


@contextmanager
def undone(control: Control) -> Iterator[Session]:
    """A transaction that leaves nothing, so that one database serves many examples."""
    with control.db.engine.connect() as connection, Session(connection) as session:
        transaction = session.begin()
        try:
            yield session
        finally:
            transaction.rollback()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(acts=ACTS)
def test_any_course_of_events_adds_up(control: Control, acts: list[tuple[str, int, str, str]]) -> None:
    with undone(control) as session:
        now, expected = BEGIN, 0
        for act, microseconds, machine, workspace in acts:
            now += timedelta(microseconds=microseconds)
            expected += _do(control, session, act, machine, f"workspace:a/{workspace}", now)
        report = ledger.verify(session)
        assert report.ok, report.faults
        held = ledger.intervals(session)
        cost = sum(
            cost_nano(i.price_per_hour_nano, (i.end(now) - i.opened_at) // timedelta(microseconds=1))
            for i in held
        )
        assert ledger.balance(session, "a", now) == expected - cost


def _do(control: Control, session: Session, act: str, machine: str, subject: str, now: datetime) -> int:
    """Do it; returns the credit that came in."""
    found = control.deployment.machine(machine)
    assert found is not None
    price = next(iter(found.prices_per_hour_nano.values()))
    held = {"owner": "a", "subject": subject, "machine": found, "price_per_hour_nano": price}
    if act == "open":
        ledger.open_interval(session, at=now, **held)
    elif act == "close":
        ledger.close_interval(session, subject, now)
    elif act == "back":
        ledger.close_interval(session, subject, now - timedelta(hours=5))
    elif act == "price":
        ledger.change_price(session, at=now, **held)
    elif act == "charge":
        ledger.charge_hours(session, now)
    else:
        ledger.add_credit(session, "a", 7, now, f"credit:{now.isoformat()}")
        return 7
    return 0


async def test_lines_are_cut_at_utc_hours_and_charging_twice_charges_once(
    control: Control, alice: Person
) -> None:
    await alice.start()
    await control.clock.advance(hours=3)
    for _ in range(3):
        await control.rules()
    lines = [line for line in (await alice.get("/ledger")).json()["entries"] if line["kind"] == "usage"]
    assert [line["period_to"][11:19] for line in lines] == ["21:00:00", "22:00:00", "23:00:00"]
    assert lines[0]["period_from"][11:19] == "20:52:16"


async def test_a_line_that_was_changed_is_found(control: Control, alice: Person, root: Person) -> None:
    await alice.start()
    await control.clock.advance(hours=2)
    await alice.stop()
    assert (await alice.get("/ledger/verify")).json()["ok"]
    with control.db.transaction() as session:
        line = session.get_one(EntryRow, 3)
        line.amount_nano += 1
    said = (await root.get("/ledger/verify")).json()
    assert (said["ok"], said["first_bad"]) == (False, 3)
    assert any("changed after it was written" in fault for fault in said["faults"])
    assert (await alice.get("/ledger/verify")).json()["faults"] == []


async def test_a_line_that_was_taken_out_is_found(control: Control, alice: Person) -> None:
    await alice.start()
    await control.clock.advance(hours=2)
    await alice.stop()
    with control.db.transaction() as session:
        session.delete(session.get_one(EntryRow, 2))
    assert not (await alice.get("/ledger/verify")).json()["ok"]


@pytest.mark.parametrize(("zone", "seconds"), [("UTC", 2 * 3600), ("Asia/Kolkata", 4.5 * 3600)])
async def test_today_begins_at_midnight_of_the_deployments_zone(
    control: Control, alice: Person, zone: str, seconds: float
) -> None:
    site = control.deployment.site.model_copy(update={"time_zone": zone})
    control.ctx.deployment = control.deployment.model_copy(update={"site": site})
    day_before = datetime(2026, 12, 1, tzinfo=UTC) - control.clock.now()
    await alice.start()
    begin = control.clock.now()
    await control.clock.advance((day_before + timedelta(hours=2)).total_seconds())
    today = (await alice.get("/costs/today")).json()
    held = min(seconds, (control.clock.now() - begin).total_seconds())
    if zone != "UTC":
        midnight = datetime(2026, 11, 30, 18, 30, tzinfo=UTC)
        assert today["since"] == "2026-11-30T18:30:00.000000Z"
        held = (control.clock.now() - max(begin, midnight)).total_seconds()
    assert today["total_nano"] == cost_nano(100_000_000, int(held * 10**6))
    assert [line["amount_nano"] for line in today["lines"]] == [today["total_nano"]]


async def test_lines_can_be_asked_for_by_time_with_a_zone(control: Control, alice: Person) -> None:
    await alice.start()
    await control.clock.advance(hours=3)
    await alice.stop()
    found = (
        await alice.get("/ledger", **{"from": "2026-11-30T22:30:00Z", "to": "2026-11-30T23:30:00+00:00"})
    ).json()
    assert [line["period_to"][11:16] for line in found["entries"]] == ["23:00"]
    answer = await alice.get("/ledger", **{"from": "2026-11-30T22:30:00"})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "from")
    assert (await alice.get("/ledger", **{"from": "yesterday"})).status_code == 422
