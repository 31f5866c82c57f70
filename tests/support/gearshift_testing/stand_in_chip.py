"""A chip for machines without one: builds it, and installs it in a kernel as `standin`.

Its memory lies at addresses that the host cannot read, so whoever takes a chip's memory for the host's crashes at once,
as on a real chip.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import torch

KIND = "standin"
SOURCE = Path(__file__).with_suffix(".cpp")


def build(folder: Path) -> Path:
    """The library; about five seconds of a compiler."""
    library = folder / "stand_in_chip.so"
    parts = Path(torch.__file__).parent
    include = parts / "include"
    subprocess.run(
        [
            *("g++", "-std=c++20", "-O0", "-fPIC", "-shared", str(SOURCE), "-o", str(library)),
            *(f"-I{include}", f"-I{include / 'torch/csrc/api/include'}", f"-L{parts / 'lib'}"),
            *("-ltorch", "-ltorch_cpu", "-lc10"),
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        ],
        check=True,
        capture_output=True,
    )
    return library


class _Module:
    """What `torch.cuda` is for CUDA."""

    state = torch.zeros(8, dtype=torch.uint8)

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def device_count() -> int:
        return 1

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def _is_in_bad_fork() -> bool:
        return False

    @staticmethod
    def manual_seed_all(seed: int) -> None:
        """Its dice are the CPU's."""

    @classmethod
    def get_rng_state(cls, index: int = 0) -> torch.Tensor:
        return cls.state

    @classmethod
    def set_rng_state(cls, state: torch.Tensor, index: int = 0) -> None:
        cls.state = state


def install(library: str) -> Any:
    """Once per process; gives the module."""
    torch.ops.load_library(library)
    torch.utils.rename_privateuse1_backend(KIND)
    torch._register_device_module(KIND, _Module)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    return _Module
