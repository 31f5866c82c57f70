"""What every image promises, proven under its own Python: `python promises.py LOCK KINDS PACKAGE…`. Standard library only.

The same file is run in an environment and in a container; it prints a line for each promise and exits with 1 if one is
broken.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

PATIENCE_S = 120
SCRATCH = ("/tmp", "/dev", "/proc", "/sys", "/run", "/home/jovyan")  # noqa: S108 - what a container may write, or is not on its disk
IMPORT_NAMES = {"scikit-learn": "sklearn", "pip": "pip"}
TWO_RANKS = """
import sys, torch, torch.distributed as group
rank, meeting = int(sys.argv[1]), sys.argv[2]
group.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
number = torch.tensor([float(rank + 1)])
group.all_reduce(number)
assert number.item() == 3.0, number
"""


@dataclass(frozen=True)
class Asked:
    """Of which image the promises are."""

    lock: Path
    main: Sequence[str]
    torch: bool
    sealed: bool = False
    """It is a container, where nothing but home and scratch can be written."""


def command(python: Path, asked: Asked, script: str = __file__) -> list[str]:
    """How it is run under an image's Python."""
    kinds = [name for name in ("torch", "sealed") if getattr(asked, name)]
    return [str(python), "-I", script, str(asked.lock), ",".join(kinds) or "-", *asked.main]


def environment() -> dict[str, str]:
    """Nothing of ours: what works then is the image's own."""
    return {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ} | {
        "PATH": "/usr/local/bin:/usr/bin:/bin"
    }


def main(argv: list[str]) -> int:
    kinds = argv[2].split(",")
    asked = Asked(Path(argv[1]), argv[3:], "torch" in kinds, "sealed" in kinds)
    broken = 0
    for name, holds in _promises(asked):
        try:
            said = holds()
        except Exception as error:  # each promise is told for itself
            broken += 1
            print(f"BROKEN  {name}: {type(error).__name__}: {error}", flush=True)
        else:
            print(f"holds   {name}{f': {said}' if said else ''}", flush=True)
    return int(broken > 0)


def _promises(asked: Asked) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "its packages are those of its lock", lambda: _packages(asked.lock, asked.torch)
    yield "nothing in it can be written by others", _closed
    if asked.sealed:
        yield "nothing but home and scratch can be written", _sealed
    for name in asked.main:
        yield f"import {name}", partial(_import, name)
    yield "a kernel starts and answers", _kernel
    if asked.torch:
        yield "a matrix product is right", _product
        yield "two ranks agree on a sum", _two_ranks


def _packages(lock: Path, torch: bool) -> str:
    pinned = dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^ ;\\]+)", lock.read_text(), flags=re.MULTILINE))
    here = {_plain(one.metadata["Name"]): one.version for one in importlib.metadata.distributions()}
    more = sorted(name for name in here if name not in pinned and not (torch and _of_torch(name)))
    other = sorted(name for name in here if name in pinned and here[name] != pinned[name])
    assert not more, f"not in the lock: {', '.join(more)}"
    assert not other, f"another version: {', '.join(other)}"
    return f"{len(here)} packages"


def _closed() -> str:
    """A file that somebody else could write would be everybody's: kernels of all people load it."""
    root, count = Path(sys.prefix), 0
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder) / name
            count += 1
            assert path.is_symlink() or not path.stat().st_mode & 0o022, f"{path} can be written by others"
    return f"{count} files and folders"


def _sealed() -> str:
    """Of all folders, as the uid that people have in a container."""
    count = 0
    for folder, folders, _files in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in SCRATCH]
        count += 1
        assert not os.access(folder, os.W_OK), f"{folder} can be written"
    assert os.getuid() != 0, "it runs as root"
    assert os.access(Path.home(), os.W_OK), "its home cannot be written"
    return f"{count} folders"


def _import(name: str) -> str:
    importlib.import_module(IMPORT_NAMES.get(name, name.replace("-", "_")))
    return str(importlib.metadata.version(name))


def _kernel() -> None:
    from jupyter_client.manager import start_new_kernel  # noqa: PLC0415 - the image's own

    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=PATIENCE_S)
    try:
        said: list[str] = []
        client.execute_interactive(
            "import sys; print(6 * 7, sys.prefix)",
            timeout=PATIENCE_S,
            output_hook=lambda message: said.append(message["content"].get("text", "")),
        )
        assert "".join(said).split() == ["42", sys.prefix], said
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _product() -> None:
    torch = importlib.import_module("torch")
    left = torch.arange(6.0).reshape(2, 3)
    assert (left @ left.T).tolist() == [[5.0, 14.0], [14.0, 50.0]]


def _two_ranks() -> None:
    with tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, "-I", "-c", TWO_RANKS]
        ranks = [subprocess.Popen([*argv, str(rank), f"{folder}/meet"]) for rank in range(2)]
        codes = [rank.wait(PATIENCE_S) for rank in ranks]
    assert codes == [0, 0], codes


def _of_torch(name: str) -> bool:
    """Torch and what its build for a chip brings along are the site's."""
    return name in ("torch", "triton", "pytorch-triton-rocm") or name.startswith("nvidia-")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))
