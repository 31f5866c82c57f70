"""This box as control sees it: capacity, people, folders, and what it can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gearshift.model.launch import Person
from gearshift.model.lease import Pool

from gearshift_hub.backends.base import Able
from gearshift_hub.deployment import Deployment
from gearshift_hub.paths import Home

from . import inventory, kernel_states, people
from .capabilities import Capabilities, probe


@dataclass(frozen=True)
class LocalBox:
    """The box's side of `backends.base.Box`."""

    home: Home
    deployment: Deployment
    capabilities: Capabilities

    @classmethod
    def here(cls, home: Home, deployment: Deployment) -> LocalBox:
        """This box, probed now."""
        return cls(home, deployment, probe())

    def able(self) -> Able:
        found = self.capabilities
        return Able(
            freeze=found.freeze and found.cgroup_kill,
            live_resize=True,
            uid_per_person=found.uid_per_person,
            reasons=found.reasons,
        )

    def pools(self) -> Sequence[Pool]:
        return inventory.pools(self.deployment)

    def ensure_person(self, name: str, slug: str, uid: int) -> Person:
        return people.ensure(self.home, name, slug, uid)

    def ensure_workspace(self, person: Person, short: str) -> tuple[str, str]:
        runtime, state = people.workspace_folders(self.home, person, short)
        return str(runtime), str(state)

    def state_bytes(self, short: str, state: str) -> int | None:
        return kernel_states.size(self.home, short, state)

    def forget_state(self, short: str, state: str) -> None:
        kernel_states.remove(self.home, short, state)

    def forget_states(self, short: str) -> None:
        kernel_states.remove_all(self.home, short)

    def bin_home(self, slug: str) -> None:
        people.bin_home(self.home, slug, datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f"))
