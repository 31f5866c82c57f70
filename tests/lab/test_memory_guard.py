"""The memory guard's small judgements: when a share is told, whose cell grows, what a kill explains, what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
from gearshift.lab import environment
from gearshift.lab.memory.evidence import LATELY_S, Kills, kills_on_this_box
from gearshift.lab.memory.incidents import KEPT, Incident, Incidents
from gearshift.lab.memory.marks import Mark, grew_most
from gearshift.lab.memory.telling import ControlTeller
from gearshift.state.sizes import largest, size_of
from gearshift_testing.lab_server import HUB_TOKEN, FakeControl


def test_a_share_is_told_when_it_is_passed_and_again_only_after_use_fell_well_below() -> None:
    mark = Mark(0.85)
    told = [mark.passes(used, 100) for used in (80, 85, 99, 84, 86, 79, 85)]
    assert told == [False, True, False, False, False, False, True]


def test_the_cell_that_grows_is_meant_not_the_kernel_that_holds_most() -> None:
    assert grew_most({"large": 900, "small": 10}, {"large": 900, "small": 60}) == "small"
    assert grew_most({"large": 900, "small": 60}, {"large": 900, "small": 50}) == "large"
    assert grew_most({}, {}) is None


def test_each_kill_explains_one_death_and_an_old_one_explains_none() -> None:
    count, now = [3], [0.0]
    kills = Kills(lambda: count[0], lambda: now[0])
    assert not kills.explains_one()
    count[0] = 4
    assert (kills.explains_one(), kills.explains_one()) == (True, False)
    count[0] = 5
    kills.look()
    now[0] = LATELY_S + 1
    assert not kills.explains_one()


def test_where_nobody_counts_kills_none_is_claimed(tmp_path: Path) -> None:
    assert kills_on_this_box(tmp_path / "none") is None
    assert not Kills(lambda: None).explains_one()


def test_events_and_the_choice_outlive_the_server_and_old_ones_go(tmp_path: Path) -> None:
    held = Incidents(tmp_path)
    for number in range(KEPT + 1):
        facts = {"kernel": f"n{number}", "signal": 11}
        held.add(Incident.of("kernel_signal", "k", "a.ipynb", None, facts))
    held.choose(True)
    held.seen([held.all[-1].id, "unknown"])
    again = Incidents(tmp_path)
    assert (again.all, again.interrupt) == (held.all, True)
    assert (len(again.all), again.all[0].facts["kernel"]) == (KEPT, "n1")
    assert [one.seen for one in again.all[-2:]] == [False, True]


def test_a_file_that_cannot_be_read_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "memory.json").write_text("{")
    held = Incidents(tmp_path)
    assert (held.all, held.interrupt, held.newest) == ((), False, None)


class Odd:
    """An object whose own words about its size fail."""

    nbytes = property(lambda self: 1 / 0)

    def __sizeof__(self) -> int:
        raise ValueError


def test_the_largest_variables_come_first_and_one_value_counts_once() -> None:
    array = numpy.zeros(1000)
    found = largest({"a": array, "same": array, "b": [b"x" * 20_000], "odd": Odd()}, 2)["variables"]
    assert [one["name"] for one in found] == ["b", "a"]
    assert found[1]["bytes"] == 8000
    assert size_of(Odd()) == 0


async def test_control_hears_of_an_event_also_when_it_was_away(tmp_path: Path) -> None:
    answers: list[tuple[int, Any]] = [(503, {}), (200, {})]
    incident = Incident.of("kernel_oom", "k", "a.ipynb", None, {"kernel": "a.ipynb", "variables": [1]})
    with FakeControl() as control:
        control.answer = lambda _call: answers.pop(0)  # type: ignore[method-assign]
        own = environment.read(
            {
                "GEARSHIFT_CONTROL_URL": control.url,
                "GEARSHIFT_WORKSPACE": "mei/vlm",
                "GEARSHIFT_STATE_DIR": str(tmp_path),
                "JUPYTERHUB_API_TOKEN": HUB_TOKEN,
            }
        )
        assert await ControlTeller(own, pauses_s=(0.0,)).tell(incident)
        first, second = control.calls
        assert first.path == "/services/gearshift/api/v1/workspaces/mei/vlm/incidents"
        assert json.loads(second.body) == {
            "id": incident.id,
            "code": "kernel_oom",
            "kernel_id": "k",
            "path": "a.ipynb",
            "facts": {"kernel": "a.ipynb"},
        }
        answers[:] = [(403, {})]
        assert not await ControlTeller(own, pauses_s=(0.0,)).tell(incident), "a refusal is an answer"
    assert not await ControlTeller(own, pauses_s=(0.0,)).tell(incident), "nobody is there"
