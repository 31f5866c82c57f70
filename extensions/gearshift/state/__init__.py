"""Kernel state: what a notebook's variables become when they move to another machine.

`plan` says it before, `save` writes, `load` puts back; all three say what cannot travel, why, and how to get it back.
"""

from gearshift.state.container import DiskFull, Refused, StateError
from gearshift.state.loading import load
from gearshift.state.report import Plan, Reason, Report, Variable, Verdict
from gearshift.state.saving import plan, save

__all__ = [
    "DiskFull",
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
