"""Stand-ins with behaviour for what control works with: a clock, a hub with servers and kernels, a box; each can fail.

A fault is set at a named stage: `hub.faults.at("start", refuse("start_failed", exit=3))`. Stages of the hub: `start`
`started` `stop` `stopped` `hold` `release` `state` `servers` `remove`; of servers: `plan` `save` `restore` `activity`
`health`. The second of a pair comes after the effect and before the answer: where a crash hurts most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from gearshift.model.errors import fail
from gearshift.model.launch import LaunchPlan, Person, ProcessLimits
from gearshift.model.lease import Pool
from gearshift_hub.backends.base import Able, MemoryInUseError
from gearshift_hub.control.hub import HubDownError, HubUser, ServerState
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.deployment import Deployment

BEGIN = datetime(2026, 11, 30, 20, 52, 16, tzinfo=UTC)
Fault = Callable[[], Awaitable[None]]
Launcher = Callable[[str, str, str], Awaitable[LaunchPlan]]


class FakeClock:
    """Time stands still until it is told to go on."""

    def __init__(self, now: datetime = BEGIN) -> None:
        self._now = now
        self._steady = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._steady

    async def sleep(self, seconds: float) -> None:
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._steady + seconds, sleeper))
        await sleeper

    async def advance(self, seconds: float = 0.0, **more: float) -> None:
        """Let time pass, wake who waited for it, and let them work until all wait again."""
        step = timedelta(seconds=seconds, **more)
        self._now += step
        self._steady += step.total_seconds()
        due = [sleeper for at, sleeper in self._sleepers if at <= self._steady]
        self._sleepers = [(at, sleeper) for at, sleeper in self._sleepers if at > self._steady]
        for sleeper in due:
            if not sleeper.done():
                sleeper.set_result(None)
        await idle()


async def idle(turns: int = 60) -> None:
    """Let everything go on that can."""
    for _ in range(turns):
        await asyncio.sleep(0)


class Faults:
    """What goes wrong where, and how often; a stage without a fault passes."""

    def __init__(self) -> None:
        self._at: dict[str, list[Fault]] = {}
        self.passed: list[str] = []
        self._reached = asyncio.Event()

    def at(self, stage: str, fault: Fault, times: int = 1) -> None:
        self._at.setdefault(stage, []).extend([fault] * times)

    def clear(self) -> None:
        self._at.clear()

    async def reached(self, stage: str) -> None:
        """Until somebody has come to this stage."""
        while stage not in self.passed:
            self._reached.clear()
            await self._reached.wait()

    async def pass_by(self, stage: str) -> None:
        self.passed.append(stage)
        self._reached.set()
        waiting = self._at.get(stage)
        if waiting:
            await waiting.pop(0)()


def refuse(code: str, **facts: Any) -> Fault:
    """An answer that is one of our errors."""

    async def fault() -> None:
        raise fail(code, **facts)

    return fault


async def hub_away() -> None:
    """No answer."""
    raise HubDownError("connection refused")


async def server_away() -> None:
    """No answer of a workspace's server."""
    raise ServerGoneError("connection refused")


def until(event: asyncio.Event) -> Fault:
    """Hangs until the event is set."""

    async def fault() -> None:
        await event.wait()

    return fault


@dataclass
class FakeTree:
    """A process tree with what its kernels hold."""

    name: str
    operation: str
    plan: LaunchPlan
    port: int
    alive: bool = True
    frozen: bool = False
    variables: dict[str, object] = field(default_factory=dict)


@dataclass
class FakeServer:
    """One named server of the hub: the tree that runs, the one kept frozen, who holds it."""

    current: FakeTree | None = None
    kept: FakeTree | None = None
    held_by: str | None = None
    pending: str | None = None
    exit_code: int | None = None
    last_activity: datetime | None = None


class FakeHub:
    """A hub whose servers live in memory, by the contract of interfaces 8; `launch` asks control for launch plans."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.faults = Faults()
        self.users: dict[str, HubUser] = {}
        self.codes: dict[str, str] = {}
        self.known: dict[str, bool] = {}
        self.servers_by_id: dict[tuple[str, str], FakeServer] = {}
        self.trees: list[FakeTree] = []
        self.launch: Launcher | None = None
        self.asked = 0
        """How often somebody's token was asked about."""

    # -- people ------------------------------------------------------------------------------------

    def give_token(
        self, token: str, name: str, scopes: Sequence[str], kind: str = "user", signed_in: bool = False
    ) -> str:
        user = HubUser(name, "service" if kind == "service" else "user", frozenset(scopes), signed_in)
        self.users[token] = user
        return token

    async def whoami(self, token: str) -> HubUser | None:
        self.asked += 1
        return self.users.get(token)

    async def token_for_code(self, code: str, redirect_uri: str) -> str | None:
        return self.codes.pop(code, None)

    async def add_user(self, name: str, admin: bool) -> None:
        self.known[name] = admin

    async def remove_user(self, name: str) -> None:
        self.known.pop(name, None)

    # -- servers -----------------------------------------------------------------------------------

    def server(self, owner: str, name: str) -> FakeServer:
        return self.servers_by_id.setdefault((owner, name), FakeServer())

    @property
    def running(self) -> list[FakeTree]:
        """Trees that use something, frozen ones too."""
        return [tree for tree in self.trees if tree.alive]

    async def start(self, owner: str, name: str, operation: str, *, thaw: bool = False) -> ServerState:
        await self.faults.pass_by("start")
        server = self._mine(owner, name, operation)
        if thaw and server.kept is not None:
            self._thaw(server)
        elif server.current is None or not server.current.alive:
            await self._spawn(server, owner, name, operation)
        elif server.current.operation != operation:
            raise fail("already_running", workspace=f"{owner}/{name}")
        await self.faults.pass_by("started")
        return self._state(owner, name)

    def _thaw(self, server: FakeServer) -> None:
        tree, server.kept = server.kept, None
        if tree is None or not tree.alive:
            raise fail("restore_failed", machine="the old machine", cause="the paused server is gone")
        tree.frozen, server.current = False, tree

    async def _spawn(self, server: FakeServer, owner: str, name: str, operation: str) -> None:
        assert self.launch is not None
        server.pending = "spawn"
        try:
            plan = await self.launch(owner, name, operation)
            await self.faults.pass_by("spawn")
        except BaseException:
            server.pending = None
            raise
        server.pending = None
        server.current = FakeTree(plan.tree, operation, plan, 40000 + len(self.trees))
        server.exit_code = None
        self.trees.append(server.current)

    async def stop(
        self, owner: str, name: str, operation: str, *, freeze: bool = False, resume: bool = False
    ) -> Literal["stopped", "frozen"]:
        await self.faults.pass_by("stop")
        server = self._mine(owner, name, operation)
        server.pending = None
        tree, server.current = server.current, None
        if tree is not None and tree.alive:
            if freeze:
                tree.frozen, server.kept = True, tree
            else:
                tree.alive = False
        await self.faults.pass_by("stopped")
        return "frozen" if freeze and server.kept is not None else "stopped"

    async def hold(self, owner: str, name: str, operation: str) -> None:
        await self.faults.pass_by("hold")
        self._mine(owner, name, operation).held_by = operation

    async def release(self, owner: str, name: str, operation: str, keep: Literal["new", "old"]) -> None:
        await self.faults.pass_by("release")
        server = self._mine(owner, name, operation)
        server.held_by = None
        if server.kept is not None:
            assert keep == "new", "thaw it first"
            server.kept.alive, server.kept = False, None
        await self.faults.pass_by("released")

    async def state(self, owner: str, name: str) -> ServerState:
        await self.faults.pass_by("state")
        return self._state(owner, name)

    async def servers(self) -> list[ServerState]:
        await self.faults.pass_by("servers")
        return [self._state(owner, name) for owner, name in self.servers_by_id]

    async def remove(self, owner: str, name: str) -> None:
        await self.faults.pass_by("remove")
        self.servers_by_id.pop((owner, name), None)

    def die(self, owner: str, name: str, exit_code: int | None = None) -> None:
        """The server ends by itself, and nobody is told."""
        server = self.server(owner, name)
        assert server.current is not None
        server.current.alive, server.current, server.exit_code = False, None, exit_code

    def _mine(self, owner: str, name: str, operation: str) -> FakeServer:
        server = self.server(owner, name)
        if server.held_by not in (None, operation):
            raise fail("busy", workspace=f"{owner}/{name}", kind="switch", operation=server.held_by)
        return server

    def _state(self, owner: str, name: str) -> ServerState:
        server = self.server(owner, name)
        state = ServerState(
            owner,
            name,
            pending=server.pending,
            frozen=server.kept is not None,
            held_by=server.held_by,
            exit_code=server.exit_code,
            last_activity=server.last_activity,
        )
        tree = server.current
        if tree is None or not tree.alive:
            return state
        url = f"/user/{owner}/{name}/"
        return replace(
            state, ready=True, operation=tree.operation, pid=1000, port=tree.port, url=url, tree=tree.name
        )


class FakeBox:
    """A box of the size that the deployment declares; nothing on it is real but the folders."""

    def __init__(self, deployment: Deployment, root: str, able: Able | None = None) -> None:
        self._deployment = deployment
        self._root = root
        self._able = able or Able(freeze=True)
        self.resized: list[tuple[str, ProcessLimits]] = []
        self.in_use_bytes = 0
        self.binned: list[str] = []
        self.state_sizes: dict[str, int | None] = {}
        """What a saved state measures, by its name; 1,000 bytes where nothing is said, None for none."""
        self.forgotten: list[str] = []

    def able(self) -> Able:
        return self._able

    def pools(self) -> Sequence[Pool]:
        return [declared.resolve(8, 32 << 30) for declared in self._deployment.pools]

    def ensure_person(self, name: str, slug: str, uid: int) -> Person:
        return Person(name=name, slug=slug, uid=uid, gid=uid, home=f"{self._root}/homes/{slug}")

    def ensure_workspace(self, person: Person, short: str) -> tuple[str, str]:
        return f"{self._root}/runtime/{short}", f"{self._root}/kernels/{short}"

    def resize(self, tree: str, limits: ProcessLimits) -> None:
        if self.in_use_bytes > limits.memory_bytes:
            raise MemoryInUseError(self.in_use_bytes, limits.memory_bytes)
        self.resized.append((tree, limits))

    def memory_in_use(self, tree: str) -> int | None:
        return self.in_use_bytes

    def state_bytes(self, short: str, state: str) -> int | None:
        return self.state_sizes.get(state, 1000)

    def forget_state(self, short: str, state: str) -> None:
        self.forgotten.append(state)

    def forget_states(self, short: str) -> None:
        self.forgotten.append(short)

    def bin_home(self, slug: str) -> None:
        self.binned.append(slug)
