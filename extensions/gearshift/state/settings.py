"""Settings of libraries that live outside variables: random number states and defaults that change results.

A row is looked at only where the kernel has imported its module. Values are plain JSON.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gearshift.state.cells import calls
from gearshift.state.refusal import told
from gearshift.state.report import Reason


@dataclass(frozen=True)
class Setting:
    """One thing to read in the old kernel and to set in the new one; `read` may give None: nothing to carry."""

    name: str
    module: str
    read: Callable[[Any], Any]
    write: Callable[[Any, Any], None]
    first: bool = False
    """Set before variables are loaded; the others after, since loading may draw random numbers."""


def read_all() -> dict[str, Any]:
    """Name -> value for all modules that are there; a row that fails is left out."""
    found: dict[str, Any] = {}
    for setting in SETTINGS:
        module = sys.modules.get(setting.module)
        if module is None:
            continue
        try:
            value = setting.read(module)
        except Exception:  # noqa: S112 - a library with another version of itself keeps its own default
            continue
        if value is not None:
            found[setting.name] = value
    return found


def write_all(values: Mapping[str, Any], first: bool) -> list[Reason]:
    """Sets those of the one or the other time; what cannot be set is told."""
    notes: list[Reason] = []
    for setting in SETTINGS:
        if setting.name not in values or setting.first is not first:
            continue
        try:
            setting.write(importlib.import_module(setting.module), values[setting.name])
        except Exception as error:  # told, and the others go on
            notes.append(Reason("setting_lost", {"name": setting.name, "error": told(error)}))
    return notes


def read_threads(history: Sequence[str]) -> dict[str, Any] | None:
    """How many threads torch computes with, and whether a cell asked for that number."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    return {"count": torch.get_num_threads(), "asked": calls(history, "set_num_threads")}


def write_threads(saved: Mapping[str, Any] | None) -> list[Reason]:
    """A number that a cell asked for is set again; otherwise the machine's own stays, and a change is told: sums in
    another order differ in the last bits."""
    torch = sys.modules.get("torch")
    if torch is None or saved is None or torch.get_num_threads() == saved["count"]:
        return []
    if saved["asked"]:
        torch.set_num_threads(saved["count"])
        return []
    return [Reason("threads_differ", {"old": str(saved["count"]), "new": str(torch.get_num_threads())})]


def _numpy_state(numpy: Any) -> dict[str, Any]:
    state = numpy.random.get_state(legacy=False)
    return {
        **state,
        "state": {k: v.tolist() if hasattr(v, "tolist") else v for k, v in state["state"].items()},
    }


def _set_numpy_state(numpy: Any, value: dict[str, Any]) -> None:
    inner = {
        k: numpy.array(v, dtype=numpy.uint32) if isinstance(v, list) else v for k, v in value["state"].items()
    }
    numpy.random.set_state({**value, "state": inner})


def _torch_state(torch: Any) -> str:
    return bytes(torch.get_rng_state().numpy().tobytes()).hex()


def _set_torch_state(torch: Any, value: str) -> None:
    torch.set_rng_state(torch.frombuffer(bytearray.fromhex(value), dtype=torch.uint8))


def _chips() -> Any:
    """Imported only where torch is: it is heavy."""
    return importlib.import_module("gearshift.state.chips")


def _backend(matplotlib: Any) -> str | None:
    name = dict.__getitem__(matplotlib.rcParams, "backend")
    return name if isinstance(name, str) else None


def _print_options(numpy: Any) -> dict[str, Any]:
    return {k: v for k, v in numpy.get_printoptions().items() if isinstance(v, (int, float, str, bool))}


def _set_random(module: Any, value: Any) -> None:
    version, state, gauss = value
    module.setstate((version, tuple(state), gauss))


def _set_deterministic(torch: Any, wanted: bool) -> None:
    """To be told that it stays as it is, torch imports its whole compiler: a second of computing."""
    if torch.are_deterministic_algorithms_enabled() != wanted:
        torch.use_deterministic_algorithms(wanted)


SETTINGS: tuple[Setting, ...] = (
    Setting("random", "random", lambda m: list(m.getstate()), _set_random),
    Setting("numpy.random", "numpy", _numpy_state, _set_numpy_state),
    Setting("numpy.printoptions", "numpy", _print_options, lambda m, v: m.set_printoptions(**v)),
    Setting("torch.rng", "torch", _torch_state, _set_torch_state),
    Setting(
        "torch.chips.rng",
        "torch",
        lambda m: _chips().random_states(),
        lambda m, v: _chips().set_random_states(v),
    ),
    Setting("torch.grad", "torch", lambda m: m.is_grad_enabled(), lambda m, v: m.set_grad_enabled(v)),
    Setting(
        "torch.deterministic",
        "torch",
        lambda m: m.are_deterministic_algorithms_enabled(),
        _set_deterministic,
    ),
    Setting(
        "torch.dtype",
        "torch",
        lambda m: str(m.get_default_dtype()).removeprefix("torch."),
        lambda m, v: m.set_default_dtype(getattr(m, v)),
    ),
    Setting("matplotlib.backend", "matplotlib", _backend, lambda m, v: m.use(v, force=True), first=True),
)
