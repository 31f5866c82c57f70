"""The job's timeout for process groups whose code names none: torch's own is 30 minutes, for any hung peer."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from datetime import timedelta
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MODULE = "torch.distributed.constants"
NAMES = ("default_pg_timeout", "default_pg_nccl_timeout")


def apply(seconds: float) -> None:
    """From now on, or once torch is imported."""
    if MODULE in sys.modules:
        _set(sys.modules[MODULE], seconds)
        if (users := sys.modules.get("torch.distributed.distributed_c10d")) is not None:
            _set(users, seconds)
    else:
        sys.meta_path.insert(0, _Finder(seconds))


def _set(module: ModuleType, seconds: float) -> None:
    for name in NAMES:
        if getattr(module, name, None) is not None:
            setattr(module, name, timedelta(seconds=seconds))


class _Finder(MetaPathFinder):
    """Looks for one module, once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._seconds)
        return spec


class _Loader(Loader):
    """The module's own loader, and then our word."""

    def __init__(self, own: Any, seconds: float) -> None:
        self._own = own
        self._seconds = seconds

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._own.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._own.exec_module(module)
        _set(module, self._seconds)
