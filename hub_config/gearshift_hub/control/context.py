"""What every part of control is handed: deployment, database, clock, hub, backend, events, operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gearshift.model.launch import Mount, Person
from gearshift.model.operation import Operation, OperationKind
from sqlalchemy.orm import Session

from gearshift_hub.backends.base import Backend
from gearshift_hub.control.clock import Clock
from gearshift_hub.control.db.base import Database
from gearshift_hub.control.events import EventBus
from gearshift_hub.control.hub import HubClient
from gearshift_hub.control.servers import WorkspaceServers
from gearshift_hub.control.steps import Flow
from gearshift_hub.deployment import Deployment
from gearshift_hub.paths import Home


class Operations(Protocol):
    """The engine, as services see it."""

    async def submit(
        self,
        kind: OperationKind,
        owner: str,
        name: str | None,
        *,
        actor: str,
        params: Mapping[str, Any] | None = None,
    ) -> Operation:
        """Begin (or join) an operation on the workspace `owner/name`.

        Returns as soon as it is journaled and its first, immediate steps have passed; raises their error.
        """

    async def cancel(self, operation: str, *, by: str) -> Operation:
        """Go back while that is possible; raises `too_late` after that."""

    async def wait(self, operation: str) -> Operation:
        """The operation once it has ended."""

    def resume(self) -> int:
        """Go on with what has not ended and nobody drives; returns how many."""


@dataclass
class Hooks:
    """Where disks, data sets and jobs plug in; each list is filled by the `plug(ctx)` of their modules.

    `mounts`: what a workspace's tree sees, asked for each launch as (session, owner, name).
    `memberships`: disk as written in a spec -> mode ("ro"/"rw") of one person, asked for each admission.
    `known_disks`: all disks there are, so that somebody else's is told apart from none.
    `before_launch`: (owner, name, person), right before a launch; folders and links are made here.
    `account_deleted`: after a person's workspaces have stopped.
    `shutdown`: before workspaces are stopped on Ctrl-C; jobs end here.
    `loops`: background work by name; started with the app, cancelled with it.
    `room`: called when something was given back, or somebody joined the line: who waits may be let in.
    """

    mounts: list[Callable[[Session, str, str], Sequence[Mount]]] = field(default_factory=list)
    memberships: list[Callable[[Session, str], Mapping[str, str]]] = field(default_factory=list)
    known_disks: list[Callable[[Session], Sequence[str]]] = field(default_factory=list)
    before_launch: list[Callable[[str, str, Person], Awaitable[None]]] = field(default_factory=list)
    account_deleted: list[Callable[[str], Awaitable[None]]] = field(default_factory=list)
    shutdown: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    loops: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    room: list[Callable[[], None]] = field(default_factory=list)


@dataclass
class Context:
    """One value, built by `app.build_context`, passed down; routes get it through `auth.context`."""

    deployment: Deployment
    home: Home
    base_url: str
    control_url: str
    """Where workspaces on this box reach control, without a slash at the end."""
    secret: str = field(repr=False)
    """Signs tickets and cookies."""
    state_secret: str = field(repr=False)
    """Saved kernel state is signed with keys made from it."""
    db: Database
    clock: Clock
    hub: HubClient
    servers: WorkspaceServers
    backend: Backend
    events: EventBus
    hooks: Hooks = field(default_factory=Hooks)
    plan_kinds: dict[str, Any] = field(default_factory=dict)
    """Filled by `services.plans.register`."""
    flows: dict[OperationKind, Flow] = field(default_factory=dict)
    """How each kind of operation is carried out; a service may add kinds of its own."""
    engine: Operations | None = None
    closing: bool = False
    """Everything is being stopped; nothing new is started."""

    @property
    def operations(self) -> Operations:
        """The engine; there from the moment the app is built."""
        assert self.engine is not None
        return self.engine

    @property
    def prefix(self) -> str:
        """The path under which control is served, without a slash at the end."""
        return f"{self.base_url}services/gearshift"
