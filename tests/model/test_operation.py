"""Operations: whatever happens in whatever order, each ends, and what was begun is undone or done."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.operation import (
    STEPS,
    WAIT,
    Cancelled,
    Event,
    Operation,
    OperationKind,
    OperationState,
    StepDone,
    StepFailed,
    StepState,
    advance,
    begin,
)
from gearshift_testing.catalogue import NOW
from hypothesis import given
from hypothesis import strategies as st

ERROR = fail("step_timeout", step="start", seconds=60).body()["error"]
KINDS = st.sampled_from(list(OperationKind))
WORDS = st.lists(st.sampled_from(["done", "failed", "cancel", "stale", "again"]), max_size=60)
ENDED = {StepState.DONE, StepState.PASSED, StepState.FAILED, StepState.UNDONE, StepState.STUCK}


def new(kind: OperationKind, after_stop: bool = False) -> Operation:
    return begin("op-1", kind, "A", NOW, workspace="A/work", after_stop=after_stop)


def event(op: Operation, word: str, at: datetime) -> Event:
    """What could be told about the operation now."""
    step = op.step or op.steps[-1].name
    match word:
        case "cancel":
            return Cancelled(by="A", at=at)
        case "failed":
            return StepFailed(step=step, at=at, error=ERROR)
        case "stale":
            other = op.steps[0].name if op.steps[0].name != step else op.steps[-1].name
            return StepFailed(step=other, at=at, error=ERROR)
        case _:
            return StepDone(step=step, at=at)


def told(op: Operation, what: Event) -> Operation:
    """The operation after the event, or as it was when the event was refused."""
    try:
        return advance(op, what)
    except GearshiftError as error:
        if error.code != "too_late":
            raise
        return op


def left(op: Operation) -> int:
    """How many events it can take at most from here: the measure that each event must shorten."""
    undo = sum(step.state.must_be_undone or step.state is StepState.UNDOING for step in op.steps)
    pending = sum(step.state is StepState.PENDING for step in op.steps)
    if op.state.is_final:
        return 0
    return undo + 1 if op.direction == "back" else len(op.steps) + 2 + pending


def run(kind: OperationKind, words: list[str], after_stop: bool = False) -> list[Operation]:
    ops = [new(kind, after_stop)]
    for number, word in enumerate(words):
        ops.append(told(ops[-1], event(ops[-1], word, NOW + timedelta(seconds=number))))
    return ops


@given(KINDS, WORDS, st.booleans())
def test_every_path_ends(kind: OperationKind, words: list[str], after_stop: bool) -> None:
    op = run(kind, words, after_stop)[-1]
    steps = 0
    while not op.state.is_final:
        op = advance(op, event(op, "done", NOW))
        steps += 1
        assert steps <= 2 * len(op.steps)
    assert op.step is None
    assert op.ended_at is not None


@given(KINDS, WORDS, st.sampled_from(["done", "failed"]))
def test_each_step_told_brings_the_end_nearer(kind: OperationKind, words: list[str], word: str) -> None:
    for op in run(kind, words):
        after = advance(op, event(op, word, NOW))
        assert op.state.is_final or left(after) < left(op)


@given(KINDS, WORDS)
def test_one_step_is_at_work_until_the_end_and_none_after(kind: OperationKind, words: list[str]) -> None:
    for op in run(kind, words):
        at_work = [step.name for step in op.steps if step.state in {StepState.RUNNING, StepState.UNDOING}]
        assert at_work == ([] if op.state.is_final else [op.step])


@given(KINDS, WORDS)
def test_what_went_back_has_undone_all_that_was_begun(kind: OperationKind, words: list[str]) -> None:
    op = run(kind, words)[-1]
    if op.state.is_final and op.direction == "back":
        assert {step.state for step in op.steps} <= {StepState.UNDONE, StepState.STUCK, StepState.PENDING}
        assert op.error is not None
        assert op.state in {OperationState.FAILED, OperationState.CANCELLED}


@given(KINDS, WORDS)
def test_done_means_that_every_step_was_done_or_gone_over(kind: OperationKind, words: list[str]) -> None:
    op = run(kind, words)[-1]
    if op.state is OperationState.DONE:
        assert {step.state for step in op.steps} <= {StepState.DONE, StepState.PASSED}


@given(KINDS, WORDS)
def test_an_ended_operation_never_changes(kind: OperationKind, words: list[str]) -> None:
    op = run(kind, words)[-1]
    while not op.state.is_final:
        op = advance(op, event(op, "done", NOW))
    for word in ("done", "failed", "stale", "cancel"):
        assert told(op, event(op, word, NOW)) == op


@given(KINDS, WORDS, st.sampled_from(["done", "failed"]))
def test_an_event_told_twice_counts_once(kind: OperationKind, words: list[str], word: str) -> None:
    op = run(kind, words)[-1]
    what = event(op, word, NOW)
    once = advance(op, what)
    if once.step != op.step:
        assert advance(once, what) == once


@given(KINDS, WORDS)
def test_a_step_that_was_left_has_its_times(kind: OperationKind, words: list[str]) -> None:
    for step in run(kind, words)[-1].steps:
        assert (step.started_at is None) == (step.state is StepState.PENDING)
        assert (step.ended_at is not None) == (step.state in ENDED)


@given(KINDS, WORDS)
def test_a_journal_survives_the_database(kind: OperationKind, words: list[str]) -> None:
    op = run(kind, words)[-1]
    assert Operation.model_validate(op.model_dump(mode="json")) == op


@pytest.mark.parametrize("kind", list(OperationKind))
def test_the_straight_path_does_the_steps_in_order(kind: OperationKind) -> None:
    op = new(kind)
    seen = []
    while op.step is not None:
        seen.append(op.step)
        op = advance(op, StepDone(step=op.step, at=NOW, note={"n": len(seen)}, result={op.step: True}))
    assert tuple(seen) == STEPS[kind]
    assert op.state is OperationState.DONE
    assert op.result == dict.fromkeys(seen, True)


@pytest.mark.parametrize("kind", [OperationKind.STOP, OperationKind.SHUTDOWN])
def test_a_stop_goes_on_when_the_save_failed(kind: OperationKind) -> None:
    op = advance(new(kind), StepFailed(step="save", at=NOW, error=ERROR))
    assert (op.step, op.direction, op.failed_step) == ("stop", "forward", "save")
    assert op.step_named("save").state is StepState.PASSED


def test_a_stop_that_is_not_confirmed_gives_nothing_back() -> None:
    op = advance(new(OperationKind.STOP), StepDone(step="save", at=NOW))
    op = advance(op, StepFailed(step="stop", at=NOW, error=ERROR))
    assert op.state is OperationState.FAILED
    assert op.step_named("release").state is StepState.PENDING


def at_step(kind: OperationKind, name: str) -> Operation:
    op = new(kind)
    while op.step != name:
        assert op.step is not None
        op = advance(op, StepDone(step=op.step, at=NOW))
    return op


@pytest.mark.parametrize("name", STEPS[OperationKind.SWITCH][:-1])
def test_a_switch_that_fails_before_release_goes_all_the_way_back(name: str) -> None:
    op = advance(at_step(OperationKind.SWITCH, name), StepFailed(step=name, at=NOW, error=ERROR))
    undone = []
    while op.step is not None:
        undone.append(op.step)
        op = advance(op, StepDone(step=op.step, at=NOW))
    steps = STEPS[OperationKind.SWITCH]
    assert undone == list(reversed(steps[: steps.index(name) + 1]))
    assert (op.state, op.error, op.failed_step) == (OperationState.FAILED, ERROR, name)


def test_a_switch_that_was_verified_only_goes_forward() -> None:
    op = advance(at_step(OperationKind.SWITCH, "release"), StepFailed(step="release", at=NOW, error=ERROR))
    assert op.state is OperationState.DONE


@pytest.mark.parametrize("name", STEPS[OperationKind.START][:-1])
def test_c03_a_start_can_be_cancelled_until_it_is_ready(name: str) -> None:
    op = advance(at_step(OperationKind.START, name), Cancelled(by="A", at=NOW))
    assert op.direction == "back"
    while op.step is not None:
        op = advance(op, StepDone(step=op.step, at=NOW))
    assert op.state is OperationState.CANCELLED
    assert op.error is not None
    assert op.error["code"] == "cancelled"


@pytest.mark.parametrize(
    ("kind", "name"),
    [(OperationKind.SWITCH, "verify"), (OperationKind.SWITCH, "release"), (OperationKind.START, "meter")],
)
def test_too_late_to_go_back_is_said(kind: OperationKind, name: str) -> None:
    op = at_step(kind, name)
    assert not op.can_cancel
    with pytest.raises(GearshiftError) as caught:
        advance(op, Cancelled(by="A", at=NOW))
    assert caught.value.code == "too_late"
    assert name in caught.value.message


def test_a_second_cancel_changes_nothing() -> None:
    once = advance(at_step(OperationKind.START, "launch"), Cancelled(by="A", at=NOW))
    assert advance(once, Cancelled(by="B", at=NOW)) == once


def test_what_cannot_be_undone_is_noted_and_the_way_back_goes_on() -> None:
    op = advance(at_step(OperationKind.START, "launch"), StepFailed(step="launch", at=NOW, error=ERROR))
    op = advance(op, StepFailed(step="launch", at=NOW, error=ERROR))
    assert op.step == "lease"
    assert op.step_named("launch").state is StepState.STUCK
    assert op.step_named("launch").note == {"error": ERROR, "undo_error": ERROR}


def test_c01_a_start_during_a_stop_waits_as_a_step_of_its_own() -> None:
    op = new(OperationKind.START, after_stop=True)
    assert op.step == WAIT
    assert [step.name for step in op.steps] == [WAIT, *STEPS[OperationKind.START]]
    assert op.can_cancel
    assert advance(op, StepDone(step=WAIT, at=NOW)).step == "admit"
