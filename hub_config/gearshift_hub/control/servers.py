"""What control asks of a running workspace's own server: its kernels' variables, saving and restoring them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gearshift.model.machine import Machine

Names = Mapping[str, Sequence[str]] | Sequence[str]
"""Names of variables by a kernel's id, or for every kernel."""


class ServerGoneError(Exception):
    """The workspace's server did not answer."""


class WorkspaceServers(Protocol):
    """The doors of the Lab server extension (interfaces 9), reached directly at the server's port.

    A refusal is a GearshiftError; no answer is a ServerGoneError.
    """

    async def plan(self, owner: str, name: str, port: int, *, probe: bool = False) -> dict[str, Any]:
        """With `probe` it also measures how fast the disk takes a state and gives it back."""

    async def save(
        self,
        owner: str,
        name: str,
        port: int,
        operation: str,
        *,
        busy: str,
        leave_out: Names,
        rerun: Names = (),
        partly: bool = False,
        leaving: bool = False,
        durable: bool = True,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """`seconds` is what kernels may take: a late one is left behind where `busy` allows that, else refused by name.
        With `partly` a kernel that cannot be saved is told in the report and fails nothing. With `leaving` the server
        is stopped next: its documents are saved and closed until it is, or is told to `stay`. What is not `durable` may
        be lost in a power cut."""

    async def stay(self, owner: str, name: str, port: int) -> None: ...

    async def restore(
        self,
        owner: str,
        name: str,
        port: int,
        operation: str,
        *,
        state: str | None = None,
        check: bool = False,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """Bring back the kept `state`, else what the operation itself saved. With `check` all of it is verified first:
        one damaged byte, and nothing is used.
        """

    async def look_at(self, owner: str, name: str, port: int, disk: str, state: str) -> dict[str, Any]:
        """A kept state of theirs on this attached disk, as it lies there now; its `digest` stands for all of it."""

    async def bring_in(
        self,
        owner: str,
        name: str,
        port: int,
        operation: str,
        *,
        disk: str,
        state: str,
        consent: Mapping[str, str],
    ) -> dict[str, Any]:
        """Copy it to where nobody else writes, verified and as its owner agreed, under the operation's name."""

    async def activity(self, owner: str, name: str, port: int) -> dict[str, Any]:
        """What it is busy with, as `gearshift.model.idle.Activity` reads it."""

    async def resize(self, owner: str, name: str, port: int, machine: Machine) -> dict[str, Any]:
        """Tell it that it is on this machine now; which kernels follow at once, and which when their cell has ended."""

    async def health(self, owner: str, name: str, port: int) -> dict[str, Any]: ...
