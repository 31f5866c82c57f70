"""The local backend whole: the box as control sees it, and the limits of its running trees."""

from __future__ import annotations

from dataclasses import dataclass

from gearshift.model.launch import ProcessLimits

from gearshift_hub.backends.local.box import LocalBox
from gearshift_hub.backends.local.capabilities import probe
from gearshift_hub.backends.local.processes import Trees
from gearshift_hub.deployment import Deployment
from gearshift_hub.paths import Home


@dataclass(frozen=True)
class ThisBox(LocalBox):
    """All of `backends.base.Box`."""

    def resize(self, tree: str, limits: ProcessLimits) -> None:
        Trees(self.home).resize(tree, limits)

    def memory_in_use(self, tree: str) -> int | None:
        return Trees(self.home).usage(tree).memory_bytes


def this_box(home: Home, deployment: Deployment) -> ThisBox:
    """This box, probed now."""
    return ThisBox(home, deployment, probe())
