"""How much of the chips and nodes one person's jobs, and those of one team, may hold at once.

A job that waits for its own quota stands aside: it holds nobody up, and nobody who starts meanwhile overtakes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from gearshift.model.lease import WHOLE, Lease, Purpose
from gearshift.model.machine import Amount
from gearshift.model.record import Record

Bound = Annotated[int, Field(ge=1)] | None


class Quota(Record):
    """At most so many chips and so many nodes at once; None is without bound."""

    chips: Bound = None
    nodes: Bound = None


class Team(Quota):
    """People whose jobs share a quota. Nobody is in two."""

    id: str
    members: tuple[str, ...]


class Hindrance(Record):
    """The quota that is in the way: whose it is, of what, and how much of it is used."""

    whose: Literal["person", "team"]
    name: str
    what: Literal["chips", "nodes"]
    limit: int
    used: int


class Quotas(Record):
    """The quota of each person, and the teams with theirs."""

    person: Quota = Quota()
    teams: tuple[Team, ...] = ()

    def team_of(self, user: str) -> Team | None:
        return next((team for team in self.teams if user in team.members), None)


class Usage:
    """What jobs hold now, by person and by team; chips in thousandths."""

    def __init__(self, quotas: Quotas, leases: Iterable[Lease] = ()) -> None:
        self._quotas = quotas
        self._used: Counter[tuple[str, str, str]] = Counter()
        for lease in leases:
            if lease.purpose is Purpose.JOB:
                self.add(lease.owner, lease.amount)

    def add(self, user: str, amount: Amount, count: int = 1) -> None:
        """Somebody's job holds `count` nodes more."""
        for whose, name, _ in self._bounds(user):
            self._used[whose, name, "chips"] += count * amount.devices * amount.share_milli
            self._used[whose, name, "nodes"] += count * WHOLE

    def hindrance(self, user: str, amount: Amount, count: int) -> Hindrance | None:
        """What keeps this person's job of so many nodes from starting now, whatever room there is."""
        wanted = {"chips": count * amount.devices * amount.share_milli, "nodes": count * WHOLE}
        for whose, name, quota in self._bounds(user):
            for what in ("chips", "nodes"):
                limit, used = getattr(quota, what), self._used[whose, name, what]
                if limit is not None and wanted[what] and used + wanted[what] > limit * WHOLE:
                    return Hindrance(whose=whose, name=name, what=what, limit=limit, used=used // WHOLE)
        return None

    def _bounds(self, user: str) -> list[tuple[Literal["person", "team"], str, Quota]]:
        team = self._quotas.team_of(user)
        own: list[tuple[Literal["person", "team"], str, Quota]] = [("person", user, self._quotas.person)]
        return [*own, ("team", team.id, team)] if team else own
