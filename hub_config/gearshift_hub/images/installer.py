"""Runs uv with what this box has told pip: its indexes, its folder of wheels, its certificates."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

TORCH_INDEX = "GEARSHIFT_TORCH_INDEX"
"""The site's own source of torch builds, as `make run` reads it."""
KEPT = (
    "PATH",
    "HOME",
    "TMPDIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)


class InstallError(Exception):
    """uv did not do it; the text is what it said last."""


def run(words: Sequence[str], cache: Path, held: Sequence[int] = ()) -> str:
    """One call of uv; returns what it printed. It keeps the descriptors `held` open, and so the locks on them, also when
    whoever called it was killed."""
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    argv = [str(uv()), "--no-config", "--no-python-downloads", "--no-progress", *words]
    env = {**environment(dict(os.environ), pip_settings()), "UV_CACHE_DIR": str(cache)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, pass_fds=held)
    if done.returncode:
        raise InstallError(_last(done.stderr) or f"uv ended with {done.returncode}")
    return done.stdout


def uv() -> Path:
    """The one of our own environment, pinned with it."""
    return Path(sys.executable).with_name("uv")


def base_python() -> str:
    """The Python that our own environment was made from: other uids can execute it."""
    return str(Path(sys.base_prefix) / f"bin/python{sys.version_info.major}.{sys.version_info.minor}")


def pip_settings() -> dict[str, str]:
    """pip's settings by name, those of its environment over those of its files."""
    said = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    found: dict[str, str] = {}
    for line in sorted(said.splitlines(), key=lambda line: line.startswith(":env:")):
        key, _, value = line.partition("=")
        found[key.rpartition(".")[2]] = _plain(value)
    return found


def environment(ours: Mapping[str, str], pip: Mapping[str, str]) -> dict[str, str]:
    """What uv sees: none of our variables but those of the network, and pip's settings under uv's names."""
    env = {name: ours[name] for name in (*KEPT, "SSL_CERT_FILE") if name in ours}
    if "cert" in pip:
        env.setdefault("SSL_CERT_FILE", pip["cert"])
    indexes = _there(pip.get("extra-index-url", ""))
    if ours.get(TORCH_INDEX):
        indexes = [ours[TORCH_INDEX], *indexes]
    told = {
        "UV_DEFAULT_INDEX": pip.get("index-url", ""),
        "UV_INDEX": " ".join(indexes),
        "UV_FIND_LINKS": " ".join(_there(pip.get("find-links", ""))),
        "UV_INDEX_STRATEGY": "unsafe-best-match" if indexes else "",
    }
    return env | {name: value for name, value in told.items() if value}


def _there(words: str) -> list[str]:
    """Addresses, without folders that do not exist: pip passes over those, uv does not."""
    return [word for word in words.split() if "://" in word.removeprefix("file://") or _folder(word).exists()]


def _folder(word: str) -> Path:
    return Path(word.removeprefix("file://"))


def _plain(value: str) -> str:
    try:
        return str(ast.literal_eval(value))
    except (SyntaxError, ValueError):
        return value


def _last(said: str) -> str:
    """The end of what uv says of a failure, on one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return " ".join(lines[-4:])[:600]
