"""Gates at the boundaries of an operation's steps: a flow whose steps call somebody before their work and after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Literal

from gearshift_hub.control.steps import Flow, Run, StepWork, Work

Direction = Literal["forward", "back"]
Moment = Literal["begun", "done"]
Point = tuple[Direction, str, Moment]
"""`begun` is before the step's work; `done` after its effect and before the journal hears of it."""

PassBy = Callable[[Point], Awaitable[None]]


def gated(flow: Flow, pass_by: PassBy) -> Flow:
    """The same flow; whoever is at a gate can wait there, or raise."""
    return replace(flow, steps={name: _gated(name, work, pass_by) for name, work in flow.steps.items()})


def _gated(name: str, work: StepWork, pass_by: PassBy) -> StepWork:
    def between(direction: Direction, act: Work | None) -> Work:
        async def go(run: Run) -> dict[str, Any] | None:
            await pass_by((direction, name, "begun"))
            note = await act(run) if act is not None else None
            await pass_by((direction, name, "done"))
            return note

        return go

    return replace(work, do=between("forward", work.do), undo=between("back", work.undo))
