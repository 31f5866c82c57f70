"""Gearshift: a Jupyter workspace where the machine is a setting.

In a notebook: `%load_ext gearshift`, then `%gearshift help`. Inside a job: `from gearshift import train`.
"""

from importlib import import_module
from typing import Any

__all__ = ["jobs", "load_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext gearshift`; IPython is there then, and only then."""
    import_module("gearshift.magics.magics").load(shell)


def jobs() -> list[Any]:
    """Your jobs, newest first, as objects with `.state`, `.wait()`, `.result` and `.log(rank)`."""
    return list(import_module("gearshift.magics.handle").mine())
