"""What control asks of the place where things really run; `local` and `kubernetes` both answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from gearshift.model.errors import fail
from gearshift.model.launch import Person, ProcessLimits
from gearshift.model.lease import Pool

T = TypeVar("T")


class MemoryInUseError(Exception):
    """A running tree uses more memory than it would be left with; nothing was changed."""

    def __init__(self, in_use_bytes: int | None, limit_bytes: int) -> None:
        super().__init__(f"{in_use_bytes} bytes in use, {limit_bytes} asked for")
        self.in_use_bytes, self.limit_bytes = in_use_bytes, limit_bytes


@dataclass(frozen=True)
class Able:
    """What this backend can do beyond the common contract; a capability is declared, never guessed."""

    freeze: bool = False
    """A stopped tree can be kept frozen and thawed (contracts 5)."""
    live_resize: bool = False
    """CPU and memory of a running tree can be changed."""
    uid_per_person: bool = False
    disks: bool = True
    """Disks besides the home can be made, shared and attached."""
    jobs: bool = True
    """Gangs can be started."""
    kept_state: bool = True
    """What a stop saved can be listed and brought back."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why something is not possible here, by name of the capability."""


class Box(Protocol):
    """The part of a backend that every deployment needs."""

    def able(self) -> Able: ...

    def pools(self) -> Sequence[Pool]:
        """Declared capacity together with what was found on the machine."""

    def ensure_person(self, name: str, slug: str, uid: int) -> Person:
        """Home folder and account name, made if missing; the same answer every time."""

    def ensure_workspace(self, person: Person, short: str) -> tuple[str, str]:
        """Runtime folder and kernel-state folder of a workspace, owned by its person."""

    def resize(self, tree: str, limits: ProcessLimits) -> None:
        """Other limits for a running tree, at once; MemoryInUseError where it uses more, and nothing is changed."""

    def memory_in_use(self, tree: str) -> int | None:
        """Bytes that a running tree holds and could not give back; None where nobody knows."""

    def state_bytes(self, short: str, state: str) -> int | None:
        """What a saved kernel state takes; None where there is none."""

    def forget_state(self, short: str, state: str) -> None:
        """Remove a saved kernel state; one that is gone is success."""

    def forget_states(self, short: str) -> None:
        """Remove all saved kernel state of a workspace."""

    def bin_home(self, slug: str) -> None:
        """Put a deleted person's home where nobody enters it; a home that is not there is success."""


class Parts:
    """Further parts of the backend (disks, data sets, jobs), found by their class."""

    def __init__(self) -> None:
        self._parts: dict[type, object] = {}

    def put(self, kind: type[T], part: T) -> None:
        self._parts[kind] = part

    def get(self, kind: type[T]) -> T:
        part = self._parts.get(kind)
        if part is None:
            what, what_zh = getattr(kind, "WORDS", (kind.__name__, kind.__name__))
            raise fail("not_offered", what=what, what_zh=what_zh)
        assert isinstance(part, kind)
        return part

    def has(self, kind: type[T]) -> bool:
        return kind in self._parts


@dataclass(frozen=True)
class Backend:
    """The box and its further parts."""

    box: Box
    parts: Parts = field(default_factory=Parts)
