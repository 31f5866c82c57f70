"""Runs cells of the history again for variables that a person asked for; what was copied stays as it was copied."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any

from gearshift.state import namespace
from gearshift.state.bounded import TookTooLong, attempt, watch
from gearshift.state.cells import facts
from gearshift.state.fingerprint import fingerprint
from gearshift.state.refusal import told
from gearshift.state.report import Outcome, Reason, Variable

RERUN_S = 120.0
"""For all cells together, unless the caller knows better."""


def run_again(
    ns: dict[str, Any],
    variables: list[Variable],
    names: Collection[str],
    seconds: float,
    sources: Mapping[int, tuple[str, str]],
) -> None:
    """Fills in the outcome of each named variable. `sources` are the cells that were saved, as Python and as typed: a
    kernel that went on has others by the same numbers. Cells run once each, in order, whoever needs them; one that fails
    spoils those that need it and no others."""
    wanted = [v for v in variables if v.name in names and v.is_lost]
    if not wanted:
        return
    with watch():
        _run_all(_Run(ns, variables, seconds, sources), wanted, ns)


def _run_all(run: _Run, wanted: list[Variable], ns: dict[str, Any]) -> None:
    cells = {cell: [v for v in wanted if cell in v.cells] for v in wanted for cell in v.cells}
    for cell in sorted(cells):
        if any(v.outcome is not Outcome.NOT_REBUILT for v in cells[cell]):
            failure = run.cell(cell, cells[cell][0].seconds)
            for variable in cells[cell] if failure else ():
                _fail(variable, failure)
    for variable in wanted:
        if variable.outcome is not Outcome.NOT_REBUILT:
            _settle(variable, ns)
    run.tidy()


class _Run:
    """One pass over cells with what must be the same after it."""

    def __init__(
        self,
        ns: dict[str, Any],
        variables: list[Variable],
        seconds: float,
        sources: Mapping[int, tuple[str, str]],
    ) -> None:
        self._ns = ns
        self._known = {v.name for v in variables}
        self._copied = {v.name: v for v in variables if v.outcome is Outcome.COPIED}
        self._values = {name: ns[name] for name in self._copied if name in ns}
        self._sources = sources
        self._prints = {name: fingerprint(value, ns) for name, value in self._values.items()}
        self._until = time.monotonic() + seconds
        self._made: set[str] = set()

    def cell(self, number: int, seen: float | None) -> Reason | None:
        """Runs it; why not, where it failed."""
        source, raw = self._sources.get(number, ("", ""))
        failure = _execute(self._ns, raw, number, self._limit(seen))
        bound = facts(source).bound
        self._made.update(bound)
        self._ns.update({name: self._values[name] for name in bound if name in self._values})
        return failure

    def _limit(self, seen: float | None) -> float:
        """Half of what is left, so that one that hangs leaves time for others; a slow one may take thrice its time."""
        left = self._until - time.monotonic()
        return min(left, max(left / 2, 3 * (seen or 0)))

    def tidy(self) -> None:
        """Forgets names that cells bind on their way and that were not there before; names copies that changed."""
        for name in self._made - self._known:
            self._ns.pop(name, None)
        for name, was in self._prints.items():
            if fingerprint(self._values[name], self._ns) != was:
                self._copied[name].notes.append(Reason("rerun_changed"))


def _execute(ns: Mapping[str, Any], source: str, number: int, limit: float) -> Reason | None:
    """As a cell runs, but without a place in the history; what it prints and shows is not shown a second time."""
    from IPython.utils.capture import capture_output  # noqa: PLC0415 - there is a shell, so there is IPython

    shell = namespace.shell_of(ns)
    if limit <= 0 or shell is None or not source:
        return Reason("rerun_too_slow", {"cell": str(number), "seconds": "0"})
    with capture_output():
        result, error = attempt(lambda: shell.run_cell(source, store_history=False, silent=True), limit)
    error = error or (result.error_before_exec or result.error_in_exec if result is not None else None)
    if isinstance(error, TookTooLong):
        return Reason("rerun_too_slow", {"cell": str(number), "seconds": f"{error.seconds:.0f}"})
    return Reason("rerun_failed", {"cell": str(number), "error": told(error)}) if error is not None else None


def _fail(variable: Variable, why: Reason | None) -> None:
    if variable.outcome is not Outcome.NOT_REBUILT and why is not None:
        variable.outcome = Outcome.NOT_REBUILT
        variable.notes.append(why)


def _settle(variable: Variable, ns: Mapping[str, Any]) -> None:
    if not variable.cells:
        _fail(variable, Reason("rerun_unknown"))
    elif variable.name not in ns:
        _fail(variable, Reason("rerun_without"))
    else:
        variable.outcome = Outcome.REBUILT
