"""What an operation's steps are made of: work that can be done again, and how to undo it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.operation import Operation
from sqlalchemy.orm import Session

from gearshift_hub.control.db.operations import OperationRow


@dataclass
class Run:
    """One operation while a step works on it. `data` is what exists because of it, so far."""

    op: Operation
    name: str | None
    """The workspace's name; `op.workspace` is `owner/name`."""
    actor: str
    params: dict[str, Any]
    data: dict[str, Any]

    @property
    def id(self) -> str:
        return self.op.id

    @property
    def owner(self) -> str:
        return self.op.owner

    @property
    def workspace(self) -> str:
        assert self.op.workspace is not None
        return self.op.workspace

    def record(self, session: Session, **made: Any) -> None:
        """Write down what was made, in the transaction that makes it or right after it exists."""
        row = session.get_one(OperationRow, self.id)
        row.data = {**row.data, **made}
        self.data = dict(row.data)
        session.flush()


Work = Callable[[Run], Awaitable[dict[str, Any] | None]]
"""Returns a note for the journal. Doing it twice must leave the same as doing it once."""

Effect = Callable[[Run, Session], None]
Late = Callable[[Run, str, float], GearshiftError]


@dataclass(frozen=True)
class StepWork:
    """How one step is done and undone, and the seconds it may take."""

    do: Work
    undo: Work | None = None
    seconds: Callable[[Run], float] = lambda _run: 10.0


def _nothing(_run: Run, _session: Session) -> None:
    """No effect."""


def too_slow(_run: Run, step: str, seconds: float) -> GearshiftError:
    return fail("step_timeout", step=step, seconds=f"{seconds:g}")


@dataclass(frozen=True)
class Flow:
    """A kind of operation: its steps, and what its beginning and end change besides the journal.

    `queued` is called instead of `begin` while it waits for another operation; `begin` follows when that has ended.
    Steps named in `instant` wait for nothing: they are done before the operation is answered for.
    """

    steps: Mapping[str, StepWork]
    begin: Effect = _nothing
    queued: Effect = _nothing
    end: Effect = _nothing
    late: Late = too_slow
    instant: frozenset[str] = field(default_factory=frozenset)
