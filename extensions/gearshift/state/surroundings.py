"""What surrounds the variables of a kernel: working folder, import path, environment, history, extensions."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gearshift import cell_clock
from gearshift.state import cells, namespace, settings
from gearshift.state.refusal import told
from gearshift.state.report import Reason

_NOT_CARRIED = ("GEARSHIFT_", "JUPYTER", "JPY_", "NVIDIA_", "SLURM_")
_MACHINE = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "HOME",
        "HOSTNAME",
        "LOGNAME",
        "OLDPWD",
        "PWD",
        "SHLVL",
        "TERM",
        "TMPDIR",
        "USER",
        "_",
    }
)


def read(ns: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON."""
    history = namespace.history(ns)
    return {
        "cwd": _cwd(),
        "path": [entry for entry in sys.path if entry and not _is_interpreter_s(entry)],
        "environ": _changed_environment(),
        "imports": [name for name in cells.dotted_imports(history) if name in sys.modules],
        "shell": _read_shell(ns),
        "settings": settings.read_all(),
        "threads": settings.read_threads(history),
    }


def before(ns: dict[str, Any], saved: Mapping[str, Any]) -> list[Reason]:
    """What variables may need while they are loaded."""
    os.environ.update({k: v for k, v in saved["environ"].items() if v is not None})
    for name in (k for k, v in saved["environ"].items() if v is None):
        os.environ.pop(name, None)
    notes = _change_folder(saved["cwd"])
    _extend_path(saved["path"])
    importlib.invalidate_caches()
    notes += list(_import_all(saved["imports"]))
    return notes + settings.write_all(saved["settings"], first=True)


def shell(ns: dict[str, Any], saved: Mapping[str, Any]) -> list[Reason]:
    """History, counter and extensions of the shell: cells that run again find them."""
    return list(_write_shell(ns, saved["shell"]))


def after(saved: Mapping[str, Any]) -> list[Reason]:
    """What must be as it was when the next cell runs."""
    return settings.write_all(saved["settings"], first=False) + settings.write_threads(saved["threads"])


def history(saved: Mapping[str, Any]) -> list[str]:
    """The cells that ran there, by number."""
    return list((saved["shell"] or {}).get("parsed", ()))


def cells_of(saved: Mapping[str, Any]) -> dict[int, tuple[str, str]]:
    """Cell number -> the cell as Python, and as it was typed."""
    there = saved["shell"] or {"parsed": (), "raw": ()}
    return dict(enumerate(zip(there["parsed"], there["raw"], strict=False)))


def seconds(saved: Mapping[str, Any]) -> dict[int, float]:
    """What they took."""
    return {int(cell): float(s) for cell, s in (saved["shell"] or {}).get("seconds", {}).items()}


def _cwd() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:
        return None


def _change_folder(folder: str | None) -> list[Reason]:
    if folder is None:
        return []
    try:
        os.chdir(folder)
    except OSError:
        return [Reason("no_folder", {"path": folder})]
    return []


def _is_interpreter_s(entry: str) -> bool:
    """Entries of the environment itself: the new kernel has its own."""
    packages = os.environ.get("GEARSHIFT_PACKAGES")  # a person's own, for this image alone
    roots = {sys.prefix, sys.base_prefix, sys.exec_prefix, *([packages] if packages else [])}
    return any(Path(entry).is_relative_to(root) for root in roots)


def _extend_path(saved: list[str]) -> None:
    """Entries that the new kernel lacks, each before the saved entry that followed it, if there is one."""
    for index in range(len(saved) - 1, -1, -1):
        if saved[index] in sys.path:
            continue
        later = [entry for entry in saved[index + 1 :] if entry in sys.path]
        sys.path.insert(sys.path.index(later[0]) if later else len(sys.path), saved[index])


def _changed_environment() -> dict[str, str | None]:
    """What differs from the environment that the process was started with; None for what was deleted."""
    try:
        raw = Path("/proc/self/environ").read_bytes()
    except OSError:
        return {}
    started = dict(os.fsdecode(item).partition("=")[::2] for item in raw.split(b"\0") if b"=" in item)
    now = {k: v for k, v in os.environ.items() if started.get(k) != v}
    gone = dict.fromkeys(started.keys() - os.environ.keys())
    return {k: v for k, v in {**now, **gone}.items() if not k.startswith(_NOT_CARRIED) and k not in _MACHINE}


def _import_all(names: list[str]) -> Iterator[Reason]:
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # their own code runs; a module that fails is told
            yield Reason("module_missing", {"name": name, "error": told(error)})


def _read_shell(ns: Mapping[str, Any]) -> dict[str, Any] | None:
    shell = namespace.shell_of(ns)
    if shell is None:
        return None
    manager = shell.history_manager
    return {
        "parsed": list(manager.input_hist_parsed),
        "raw": list(manager.input_hist_raw),
        "count": shell.execution_count,
        "seconds": namespace.seconds(ns),
        "extensions": sorted(shell.extension_manager.loaded),
    }


def _write_shell(ns: dict[str, Any], saved: Mapping[str, Any] | None) -> Iterator[Reason]:
    shell = namespace.shell_of(ns)
    if shell is None or saved is None:
        return
    manager = shell.history_manager
    if shell.execution_count <= saved["count"]:
        # a kernel that has gone on since then keeps its own numbering
        manager.input_hist_parsed[:] = saved["parsed"]
        manager.input_hist_raw[:] = saved["raw"]
        shell.execution_count = saved["count"]
        cell_clock.remember(seconds({"shell": saved}))
    last = sorted(ns.get("_oh", {}).items(), reverse=True)[:3]
    for name, (_, value) in zip(("_", "__", "___"), last, strict=False):
        ns[name] = value
        setattr(shell.displayhook, name, value)
    for name in saved["extensions"]:
        try:
            if name not in shell.extension_manager.loaded:
                shell.extension_manager.load_extension(name)
        except Exception as error:  # their own code runs; an extension that fails is told
            yield Reason("module_missing", {"name": name, "error": told(error)})
