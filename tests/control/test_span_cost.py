"""What a span of time cost: by the ledger's intervals, a part for each machine, and nothing that is not charged."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from gearshift.model.units import cost_nano, to_iso
from gearshift_hub.control.services import ledger
from gearshift_testing.controls import Control, Person


async def cost(person: Person, start: datetime, end: datetime | None = None) -> dict[str, Any]:
    query = {"from": to_iso(start), **({} if end is None else {"to": to_iso(end)})}
    answer = await person.get("/workspaces/alice/work/cost", **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_span_on_one_machine_costs_its_price_for_that_time(control: Control, alice: Person) -> None:
    await alice.start()
    begin = control.clock.now()
    await control.clock.advance(seconds=90)
    end = begin + timedelta(seconds=36)
    found = await cost(alice, begin, end)
    price = control.deployment.machine("cpu-small").prices[0].price_per_hour_nano  # type: ignore[union-attr]
    assert found["seconds"] == 36
    assert found["amount_nano"] == price // 100
    assert found["currency"] == control.deployment.site.currency
    assert found["image"] == control.deployment.images[0].digest
    (part,) = found["on"]
    assert part["machine"] == "cpu-small"
    assert part["title"]["zh"]
    assert part["chip"] is None
    assert part["price_per_hour_nano"] == price
    assert (await cost(alice, begin))["seconds"] == 90, "up to now"
    assert (await cost(alice, begin, end + timedelta(hours=1)))["seconds"] == 90, (
        "what is to come is not charged"
    )


async def test_a_span_over_a_switch_has_both_machines_with_their_own_prices(
    control: Control, alice: Person
) -> None:
    await alice.start()
    begin = control.clock.now()
    await control.clock.advance(seconds=10)
    await alice.switch("sim-1")
    await control.clock.advance(seconds=20)
    end = control.clock.now()
    found = await cost(alice, begin, end)
    small, chip = found["on"]
    assert (small["machine"], chip["machine"]) == ("cpu-small", "sim-1")
    assert chip["chip"]["count"] == 1
    assert found["seconds"] == small["seconds"] + chip["seconds"], "no gap, no overlap"
    for part in (small, chip):
        expected = cost_nano(part["price_per_hour_nano"], round(part["seconds"] * 1_000_000))
        assert abs(part["amount_nano"] - expected) <= 1
    with control.db.transaction() as session:
        spent = ledger.cost_of(session, ledger.subject_of("alice/work"), end, since=begin)
    assert found["amount_nano"] == spent


async def test_time_that_is_not_charged_has_no_machine(control: Control, alice: Person) -> None:
    before = control.clock.now()
    await control.clock.advance(seconds=5)
    await alice.start()
    await alice.stop()
    stopped = control.clock.now()
    await control.clock.advance(seconds=60)
    found = await cost(alice, stopped)
    assert found["on"] == []
    assert found["amount_nano"] == 0
    assert (await cost(alice, before, before + timedelta(seconds=1)))["on"] == []
    future = await cost(alice, stopped + timedelta(hours=1))
    assert (future["seconds"], future["on"]) == (0, [])


async def test_rubbish_is_refused_with_its_field_and_others_see_nothing(
    control: Control, alice: Person, bob: Person, root: Person
) -> None:
    await alice.start()
    route = "/workspaces/alice/work/cost"
    begin = to_iso(control.clock.now())
    for query, field in (
        ({"from": begin, "to": "2020-01-01T00:00:00Z"}, "to"),
        ({"from": "2026-01-01T00:00:00"}, "from"),
        ({"from": "0001-01-01T00:00:00+14:00"}, "from"),
    ):
        answer = await alice.get(route, **query)
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, field), answer.text
    for bad in ({}, {"from": "yesterday"}):
        assert (await alice.get(route, **bad)).status_code == 422
    assert (await bob.get(route, **{"from": begin})).status_code == 403
    assert (await root.get(route, **{"from": begin})).status_code == 200
    assert (await alice.get("/workspaces/alice/none/cost", **{"from": begin})).status_code == 404
    async with control.outside() as nobody:
        assert (await nobody.get(f"/api/v1{route}", params={"from": begin})).status_code == 401
