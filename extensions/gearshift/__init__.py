"""Gearshift: a Jupyter workspace where the machine is a setting.

In a notebook: `%gearshift help` (outside of a workspace `%load_ext gearshift` first); `gearshift.run(fn, nodes=2)` calls a
function on the ranks of a job. Inside a job: `from gearshift import train`.
"""

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["distributed", "jobs", "load_ipython_extension", "run"]


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext gearshift`; IPython is there then, and only then."""
    import_module("gearshift.magics.magics").load(shell)


def jobs() -> list[Any]:
    """Your jobs, newest first, as objects with `.state`, `.wait()`, `.result` and `.log(rank)`."""
    return list(import_module("gearshift.magics.handle").mine())


def run(function: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Call `function(*given)` on every rank of a job and return what rank 0 returned; see `gearshift.magics.functions`."""
    return import_module("gearshift.magics.functions").run(function, *given, **options)


def distributed(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorator: in the notebook each call is a job with these options; on its ranks the function is plain."""
    if os.environ.get("GS_JOB"):
        return function if function is not None else (lambda plain: plain)
    return import_module("gearshift.magics.functions").distributed(function, **options)
