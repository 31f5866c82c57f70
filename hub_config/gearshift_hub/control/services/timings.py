"""How long stages took, written down when an operation is done; how long those of the next one will take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gearshift.model.operation import STEPS, Operation, OperationKind, OperationState, Step, StepState
from gearshift.model.pace import Line, Measured, line, usual
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from gearshift_hub.control.db.timings import TimingRow

LEARNED_FROM = 12
ENOUGH_OF_ONES_OWN = 3
KEPT_PER_STAGE = 500
WITH_BYTES = {"save": "saved", "restore": "restored"}
"""Stages whose time depends on bytes, and the report that says how many; any kind of operation teaches these."""
LEARNED = frozenset({"start", "stop", "switch", "resize", "snapshot"})
GUESSES_S = {
    "reserve": 0.05,
    "save": 0.1,
    "stop": 0.2,
    "start": 1.5,
    "restore": 0.5,
    "verify": 0.1,
    "release": 0.2,
    "resize": 0.3,
}
"""Used, and said to be guesses, for as long as nothing was measured."""


@dataclass(frozen=True)
class Burden:
    """What a switch carries: bytes; the seconds that are known whatever the disk, by stage (objects to be looked at,
    cells to run again); and the seconds a byte costs by stage, as a probe of the disk says."""

    bytes: int = 0
    known: Mapping[str, float] = field(default_factory=dict)
    per_byte: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Prediction:
    """Seconds by stage; `runs` is how many measured ones they are learned from, 0 when they are first guesses."""

    stages: dict[str, float]
    per_byte: float
    runs: int

    @property
    def seconds(self) -> float:
        return sum(self.stages.values())


def learn(session: Session, op: Operation, params: Mapping[str, Any], at: datetime) -> None:
    """Write down the stages of an operation that is done."""
    if op.kind not in LEARNED or op.state is not OperationState.DONE:
        return
    for step in op.steps:
        told = _reported(op, step.name)
        if step.state is StepState.DONE and step.ended_at and (told or step.name not in WITH_BYTES):
            session.add(_row(op, step, told, params, at))
            _forget(session, op.kind, step.name)


def predict(session: Session, owner: str, kind: OperationKind, burden: Burden) -> Prediction:
    """From the last ones of this person, else of everybody."""
    stages, slopes, runs = {}, 0.0, 0
    for stage in STEPS[kind]:
        measured = _measured(session, owner, kind, stage)
        runs = max(runs, len(measured))
        if stage in WITH_BYTES:
            found = line(measured, Line(GUESSES_S[stage], burden.per_byte.get(stage, 0.0)))
            slopes += found.per_byte
            seconds = found.at(burden.bytes)
        else:
            seconds = usual([run.seconds for run in measured], _guess(session, owner, stage))
        stages[stage] = round(seconds + burden.known.get(stage, 0.0), 3)
    return Prediction(stages, slopes, runs)


def knows_bytes(session: Session, owner: str) -> bool:
    """Whether what a byte costs was measured already, so that the disk need not be probed."""
    runs = _measured(session, owner, OperationKind.SWITCH, "save")
    return line(runs, Line(GUESSES_S["save"], 0.0)).per_byte > 0


def _row(
    op: Operation, step: Step, told: Mapping[str, Any], params: Mapping[str, Any], at: datetime
) -> TimingRow:
    assert step.started_at is not None
    assert step.ended_at is not None
    took = (step.ended_at - step.started_at).total_seconds()
    return TimingRow(
        operation=op.id,
        stage=step.name,
        kind=op.kind,
        owner=op.owner,
        at=at,
        bytes=int(number(told.get("bytes"))),
        seconds=max(took - _known(op, step.name, params), 0.0),
    )


def _known(op: Operation, stage: str, params: Mapping[str, Any]) -> float:
    """What says nothing about the disk: what the plan knew already, and waiting for a cell to end."""
    known = float((params.get("known") or {}).get(stage, 0.0))
    return known + number(_reported(op, stage).get("waited_seconds"))


def _reported(op: Operation, stage: str) -> Mapping[str, Any]:
    """The word of the person's own server on what it saved or brought back; empty where there is none."""
    told = (op.result or {}).get(WITH_BYTES.get(stage, ""))
    return told if isinstance(told, dict) else {}


def number(told: object) -> float:
    """A number as told by somebody else's server; 0 for anything that is none."""
    return max(float(told), 0.0) if isinstance(told, int | float) and math.isfinite(told) else 0.0


def _forget(session: Session, kind: OperationKind, stage: str) -> None:
    of_stage = select(TimingRow.at).where(TimingRow.kind == kind, TimingRow.stage == stage)
    oldest = session.scalar(of_stage.order_by(TimingRow.at.desc()).offset(KEPT_PER_STAGE).limit(1))
    if oldest is not None:
        session.execute(
            delete(TimingRow).where(TimingRow.kind == kind, TimingRow.stage == stage, TimingRow.at <= oldest)
        )


def _guess(session: Session, owner: str, stage: str) -> float:
    """A start of a workspace was measured, if nothing else: the one that is to be switched."""
    if stage != "start":
        return GUESSES_S[stage]
    starts = _measured(session, owner, OperationKind.START, "ready")
    return usual([run.seconds for run in starts], GUESSES_S[stage])


def _measured(session: Session, owner: str, kind: OperationKind, stage: str) -> Sequence[Measured]:
    of_kind = () if stage in WITH_BYTES else (TimingRow.kind == kind,)
    query = (
        select(TimingRow.bytes, TimingRow.seconds)
        .where(TimingRow.stage == stage, *of_kind)
        .order_by(TimingRow.at.desc())
        .limit(LEARNED_FROM)
    )
    own = [Measured(*row) for row in session.execute(query.where(TimingRow.owner == owner))]
    return own if len(own) >= ENOUGH_OF_ONES_OWN else [Measured(*row) for row in session.execute(query)]
