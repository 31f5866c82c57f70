"""Where the files are that travel with the package: the installed copy, else the repository's own folders."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
_REPOSITORY = _HERE.parents[2]
_IN_REPOSITORY = {
    "cards": "datasets/cards",
    "images": "images",
    "models": "datasets/models",
    "notebooks": "notebooks",
}


def path(name: str) -> Path:
    """`gearshift.toml`, `jupyterhub_config.py`, `deployments/NAME.toml`, `cards`, `models`, `notebooks`, `images`."""
    installed = _HERE / name
    if installed.exists():
        return installed
    first, _, rest = name.partition("/")
    return _REPOSITORY / _IN_REPOSITORY.get(first, f"hub_config/{first}") / rest
