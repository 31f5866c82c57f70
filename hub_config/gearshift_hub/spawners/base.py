"""What every spawner of ours does: ask control what to start, obey a hold, tell control what came of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.launch import LaunchPlan
from jupyterhub.spawner import Spawner, SpawnException
from jupyterhub.utils import maybe_future
from sqlalchemy.orm import object_session
from traitlets import Unicode, default

from gearshift_hub.hub.control import ControlLink
from gearshift_hub.hub.holds import Frozen, Hold, Holds, holds_of
from gearshift_hub.paths import Home


@dataclass(frozen=True)
class AskedStart:
    """A start that control asked for; a start without one came through the hub's own door."""

    operation: str
    thaw: bool = False


@dataclass(frozen=True)
class AskedStop:
    """A stop that control asked for."""

    operation: str
    freeze: bool = False


class StartRefused(SpawnException):  # type: ignore[misc]
    """A start that ended in one of our errors; the hub's pages show its sentence, our routes its code."""

    def __init__(self, error: GearshiftError) -> None:
        super().__init__(error.message, reason=error.code, status_code=error.status)
        self.error = error


class GearshiftSpawner(Spawner):  # type: ignore[misc]
    """One workspace's server. Nothing of an earlier start is left in the next: all comes from its LaunchPlan."""

    home_root = Unicode(help="The deployment's folder.").tag(config=True)

    tree = ""
    """Names the process tree that runs, or is being started; empty when nothing does."""
    operation: str | None = None
    """The operation that started it."""
    pid = 0
    exit_code: int | None = None
    """How the last server ended; None while it runs or when nobody saw it end."""
    term_s = 3.0

    asked_start: AskedStart | None = None
    asked_stop: AskedStop | None = None
    driven = False
    """Control asked for what happens now and waits for the answer, so it needs no report."""
    returning: Frozen | None = None
    """The tree that is being thawed; until its start is through, whatever stops it only freezes it again."""
    _failed_start = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cancelled = asyncio.Event()

    @property
    def gearshift_home(self) -> Home:
        return Home(Path(self.home_root))

    @property
    def holds(self) -> Holds:
        return holds_of(self.gearshift_home)

    @property
    def hold(self) -> Hold | None:
        return self.holds.get(self.user.name, self.name)

    @property
    def control(self) -> ControlLink:
        return ControlLink(self.gearshift_home)

    @default("will_resume")  # type: ignore[untyped-decorator]
    def _will_resume(self) -> bool:
        return self.hold is not None

    async def start(self) -> str:
        """Start what control says; returns the address once it answers."""
        asked, self.asked_start = self.asked_start, None
        self.cancelled.clear()
        self.exit_code, self._failed_start, self.returning = None, False, None
        try:
            return await self._start(asked)
        except GearshiftError as error:
            self.log.warning("Start of %s: %s", self._log_name, error.message)
            self._failed_start = True
            await self._report(state="failed", exit_code=self.exit_code)
            raise StartRefused(error) from error

    async def _start(self, asked: AskedStart | None) -> str:
        operation = asked.operation if asked else None
        if not self.name:
            raise fail("bad_name", field="name", value="")
        hold = self.hold
        if hold and hold.operation != operation:
            raise self._busy(hold)
        if asked and asked.thaw:
            return await self._back(hold)
        plan = await self.control.launch(self.user.name, self.name, dict(self.user_options), operation)
        self.operation = plan.operation
        self.tree, self.term_s = plan.tree, plan.deadlines.term
        url = await self.launch(plan)
        await self._report(state="ready", pid=self.pid, port=self.port)
        return url

    async def _back(self, hold: Hold | None) -> str:
        if hold is None or hold.frozen is None:
            raise fail("restore_failed", why="nothing is frozen")
        frozen = self.returning = hold.frozen
        url = await self.thaw(frozen)
        self.api_token = frozen.token
        self.tree, self.pid, self.operation = frozen.tree, frozen.pid, frozen.operation
        self.remember()
        self.holds.put(self.user.name, self.name, hold.model_copy(update={"frozen": None}))
        return url

    async def poll(self) -> int | None:
        return await self.look()

    async def stop(self, now: bool = False) -> None:
        """End the tree, or freeze it where control asked so; stopping what is gone is success."""
        asked, self.asked_stop = self.asked_stop, None
        if not self.driven:
            await self._announce_stop()
        hold = self.hold
        wanted = asked.freeze if asked else self.returning is not None
        if wanted and hold and self.tree and await self.freeze():
            frozen = self.returning or self._as_frozen()
            self.holds.put(self.user.name, self.name, hold.model_copy(update={"frozen": frozen}))
            return
        await self.end(0.0 if now else self.term_s)

    def _as_frozen(self) -> Frozen:
        return Frozen(
            tree=self.tree,
            pid=self.pid,
            port=self.server.port if self.server else self.port,
            token=self.api_token,
            operation=self.operation,
        )

    async def run_post_stop_hook(self) -> None:
        """After every stop, also one that nobody asked for."""
        if not self._failed_start:
            state = "stopped" if self.exit_code is None else "exited"
            await self._report(state=state, exit_code=self.exit_code)
        await maybe_future(super().run_post_stop_hook())

    if TYPE_CHECKING:  # what the spawner of a backend brings

        async def launch(self, plan: LaunchPlan) -> str:
            """Start the plan's server and wait for its port; start_failed, start_timeout or cancelled."""

        async def thaw(self, frozen: Frozen) -> str:
            """Let a frozen tree go on and wait for its port."""

        async def freeze(self) -> bool:
            """Freeze the running tree; False where the box cannot."""

        async def end(self, grace_s: float) -> None:
            """Leave nothing of the tree; returns when that is sure."""

        async def discard(self, tree: str) -> None:
            """Leave nothing of another tree of this workspace, such as a frozen one; gone already is success."""

        async def lives(self, tree: str) -> bool:
            """Whether anything of this tree is there."""

        async def look(self) -> int | None:
            """None while the server runs, else how it ended."""

    def get_state(self) -> dict[str, Any]:
        kept = {
            "tree": self.tree,
            "pid": self.pid,
            "port": self.port,
            "operation": self.operation,
            "exit_code": self.exit_code,
            "term_s": self.term_s,
        }
        return {**super().get_state(), **kept}

    def load_state(self, state: dict[str, Any]) -> None:
        super().load_state(state)
        self.tree = state.get("tree", "")
        self.pid = state.get("pid", 0)
        self.port = state.get("port", 0)
        self.operation = state.get("operation")
        self.exit_code = state.get("exit_code")
        self.term_s = state.get("term_s", 3.0)
        if self.tree:
            self.api_token = self.holds.token(self.user.name, self.name)

    def clear_state(self) -> None:
        super().clear_state()
        self.tree, self.pid, self.port = "", 0, 0

    def remember(self) -> None:
        """Write the state now: a tree is recorded before it exists, so that a crash cannot orphan it."""
        self.holds.put_token(self.user.name, self.name, self.api_token)
        self.orm_spawner.state = self.get_state()
        session = object_session(self.orm_spawner)
        assert session is not None
        session.commit()

    async def get_url(self) -> str:
        """The address of an adopted server; the hub may have died before it wrote the port."""
        return f"http://127.0.0.1:{self.port}{self.server.base_url}" if self.port else str(self.server.url)

    def _busy(self, hold: Hold) -> GearshiftError:
        return fail(
            "busy", workspace=f"{self.user.name}/{self.name}", kind="switch", operation=hold.operation
        )

    async def _announce_stop(self) -> None:
        try:
            await self.control.stopping(self.user.name, self.name)
        except GearshiftError as error:
            self.log.warning("Stop of %s goes on without control: %s", self._log_name, error.message)

    async def _report(self, **facts: Any) -> None:
        if self.driven:
            return
        try:
            await self.control.report(self.user.name, self.name, operation=self.operation, **facts)
        except GearshiftError as error:
            self.log.warning("Control was not told of %s: %s", self._log_name, error.message)
