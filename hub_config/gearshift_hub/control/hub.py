"""What control asks of the hub: who somebody is, and start, stop, hold, release and state of a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol


@dataclass(frozen=True)
class HubUser:
    """The owner of a token, as the hub knows them."""

    name: str
    kind: Literal["user", "service"] = "user"
    scopes: frozenset[str] = field(default_factory=frozenset)
    signed_in: bool = False
    """The token belongs to a browser's sign-in, not to a program."""


@dataclass(frozen=True)
class ServerState:
    """What the hub knows of one server at this moment."""

    owner: str
    name: str
    ready: bool = False
    pending: str | None = None
    frozen: bool = False
    held_by: str | None = None
    """The switch that holds it, or held it and could not say that it has ended."""
    operation: str | None = None
    pid: int | None = None
    port: int | None = None
    url: str | None = None
    tree: str | None = None
    exit_code: int | None = None
    last_activity: datetime | None = None

    @property
    def alive(self) -> bool:
        """Something of it runs, or is about to."""
        return self.ready or self.pending is not None


class HubDownError(Exception):
    """The hub did not answer; nothing is known about any server."""


class HubClient(Protocol):
    """The doors of the hub (interfaces 8). Everything that acts is idempotent by operation id.

    A refusal by the hub is a GearshiftError (start_failed, start_timeout, ...); no answer is a HubDownError.
    """

    async def whoami(self, token: str) -> HubUser | None: ...

    async def token_for_code(self, code: str, redirect_uri: str) -> str | None: ...

    async def start(self, owner: str, name: str, operation: str, *, thaw: bool = False) -> ServerState: ...

    async def stop(
        self, owner: str, name: str, operation: str, *, freeze: bool = False, resume: bool = False
    ) -> Literal["stopped", "frozen"]: ...

    async def hold(self, owner: str, name: str, operation: str) -> None: ...

    async def release(self, owner: str, name: str, operation: str, keep: Literal["new", "old"]) -> None: ...

    async def state(self, owner: str, name: str) -> ServerState: ...

    async def servers(self) -> list[ServerState]: ...

    async def remove(self, owner: str, name: str) -> None: ...

    async def add_user(self, name: str, admin: bool) -> None: ...

    async def remove_user(self, name: str) -> None: ...
