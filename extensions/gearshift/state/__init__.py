"""Kernel state: what a notebook's variables become when they move to another machine.

`plan` says it before, `save` writes, `load` puts back; all three say what cannot travel, why, and how to get it back.
`load(..., rerun=[names])` runs the cells of those names again, in order, once the copies are there.
"""

from gearshift.state.container import DiskFull, Refused, StateError
from gearshift.state.loading import load
from gearshift.state.report import Outcome, Plan, Reason, Report, Variable, Verdict
from gearshift.state.saving import plan, save

__all__ = [
    "DiskFull",
    "Outcome",
    "Plan",
    "Reason",
    "Refused",
    "Report",
    "StateError",
    "Variable",
    "Verdict",
    "load",
    "plan",
    "save",
]
