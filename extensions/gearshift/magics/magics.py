"""`%gearshift` and `%%gearshift`: parse the line, make one call, display what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from IPython.core.magic import Magics, line_cell_magic, magics_class

from gearshift.magics import arguments, launching, phrases, reports, showing
from gearshift.magics.door import Door
from gearshift.magics.handle import JobHandle
from gearshift.magics.phrases import say
from gearshift.magics.refusal import MagicError, refused
from gearshift.model.chinese import in_chinese
from gearshift.model.errors import GearshiftError, fail


def load(shell: Any) -> None:
    """`%load_ext gearshift`."""
    shell.register_magics(GearshiftMagics(shell))


@magics_class
class GearshiftMagics(Magics):  # type: ignore[misc]  # IPython has no types
    """One instance a kernel; the way to control is looked up when it is needed."""

    @line_cell_magic  # type: ignore[untyped-decorator]  # IPython has no types
    def gearshift(self, line: str, cell: str | None = None) -> Any:
        """`%gearshift help` lists the commands; `%%gearshift --nodes 2` runs the cell as a job."""
        try:
            if cell is not None:
                return self._launch(line, cell)
            return self._command(line)
        except GearshiftError as error:
            raise refused(error) from None

    # -- the cell -------------------------------------------------------------------------------

    def _launch(self, line: str, body: str) -> None:
        asked = arguments.parse(arguments.cell_parser(), line)
        if not asked.out.isidentifier():
            raise MagicError("bad_request", say("no variable", name=asked.out))
        inputs = self.inputs()
        number = launching.number_of(inputs, body)
        cell = launching.cell_of(number, line, body)
        door = Door.here()
        code = launching.send_bundle(door, cell, inputs, self.shell.user_ns, asked.send)
        plan = door.plan("job", spec=launching.spec(door, asked, code, number))
        handle = self.confirmed(door, plan, asked)
        self.shell.user_ns[asked.out] = handle
        if asked.attach:
            handle.attend()
        elif asked.wait:
            handle.wait()

    def confirmed(self, door: Door, plan: Mapping[str, Any], asked: Any) -> JobHandle:
        """Shown as a running job when a token may spend, else as a dialog to be pressed."""
        symbol = door.symbol
        if launching.can_spend(door, asked):
            job = launching.confirm_with_token(door, plan, asked)
            self._show(door, symbol, job["id"], showing.job_bundle(job, symbol), lambda: job)
            return JobHandle(symbol, job["id"])
        self._ask(plan, symbol)
        if self._has_kernel():
            find = showing.of_plan(door, plan["id"])
            showing.follow(door, self.shell.display_pub, symbol, f"gearshift-{plan['id']}", find)
        return JobHandle(symbol, plan=plan["id"])

    def _show(
        self,
        door: Door,
        symbol: str,
        name: str,
        bundle: showing.Bundle,
        find: Callable[[], Mapping[str, Any] | None],
    ) -> None:
        display_id = f"gearshift-{name}"
        showing.publish(self.shell.display_pub, bundle, display_id)
        if self._has_kernel():
            showing.follow(door, self.shell.display_pub, symbol, display_id, find)

    # -- the line -------------------------------------------------------------------------------

    def _command(self, line: str) -> Any:
        parser = arguments.line_parser()
        asked = arguments.parse(parser, line)
        command = asked.command or "status"
        if command == "help":
            return print(parser.format_help())
        door = Door.here()
        if command == "result":
            return JobHandle(door.symbol, asked.job).result
        if command == "show":
            return self._show_job(door, asked.job)
        if command in ("switch", "cancel"):
            return self._propose(door, command, asked)
        return print(reports.REPORTS[command](door, asked))

    def _show_job(self, door: Door, name: str) -> None:
        symbol, job = door.symbol, door.job(name)
        self._show(door, symbol, f"show-{name}", showing.job_bundle(job, symbol), lambda: job)

    def _propose(self, door: Door, command: str, asked: Any) -> None:
        """A switch or a cancel: planned here, confirmed by a press or by a token with caps."""
        if command == "cancel":
            plan = door.plan("cancel_job", job=asked.job)
        else:
            plan = door.plan("switch", workspace=door.workspace_id, machine=asked.machine)
        if launching.can_spend(door, asked):
            done = launching.confirm_with_token(door, plan, asked)
            state = phrases.pick(done["state"], in_chinese(done["state"]))
            print(say("plan.done", command=command, id=done["id"], state=state))
            return
        self._ask(plan, door.symbol)

    # -- the shell ------------------------------------------------------------------------------

    def _ask(self, plan: Mapping[str, Any], symbol: str) -> None:
        """Show the dialog; without anybody who could press, refuse."""
        if not has_front_end(self.shell):
            raise fail("needs_confirmation", field="press", value=False)
        bundle = showing.plan_bundle(plan, symbol)
        showing.publish(self.shell.display_pub, bundle, f"gearshift-{plan['id']}")

    def inputs(self) -> list[str]:
        """The cells as they were typed, by their number."""
        return [str(text) for text in self.shell.history_manager.input_hist_raw]

    def _has_kernel(self) -> bool:
        return getattr(self.shell, "kernel", None) is not None


def has_front_end(shell: Any) -> bool:
    """Whether somebody sits in front of this cell: pages can be asked for input, headless runs cannot."""
    kernel = getattr(shell, "kernel", None)
    return bool(getattr(kernel, "_allow_stdin", False))
