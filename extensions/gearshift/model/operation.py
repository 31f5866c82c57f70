"""How an operation goes: its steps in order, forward or back, and the one function that moves it.

An operation goes forward through its steps. When a step fails, or somebody cancels, `on_failure` says where it
turns: `back` undoes the steps that were begun, last first; `on` notes the failure and goes on (a stop always does);
`end` ends it at once. Each event shortens what is left, so every path ends in done, failed or cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal

from gearshift.model.errors import fail
from gearshift.model.record import Instant, Record


class OperationKind(StrEnum):
    """What is being done; `resize` is the live form of a switch."""

    START = "start"
    STOP = "stop"
    SWITCH = "switch"
    RESIZE = "resize"
    SHUTDOWN = "shutdown"
    SNAPSHOT = "snapshot"
    RESTORE = "restore"
    DELETE_WORKSPACE = "delete_workspace"
    CANCEL_JOB = "cancel_job"
    DELETE_DISK = "delete_disk"
    REMOVE_MEMBER = "remove_member"
    DELETE_USER = "delete_user"


class OperationState(StrEnum):
    """Where an operation stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self is not self.RUNNING


class StepState(StrEnum):
    """Where a step stands. `passed` failed but was gone over; on the way back a step is `undoing`, then `undone`, or
    `stuck` when it could not be undone and is left to the reconciler."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    PASSED = "passed"
    UNDOING = "undoing"
    UNDONE = "undone"
    STUCK = "stuck"

    @property
    def must_be_undone(self) -> bool:
        """On the way back: it was begun, and may have left something."""
        return self in {self.RUNNING, self.DONE, self.FAILED, self.PASSED}


WAIT = "wait"
"""The step before a start that was asked for while the workspace is still stopping."""

STEPS: Mapping[OperationKind, tuple[str, ...]] = MappingProxyType(
    {
        OperationKind.START: ("admit", "lease", "launch", "ready", "restore", "meter"),
        OperationKind.STOP: ("save", "stop", "close", "release"),
        OperationKind.SWITCH: ("reserve", "save", "stop", "start", "restore", "verify", "release"),
        OperationKind.RESIZE: ("reserve", "resize", "verify", "release"),
        OperationKind.SHUTDOWN: ("save", "stop", "close", "release"),
        OperationKind.SNAPSHOT: ("save",),
        OperationKind.RESTORE: ("restore",),
        OperationKind.DELETE_WORKSPACE: ("server", "state", "hide"),
        OperationKind.CANCEL_JOB: ("cancel", "close", "release"),
        OperationKind.DELETE_DISK: ("detach", "bin"),
        OperationKind.REMOVE_MEMBER: ("revoke", "stop"),
        OperationKind.DELETE_USER: ("stop", "bin", "close"),
    }
)

Turn = Literal["back", "on", "end"]

_ONE_WAY = {
    OperationKind.DELETE_DISK,
    OperationKind.REMOVE_MEMBER,
    OperationKind.SNAPSHOT,
    OperationKind.RESTORE,
    OperationKind.DELETE_WORKSPACE,
}
_ALWAYS_ON = {"save", "close", "release", "detach", "revoke", "bin", "cancel"}


def on_failure(kind: OperationKind, step: str) -> Turn:
    """Where an operation turns when this step fails: after *verify* a switch only goes forward, a stop always does."""
    if kind is OperationKind.START:
        return "on" if step == "restore" else "back"
    if kind in {OperationKind.SWITCH, OperationKind.RESIZE}:
        return "on" if step == "release" else "back"
    if kind in _ONE_WAY:
        return "end"
    return "on" if step in _ALWAYS_ON else "end"


class Step(Record):
    """One step of an operation's journal."""

    name: str
    state: StepState = StepState.PENDING
    started_at: Instant | None = None
    ended_at: Instant | None = None
    note: dict[str, Any] | None = None


class Operation(Record):
    """An operation's journal. `step` is the step at work, None at the end; `error` is the body of the first failure,
    which was in `failed_step`."""

    id: str
    kind: OperationKind
    owner: str
    workspace: str | None = None
    state: OperationState = OperationState.RUNNING
    direction: Literal["forward", "back"] = "forward"
    step: str | None
    steps: tuple[Step, ...]
    error: dict[str, Any] | None = None
    failed_step: str | None = None
    cancelled_by: str | None = None
    created_at: Instant
    ended_at: Instant | None = None
    deadline_at: Instant | None = None
    result: dict[str, Any] | None = None
    from_machine: str | None = None
    """Where a switch begins."""
    to_machine: str | None = None
    expected: dict[str, float] | None = None
    """The seconds that the plan gave each step."""

    def step_named(self, name: str) -> Step:
        return next(step for step in self.steps if step.name == name)

    @property
    def can_cancel(self) -> bool:
        """Going back is possible until the last step of a start or the verify of a switch has begun."""
        if self.state.is_final or self.direction == "back" or self.step is None:
            return False
        return self.step in _CANCELLABLE.get(self.kind, frozenset())


_CANCELLABLE: Mapping[OperationKind, frozenset[str]] = MappingProxyType(
    {
        OperationKind.START: frozenset({WAIT, "admit", "lease", "launch", "ready", "restore"}),
        OperationKind.SWITCH: frozenset({"reserve", "save", "stop", "start", "restore"}),
        OperationKind.RESIZE: frozenset({"reserve"}),
        OperationKind.SNAPSHOT: frozenset({"save"}),
        OperationKind.RESTORE: frozenset({"restore"}),
    }
)


class StepDone(Record):
    """The step did its work; on the way back: it was undone."""

    step: str
    at: Instant
    note: dict[str, Any] | None = None
    result: dict[str, Any] | None = None


class StepFailed(Record):
    """The step could not, or its deadline passed; `error` is the body of a GearshiftError."""

    step: str
    at: Instant
    error: dict[str, Any]


class Cancelled(Record):
    """Somebody wants it to go back."""

    by: str
    at: Instant


Event = StepDone | StepFailed | Cancelled


def begin(
    id: str,
    kind: OperationKind,
    owner: str,
    at: datetime,
    *,
    workspace: str | None = None,
    deadline_at: datetime | None = None,
    after_stop: bool = False,
    steps: Sequence[str] | None = None,
) -> Operation:
    """A new operation with its first step at work. `after_stop` puts the step `wait` first."""
    names = (*((WAIT,) if after_stop else ()), *(steps or STEPS[kind]))
    journal = tuple(Step(name=name) for name in names)
    op = Operation(
        id=id,
        kind=kind,
        owner=owner,
        workspace=workspace,
        step=None,
        steps=journal,
        created_at=at,
        deadline_at=deadline_at,
    )
    return _enter(op, names[0], StepState.RUNNING, at)


def advance(op: Operation, event: Event) -> Operation:
    """The operation after the event. An event about a step that is not at work any more changes nothing, so an event
    may be told twice; a cancel that comes too late is refused with `too_late`."""
    if isinstance(event, Cancelled):
        return _cancel(op, event)
    if op.state.is_final or event.step != op.step:
        return op
    if op.direction == "back":
        return _undone(op, event)
    if isinstance(event, StepFailed):
        return _failed(op, event)
    return _next(_leave(op, event.step, StepState.DONE, event.at, event.note, event.result), event.at)


def _cancel(op: Operation, event: Cancelled) -> Operation:
    if op.cancelled_by is not None or op.state is OperationState.CANCELLED:
        return op
    if not op.can_cancel:
        raise fail(
            "too_late", field="operation", value=op.id, kind=op.kind.value, step=op.step or op.state.value
        )
    error = fail("cancelled", by=event.by).body()["error"]
    back = op.model_copy(update={"cancelled_by": event.by, "error": error})
    return _turn_back(back, event.at)


def _failed(op: Operation, event: StepFailed) -> Operation:
    if op.error is None:
        op = op.model_copy(update={"error": event.error, "failed_step": event.step})
    turn = on_failure(op.kind, event.step)
    if turn == "on":
        return _next(_leave(op, event.step, StepState.PASSED, event.at, {"error": event.error}), event.at)
    op = _leave(op, event.step, StepState.FAILED, event.at, {"error": event.error})
    return _turn_back(op, event.at) if turn == "back" else _end(op, OperationState.FAILED, event.at)


def _next(op: Operation, at: datetime) -> Operation:
    """Enter the first step that was not begun, or end: a step that was gone over does not make a stop fail."""
    for step in op.steps:
        if step.state is StepState.PENDING:
            return _enter(op, step.name, StepState.RUNNING, at)
    return _end(op, OperationState.DONE, at)


def _turn_back(op: Operation, at: datetime) -> Operation:
    """Undo what was begun, the step at work included: it may have left something half-done."""
    return _previous(op.model_copy(update={"direction": "back"}), at)


def _previous(op: Operation, at: datetime) -> Operation:
    for step in reversed(op.steps):
        if step.state.must_be_undone:
            return _enter(op, step.name, StepState.UNDOING, at)
    return _end(op, OperationState.CANCELLED if op.cancelled_by else OperationState.FAILED, at)


def _undone(op: Operation, event: StepDone | StepFailed) -> Operation:
    """A step that cannot be undone is noted and left to the reconciler; the way back goes on."""
    if isinstance(event, StepFailed):
        op = _leave(op, event.step, StepState.STUCK, event.at, {"undo_error": event.error})
    else:
        op = _leave(op, event.step, StepState.UNDONE, event.at, event.note, event.result)
    return _previous(op, event.at)


def _enter(op: Operation, name: str, state: StepState, at: datetime) -> Operation:
    def enter(step: Step) -> Step:
        started = step.started_at or at
        return step.model_copy(update={"state": state, "started_at": started, "ended_at": None})

    return op.model_copy(update={"step": name, "steps": _changed(op, name, enter)})


def _leave(
    op: Operation,
    name: str,
    state: StepState,
    at: datetime,
    note: Mapping[str, Any] | None = None,
    result: Mapping[str, Any] | None = None,
) -> Operation:
    def leave(step: Step) -> Step:
        merged = {**(step.note or {}), **(note or {})} or None
        return step.model_copy(update={"state": state, "ended_at": at, "note": merged})

    update: dict[str, Any] = {"steps": _changed(op, name, leave)}
    if result is not None:
        update["result"] = {**(op.result or {}), **result}
    return op.model_copy(update=update)


def _changed(op: Operation, name: str, change: Callable[[Step], Step]) -> tuple[Step, ...]:
    return tuple(change(step) if step.name == name else step for step in op.steps)


def _end(op: Operation, state: OperationState, at: datetime) -> Operation:
    return op.model_copy(update={"state": state, "step": None, "ended_at": at})
