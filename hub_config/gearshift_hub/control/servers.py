"""What control asks of a running workspace's own server: its kernels' variables, saving and restoring them."""

from __future__ import annotations

from typing import Any, Protocol


class ServerGoneError(Exception):
    """The workspace's server did not answer."""


class WorkspaceServers(Protocol):
    """The doors of the Lab server extension (interfaces 9), reached directly at the server's port.

    A refusal is a GearshiftError; no answer is a ServerGoneError.
    """

    async def plan(self, owner: str, name: str, port: int) -> dict[str, Any]: ...

    async def save(
        self, owner: str, name: str, port: int, operation: str, *, busy: str, leave_out: list[str]
    ) -> dict[str, Any]: ...

    async def restore(self, owner: str, name: str, port: int, operation: str) -> dict[str, Any]: ...

    async def health(self, owner: str, name: str, port: int) -> dict[str, Any]: ...
