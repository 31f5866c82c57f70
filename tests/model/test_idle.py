"""The idle rule: what counts as work, that nothing that computes is ever due, and that a warning comes before each act."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from gearshift.model.idle import (
    Activity,
    Cause,
    EndOfWork,
    IdleAction,
    IdleClock,
    Policy,
    Verdict,
    after,
    busy_with,
    judge,
    observe,
)
from hypothesis import given
from hypothesis import strategies as st

READY = datetime(2026, 12, 1, 9, tzinfo=UTC)
POLICY = Policy(action=IdleAction.STOP, after_s=600, warn_s=120, stuck_s=7200, grace_s=60)
STEP_S = 15


def at(seconds: float) -> datetime:
    return READY + timedelta(seconds=seconds)


def says(seconds: float = 0, **what: Any) -> Activity:
    return Activity(at=at(seconds), **what)


class Life:
    """A workspace from ready on, looked at every 15 s."""

    def __init__(self, policy: Policy = POLICY) -> None:
        self.policy = policy
        self.clock = IdleClock.started(READY)
        self.now = 0.0
        self.warned: list[float] = []
        self.acted: tuple[float, Verdict] | None = None

    def look(self, activity: Activity | None) -> Verdict:
        self.now += STEP_S
        self.clock = observe(self.clock, activity, self.policy, at(self.now))
        verdict = judge(self.clock, self.policy, at(self.now))
        self.clock = after(self.clock, verdict, at(self.now))
        if verdict.warn:
            self.warned.append(self.now)
        if verdict.due and self.acted is None:
            self.acted = (self.now, verdict)
        return verdict

    def go_on(self, seconds: float, **what: Any) -> Life:
        for _ in range(round(seconds / STEP_S)):
            self.look(says(self.now + STEP_S, **what))
        return self


@pytest.mark.parametrize(
    ("what", "busy"),
    [
        ({}, ()),
        ({"busy_kernels": 1}, ("kernel",)),
        ({"terminals": 1}, ("terminal",)),
        ({"jobs": 2}, ("job",)),
        ({"pages": 3}, ()),
        ({"chip_share": 0.01}, ()),
        ({"chip_share": 0.02}, ("chip",)),
        ({"cpu_share": 0.05, "cpus": 8}, ()),
        ({"cpu_share": 0.06, "cpus": 8}, ("cpu",)),
        ({"cpu_share": 0.3, "cpus": 0.1}, ()),
        ({"cpu_share": 0.9, "cpus": 0.1}, ("cpu",)),
        ({"cpu_share": None, "chip_share": None}, ()),
    ],
)
def test_what_counts_as_work(what: dict[str, Any], busy: tuple[str, ...]) -> None:
    assert busy_with(says(**what), POLICY) == busy


def test_an_open_page_counts_only_where_the_operator_says_so() -> None:
    counts = POLICY.model_copy(update={"open_page_counts": True})
    assert busy_with(says(pages=1), counts) == ("page",)


def test_idle_begins_at_ready_is_warned_of_and_then_due() -> None:
    life = Life().go_on(900)
    assert life.warned == [480]
    assert life.acted is not None
    assert life.acted[0] == 600
    assert (life.acted[1].cause, life.acted[1].action) == (Cause.IDLE, IdleAction.STOP)


def test_a_silent_cell_of_hours_is_not_idle_and_the_time_runs_from_its_end() -> None:
    life = Life().go_on(3600, busy_kernels=1)
    assert (life.warned, life.acted) == ([], None)
    life.go_on(900)
    assert life.acted is not None
    assert life.acted[0] == 4200


def test_a_person_who_types_is_not_idle_and_a_stale_stamp_is_no_activity() -> None:
    life = Life().go_on(300).go_on(15, used_at=at(310)).go_on(900, used_at=at(310), executed_at=at(-9000))
    assert life.acted is not None
    assert life.acted[0] == 915


def test_a_stamp_from_the_future_holds_nothing_up_for_ever() -> None:
    life = Life().go_on(15, used_at=at(90_000)).go_on(900)
    assert life.acted is not None


def test_a_server_that_does_not_answer_is_left_alone_until_the_bound_for_what_is_stuck() -> None:
    life = Life()
    for _ in range(7185 // STEP_S):
        life.look(None)
        assert life.acted is None
    assert len(life.warned) == 1
    for _ in range(4):
        life.look(None)
    assert life.acted is not None
    assert life.acted[1].cause is Cause.STUCK


def test_what_computes_is_never_stuck_and_what_only_looks_busy_is_warned_and_stopped() -> None:
    assert Life().go_on(86_400, busy_kernels=1, cpu_share=0.5, cpus=2).acted is None
    stuck = Life().go_on(8000, busy_kernels=1)
    assert stuck.acted is not None
    assert (stuck.acted[0], stuck.acted[1].cause) == (7215, Cause.STUCK)
    assert stuck.warned == [7095]


def test_keeping_it_longer_puts_the_end_off_and_warns_anew() -> None:
    life = Life().go_on(540)
    life.policy = POLICY.model_copy(update={"keep_until": at(4200)})
    life.go_on(4500)
    assert life.warned == [480, 4080]
    assert life.acted is not None
    assert life.acted[0] == 4200


def test_at_the_end_of_a_cell_what_was_asked_for_is_done_although_a_page_is_read() -> None:
    end = EndOfWork(action=IdleAction.DROP, set_at=READY)
    life = Life(POLICY.model_copy(update={"end": end}))
    life.go_on(1200, busy_kernels=1)
    assert life.acted is None
    life.go_on(90, used_at=at(1230))
    assert life.acted is not None
    assert (life.acted[0], life.acted[1].action, life.acted[1].cause) == (1275, IdleAction.DROP, Cause.END)
    assert life.warned == [1215]


def test_a_timer_waits_for_what_runs_then_acts() -> None:
    end = EndOfWork(action=IdleAction.STOP, set_at=READY, at=at(300))
    waits = Life(POLICY.model_copy(update={"end": end})).go_on(450, busy_kernels=1).go_on(120)
    assert waits.acted is not None
    assert waits.acted[0] == 525
    punctual = Life(POLICY.model_copy(update={"end": end})).go_on(420)
    assert punctual.acted is not None
    assert punctual.acted[0] == 300


def test_keep_means_that_nothing_is_ever_done() -> None:
    assert Life(POLICY.model_copy(update={"action": IdleAction.KEEP})).go_on(86_400).acted is None
    assert Life(POLICY.model_copy(update={"after_s": 0.0})).go_on(86_400).acted is None


SHARES = st.one_of(st.none(), st.floats(0, 1))
REPORTS = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "busy_kernels": st.integers(0, 2),
            "terminals": st.integers(0, 1),
            "jobs": st.integers(0, 1),
            "pages": st.integers(0, 2),
            "cpu_share": SHARES,
            "cpus": st.sampled_from([0.1, 1.0, 16.0]),
            "chip_share": SHARES,
        },
    ),
)
STRETCHES = st.lists(st.tuples(REPORTS, st.integers(1, 60)), min_size=1, max_size=8)
POLICIES = st.builds(
    Policy,
    action=st.sampled_from(IdleAction),
    after_s=st.sampled_from([0.0, 120.0, 600.0]),
    warn_s=st.sampled_from([15.0, 60.0, 120.0]),
    stuck_s=st.sampled_from([0.0, 900.0]),
    grace_s=st.sampled_from([30.0, 60.0]),
    keep_until=st.one_of(st.none(), st.integers(0, 3000).map(at)),
    end=st.one_of(
        st.none(),
        st.builds(
            EndOfWork,
            action=st.sampled_from([IdleAction.STOP, IdleAction.DROP]),
            set_at=st.just(READY),
            at=st.one_of(st.none(), st.integers(0, 2000).map(at)),
        ),
    ),
)


@given(POLICIES, STRETCHES)
def test_nothing_that_works_is_due_but_what_is_stuck_and_all_is_warned_of_before(
    policy: Policy, stretches: list[tuple[dict[str, Any] | None, int]]
) -> None:
    life = Life(policy)
    for what, looks in stretches:
        for _ in range(looks):
            activity = None if what is None else says(life.now + STEP_S, **what)
            verdict = life.look(activity)
            if verdict.due:
                _check_due(life, verdict, activity)
                return
    assert life.acted is None


def _check_due(life: Life, verdict: Verdict, activity: Activity | None) -> None:
    policy, busy = life.policy, busy_with(activity, life.policy)
    warn_s = min(policy.warn_s, policy.grace_s) if verdict.cause is Cause.END else policy.warn_s
    assert life.warned
    assert life.now - life.warned[-1] >= warn_s
    assert policy.keep_until is None or at(life.now) >= policy.keep_until
    assert not {"cpu", "chip", "job"}.intersection(busy)
    if verdict.cause is Cause.STUCK:
        assert busy
        assert life.now >= policy.stuck_s
    else:
        assert not busy
    if verdict.cause is Cause.IDLE:
        assert life.now >= policy.after_s


@given(POLICIES, STRETCHES)
def test_an_idle_workspace_always_comes_to_its_end(
    policy: Policy, stretches: list[tuple[dict[str, Any] | None, int]]
) -> None:
    life = Life(policy)
    for what, looks in stretches:
        for _ in range(looks):
            life.look(None if what is None else says(life.now + STEP_S, **what))
    life.acted = None
    life.go_on(7200)
    ends = policy.end is not None or (policy.action is not IdleAction.KEEP and policy.after_s > 0)
    assert (life.acted is not None) == ends
