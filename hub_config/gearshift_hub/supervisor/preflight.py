"""Everything that can be wrong before anything is started, found out at once."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gearshift_hub import data
from gearshift_hub.backends.local.processes import Trees
from gearshift_hub.deployment import Deployment, DeploymentError, load
from gearshift_hub.hub.traefik import rules_file, static_file, static_settings
from gearshift_hub.paths import Home, Ports, write_private
from gearshift_hub.spawners.environment import settings_files, write_settings
from gearshift_hub.supervisor import records
from gearshift_hub.supervisor.ports import choose, last_ports
from gearshift_hub.supervisor.trouble import CannotStart, about_folder

LEAST_FREE = 200_000_000
LONGEST_SOCKET = 107
"""The kernel's limit on the path of a local socket."""


@dataclass(frozen=True)
class Ready:
    """What a start needs to know."""

    home: Home
    deployment: Deployment
    file: Path
    ports: Ports
    lock: IO[str]
    leftovers: list[str]


def prepare(home: Home, file: Path | None, overrides: dict[str, object]) -> Ready:
    """Check all, make what is missing, end what a killed supervisor left; raises CannotStart."""
    os.umask(0o077)
    file = (file or data.path("gearshift.toml")).absolute()
    deployment = _deployment(file, overrides)
    lock = _folder(home)
    try:
        leftovers = records.end_leftovers(home)
        before = last_ports(home)
        ports = choose(deployment.server, home)
        if before != ports and deployment.backend == "local":
            _end_strangers(home)
        _write(home, ports, deployment)
        if deployment.backend == "kubernetes":
            _prepare_cluster(ports, deployment)
    except BaseException:
        lock.close()
        raise
    return Ready(home, deployment, file, ports, lock, leftovers)


def _deployment(file: Path, overrides: dict[str, object]) -> Deployment:
    try:
        deployment = load(file)
    except DeploymentError as error:
        raise CannotStart(str(error)) from error
    given = {key: value for key, value in overrides.items() if value is not None}
    if not given:
        return deployment
    server = deployment.server.model_copy(update=given)
    return deployment.model_copy(update={"server": server})


def _folder(home: Home) -> IO[str]:
    if len(os.fsencode(home.forkserver_socket)) > LONGEST_SOCKET:
        raise CannotStart(
            f"The path {home.root} is too long for sockets in it. Choose a shorter one with --home."
        )
    try:
        home.create()
        free = shutil.disk_usage(home.root).free
        if free < LEAST_FREE:
            raise CannotStart(
                f"The disk of {home.root} has {free / 1e6:.0f} MB left, at least {LEAST_FREE / 1e6:.0f} MB are needed. "
                "Free some space, or choose another folder with --home."
            )
        _open_to_people(home.root, "choose another folder with --home or GEARSHIFT_HOME")
        _open_to_people(Path(sys.executable), "install Gearshift in a folder that others may enter")
        return records.lock(home)
    except OSError as error:
        raise about_folder(Path(error.filename or home.root), error) from error


def _open_to_people(path: Path, way_on: str) -> None:
    """As root, workspaces run as other uids: they must be able to come here and to run our Python."""
    if os.geteuid() != 0:
        return
    for folder in reversed(path.absolute().parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            raise CannotStart(f"People's workspaces cannot enter {folder}, and so not {path}: {way_on}.")


def _write(home: Home, ports: Ports, deployment: Deployment) -> None:
    try:
        home.make_secrets()
        home.record_ports(ports)
        write_private(static_file(home), static_settings(home, ports))
        rules_file(home).touch(0o600)  # traefik watches a file that is there; the hub fills it
        write_settings(home, deployment.documents.on_server, deployment.site.language)
    except OSError as error:
        raise about_folder(home.root, error) from error


def _prepare_cluster(ports: Ports, deployment: Deployment) -> None:
    """What stands in the namespace before any workspace does."""
    from gearshift_hub.backends.kubernetes import standing  # noqa: PLC0415 - a second of imports
    from gearshift_hub.backends.kubernetes.api import Cluster, ClusterError  # noqa: PLC0415

    wanted = deployment.kubernetes
    try:
        cluster = Cluster()
        files = settings_files(deployment.documents.on_server)
        standing.prepare(cluster, wanted.namespace, str(wanted.reach), ports.port, files)
    except ClusterError as error:
        raise CannotStart(f"The cluster cannot be used: {error}. `gearshift doctor` says more.") from error


def _end_strangers(home: Home) -> None:
    """Workspaces that outlived a killed supervisor know the old addresses: on others they cannot go on."""
    trees = Trees(home)
    for tree in trees.trees():
        trees.kill(tree.name)
