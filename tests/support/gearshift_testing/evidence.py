"""What the cases look at from outside: intervals in the database, trees on the box, kernels' environments, homes."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import httpx
import psutil
from gearshift.model.slug import slug
from gearshift_hub.backends.local.processes import TreeInfo, Trees

from gearshift_testing.driving import Driver
from gearshift_testing.running import Running


def intervals(driver: Driver, name: str) -> list[dict[str, Any]]:
    """All intervals of a workspace, oldest first."""
    path = driver.product.home.state / "control.sqlite"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        database.row_factory = sqlite3.Row
        rows = database.execute(
            "SELECT * FROM intervals WHERE subject = ? ORDER BY opened_at",
            (f"workspace:{driver.user}/{name}",),
        ).fetchall()
    return [dict(row) for row in rows]


def trees_of(driver: Driver, name: str) -> list[TreeInfo]:
    """What runs of a workspace."""
    label = f"{driver.user}/{name}"
    return [tree for tree in Trees(driver.product.home).trees() if tree.labels.get("workspace") == label]


def kernel_env(tree: TreeInfo) -> dict[str, str]:
    """The environment of a kernel in this tree."""
    for pid in tree.pids:
        process = psutil.Process(pid)
        if any("ipykernel" in word for word in process.cmdline()):
            return dict(process.environ())
    raise AssertionError(f"no kernel runs in {tree.name}")


def server_token(driver: Driver, name: str) -> str:
    """The token of the server that runs, as the hub keeps it."""
    kept = json.loads((driver.product.home.state / "servers.json").read_text())["tokens"]
    token: str = kept[json.dumps([driver.user, name])]
    return token


def whoami(driver: Driver, token: str) -> httpx.Response:
    """What the hub says of a token."""
    return httpx.get(f"{driver.product.url}hub/api/user", headers={"Authorization": f"token {token}"})


def home_of(running: Running, user: str) -> Path:
    return running.home.homes / slug(user)


def write_server_config(running: Running, user: str, code: str) -> None:
    """The person's own server configuration: code that runs in their server, as them, while it starts."""
    home = home_of(running, user)
    file = home / ".jupyter" / "jupyter_server_config.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(code)
    for path in (file.parent, file):
        shutil.chown(path, home.stat().st_uid, home.stat().st_gid)
