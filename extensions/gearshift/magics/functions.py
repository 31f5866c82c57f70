"""A function of the notebook on the ranks of a job: `gearshift.run(fn, …)` and `@gearshift.distributed(…)`.

The function, the helpers, classes and imports it needs travel as the source of their cells, small values by value (the
rules of `gearshift.train.cells`); the kernel is never forked. What cannot travel is named before anything is reserved.
"""

from __future__ import annotations

import functools
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from IPython.core.getipython import get_ipython

from gearshift.magics import launching
from gearshift.magics.arguments import cell_parser
from gearshift.magics.door import Door
from gearshift.magics.handle import JobHandle
from gearshift.magics.phrases import say
from gearshift.magics.refusal import MagicError, refused
from gearshift.model.errors import GearshiftError
from gearshift.train.cells import Cell

CALLED = "_gearshift_called"


def run(function: Callable[..., Any], *given: Any, wait: bool = True, **options: Any) -> Any:
    """Call `function(*given)` on every rank; what rank 0 returns comes back, or the job with `wait=False`.

    Options are those of `%%gearshift`: nodes, procs, machine, launch, name, send, attach, max_price, … Arguments by
    name: `functools.partial(fn, lr=0.1)`. Raises MagicError for what is refused, JobFailedError when the job failed.
    """
    return _launch(function, given, {}, wait, options)


def distributed(function: Callable[..., Any] | None = None, *, wait: bool = True, **options: Any) -> Any:
    """Decorator: each call of the function runs as a job. Inside a job it is the plain function."""
    if function is None:
        return functools.partial(distributed, wait=wait, **options)

    @functools.wraps(function)
    def launch(*given: Any, **named: Any) -> Any:
        return _launch(launch, given, named, wait, options)

    return launch


def _launch(
    function: Callable[..., Any],
    given: Sequence[Any],
    named: Mapping[str, Any],
    wait: bool,
    options: Mapping[str, Any],
) -> Any:
    shell = get_ipython()
    if shell is None:
        raise MagicError("bad_request", say("needs a notebook"))
    asked = _asked(function, options)
    try:
        handle = _job(shell, function, given, named, asked)
    except GearshiftError as error:
        raise refused(error) from None
    if asked.attach:
        return handle.attend().result
    return handle.wait().result if wait else handle


def _job(
    shell: Any, function: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any], asked: Any
) -> JobHandle:
    magics = shell.magics_manager.registry.get("GearshiftMagics") or _loaded(shell)
    inputs = magics.inputs()
    cell, namespace = _call(function, given, named, shell.user_ns, len(inputs))
    door = Door.here()
    code = launching.send_bundle(door, cell, inputs, namespace, asked.send)
    handle: JobHandle = magics.confirmed(
        door, door.plan("job", spec=launching.spec(door, asked, code, cell.number)), asked
    )
    return handle


def _call(
    function: Callable[..., Any],
    given: Sequence[Any],
    named: Mapping[str, Any],
    notebook: Mapping[str, Any],
    number: int,
) -> tuple[Cell, dict[str, Any]]:
    """The one cell that the ranks run last, and the notebook's names with the call's own beside them."""
    arguments = {f"argument_{place}": value for place, value in enumerate(given, 1)}
    arguments |= {f"argument_{name}": value for name, value in named.items()}
    called = getattr(function, "__name__", CALLED)
    if notebook.get(called) is not function:
        called, arguments[CALLED] = CALLED, function
    words = [f"argument_{place}" for place in range(1, len(given) + 1)]
    words += [f"{name}=argument_{name}" for name in named]
    source = f"from gearshift.train import result as _hand_back\n_hand_back({called}({', '.join(words)}))"
    return Cell(number, source), {**notebook, **arguments}


def _asked(function: Callable[..., Any], options: Mapping[str, Any]) -> Namespace:
    """The options as `%%gearshift` reads them, so that both know the same words and refuse the same ones."""
    words: list[str] = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif name == "env":
            words += [flag, *(f"{variable}={text}" for variable, text in value.items())]
        elif isinstance(value, list | tuple):
            words += [flag, *map(str, value)]
        elif value is not None and value is not False:  # 0 is a value, and refused where it makes no sense
            words += [flag, str(value)]
    asked = cell_parser().parse_args(words)
    asked.name = asked.name or getattr(function, "__name__", None)
    return asked


def _loaded(shell: Any) -> Any:
    shell.extension_manager.load_extension("gearshift")
    return shell.magics_manager.registry["GearshiftMagics"]
