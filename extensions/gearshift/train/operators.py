"""DeepSpeed's communication operator, compiled once for an environment: `python -m gearshift.train.operators`.

`deepspeed.init_distributed` compiles it at first use, 50 s on two cores, in every home anew. We compile it once into
a folder of the environment that all jobs may read; each job gets a writable copy (torch locks the folder it uses).
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

READY = "ready"
NAME = "deepspeed_shm_comm"


def folder(fallback: Path | None = None) -> Path:
    """Where the operator of this environment and this CPU lies, or will lie."""
    root = Path(sys.prefix) / "share" / "gearshift" / "torch_extensions"
    if fallback is not None and not (root / _key() / READY).exists() and not _writable(Path(sys.prefix)):
        root = fallback
    return root / _key()


def ready(where: Path) -> bool:
    return (where / READY).exists()


def missing_tools() -> list[str]:
    """Programs without which it cannot be compiled."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return [tool for tool in ("ninja", "g++") if shutil.which(tool, path=path) is None]


def build(where: Path) -> None:
    """Compile aside, then put in place whole; done already is success."""
    if ready(where):
        return
    where.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".building-", dir=where.parent) as aside:
        _compile(Path(aside))
        (Path(aside) / READY).touch()
        Path(aside).chmod(0o755)
        if not where.exists():
            shutil.copytree(aside, f"{aside}.whole")
            Path(f"{aside}.whole").rename(where)


def _compile(target: Path) -> None:
    code = (
        "from deepspeed.accelerator import get_accelerator;"
        "get_accelerator().create_op_builder('ShareMemCommBuilder').load()"
    )
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "/usr/bin:/bin")])
    env = os.environ | {"TORCH_EXTENSIONS_DIR": str(target), "DS_ACCELERATOR": "cpu", "PATH": path}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode or not (target / NAME / f"{NAME}.so").exists():
        raise RuntimeError(f"DeepSpeed's operator was not compiled: {_last_line(done.stderr)}")


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no output")[:300]


def _key() -> str:
    """Other versions, another Python or another CPU need another compilation."""
    parts = [
        metadata.version("deepspeed"),
        metadata.version("torch"),
        platform.python_version(),
        _cpu_flags(),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _cpu_flags() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK)


def main(argv: list[str]) -> int:
    """Compile into the folder named, or into the environment's own; readable for everybody."""
    os.umask(0o022)
    where = Path(argv[0]) if argv else folder()
    if tools := missing_tools():
        print(f"missing: {', '.join(tools)}", file=sys.stderr)
        return 2
    print(f"compiling DeepSpeed's communication operator into {where}, about a minute", flush=True)
    build(where)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
