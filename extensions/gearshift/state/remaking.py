"""Finds the cells that make a lost variable again: the one that bound it, those that changed it since, and those that
make what they need and what does not travel either (the application history of ElasticNotebook, read from source)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from gearshift.state.cells import Facts, facts


@dataclass(frozen=True)
class Remake:
    """Cells in the order they are to run; `doubts` are what they do that cannot be judged, by cell."""

    cells: tuple[int, ...] = ()
    doubts: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    awaits: tuple[int, ...] = ()
    """Cells that await at top level: a person can run them, a load cannot."""

    def seconds(self, seen: Mapping[int, float]) -> float | None:
        """What they took when they ran; None where one was never timed."""
        if not self.cells or any(cell not in seen for cell in self.cells):
            return None
        return sum(seen[cell] for cell in self.cells)


class Remaking:
    """Over one history; `travels` are the names whose values are there already when cells run again."""

    def __init__(self, history: Sequence[str], travels: Container[str]) -> None:
        self._facts: list[Facts] = [facts(source) for source in history]
        self._travels = travels
        self._bound: dict[str, list[tuple[int, bool]]] = {}
        self._touched: dict[str, list[int]] = {}
        for number, cell in enumerate(self._facts):
            for name in cell.deleted:
                self._bound.setdefault(name, []).append((number, False))
            for name in cell.bound:
                self._bound.setdefault(name, []).append((number, True))
            for name in cell.touched:
                self._touched.setdefault(name, []).append(number)

    def of(self, name: str) -> Remake:
        """No cells where none is known to make it."""
        cells = tuple(self._cells(name))
        doubts = {c: self._facts[c].doubts for c in cells if self._facts[c].doubts}
        return Remake(cells, doubts, tuple(c for c in cells if self._facts[c].awaits))

    def _cells(self, name: str) -> list[int]:
        end = len(self._facts)
        waiting, seen = [(name, end)], set[tuple[str, int]]()
        chosen: set[int] = set()
        while waiting:
            wanted, before = waiting.pop()
            if (wanted, before) in seen:
                continue
            seen.add((wanted, before))
            for number in set(self._makers(wanted, before)) - chosen:
                chosen.add(number)
                cell = self._facts[number]
                waiting += [(n, number) for n in cell.now if n == wanted or n not in self._travels]
                waiting += [(n, end) for n in cell.later if n != wanted and n not in self._travels]
        return sorted(chosen)

    def _makers(self, name: str, before: int) -> list[int]:
        """The last cell before that one that bound it, and those between that may have changed it."""
        last: int | None = None
        for number, is_bound in self._bound.get(name, ()):
            if number < before:
                last = number if is_bound else None
        if last is None:
            return []
        return [last, *(c for c in self._touched.get(name, ()) if last < c < before)]
