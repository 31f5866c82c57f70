"""Gangs on this box: one folder and one tree a job; the supervisor in it runs as the submitter.

jobs/<job>/            root's, readable by the submitter: job.json, bundle.zip, cancel (the mark)
jobs/<job>/out/        the submitter's own, 0700: status, logs, metrics, result, checkpoints
jobs/bundles/<slug>/   what each person sent, by SHA-256
jobs/standby/<tree>/   supervisors that wait for a person's next job (standbys.py)
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from gearshift.model import foreign_json
from gearshift.model.foreign_json import ForeignJsonError
from gearshift.model.launch import Person, ProcessLimits
from gearshift.train.gang.order import ORDER_FILE, NodePlace, Order

from gearshift_hub.backends.jobs import JobNotStartedError, Page, Placement, Seen
from gearshift_hub.images import kernel_parts
from gearshift_hub.paths import Home

from . import job_files, standbys
from .bundles import Bundles
from .job_operators import Operators
from .processes import StartRefused, Trees, Usage
from .standbys import Standby, Standbys

CANCEL, NOTICE = "cancel", "notice"
JOB_ID = re.compile(r"job-[0-9a-f]{8,32}")
STATUS_LIMIT = 1 << 20
KILL_MARGIN_SECONDS = 2.0


class GangTrees(Protocol):
    """The part of `Trees` that gangs need; tests start theirs without a fork server."""

    def start_command(
        self,
        *,
        tree: str,
        person: Person,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path | str,
        limits: ProcessLimits,
        log: Path,
        devices: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        private_ports: Sequence[int] = (),
    ) -> object: ...

    def alive(self, tree: str) -> bool: ...

    def exit_code(self, tree: str) -> int | None: ...

    def usage(self, tree: str) -> Usage: ...

    def stop(self, tree: str, grace_s: float) -> None: ...

    def kill(self, tree: str) -> None: ...

    def resize(self, tree: str, limits: ProcessLimits) -> None: ...

    def relabel(self, tree: str, labels: Mapping[str, str]) -> None: ...

    def names(self) -> Sequence[str]: ...


class BoxTrees(Trees):
    """The box's trees, with the names of those in which something runs."""

    def names(self) -> Sequence[str]:
        return [tree.name for tree in self.trees()]


class LocalJobs:
    """The job backend of one box. `private` says that people are told apart by uid, so that ports must be closed."""

    def __init__(
        self,
        home: Home,
        python: str,
        private: bool,
        trees: GangTrees | None = None,
        operators: Operators | None = None,
        warm_seconds: float = 0.0,
    ) -> None:
        self._home = home
        self._bundles = Bundles(home.jobs / "bundles")
        self._python = python
        self._parts = str(kernel_parts.folder(home))
        self._private = private
        self._trees: GangTrees = trees if trees is not None else BoxTrees(home)
        self._operators = operators if operators is not None else Operators(home)
        self._standbys = Standbys(home.jobs / "standby", self._trees, self._start_standby)
        self._warm_seconds = warm_seconds
        self._started: dict[str, tuple[Placement, Order]] = {}

    # -- bundles --------------------------------------------------------------------------------

    def save_bundle(self, owner: str, data: bytes) -> str:
        return self._bundles.save(owner, data)

    def bundle_bytes(self, owner: str, sha256: str) -> int | None:
        return self._bundles.size(owner, sha256)

    def make_room_for_bundle(
        self, owner: str, needed: Collection[str], sent_before: float, limit: int, coming: int
    ) -> None:
        self._bundles.make_room(owner, needed, sent_before, limit, coming)

    # -- start ----------------------------------------------------------------------------------

    def prepare(self, launch: str) -> str | None:
        return self._operators.ensure() if launch == "deepspeed" else None

    def start(self, placement: Placement) -> None:
        root = self._root(placement.job)
        try:
            self._trees.kill(self._tree(placement.job))
            kind = standbys.kind_of(placement, self._order(root, placement, 0))
            standby = self._standbys.find(kind, placement.person.name)
            order = self._lay_out(root, placement, _free_port() if standby is None else standby.port)
            self._started[placement.job] = (placement, order)
            if standby is not None:
                used = self._trees.usage(standby.tree).cpu_seconds
                if self._standbys.give(standby, root, placement.limits, used):
                    self._trees.relabel(standby.tree, _labels(placement))
                    return
                order = self._lay_out(root, placement, order.port)
            self._trees.start_command(
                tree=placement.tree,
                person=placement.person,
                argv=[self._python, "-P", "-m", "gearshift.train.gang", str(root)],
                env=_environment(placement.person),
                cwd=str(root),
                limits=placement.limits,
                log=root / "gang.log",
                devices=[device for node in placement.nodes if node.cuda for device in node.devices],
                labels=_labels(placement),
                private_ports=[order.port] if self._private else [],
            )
        except (OSError, StartRefused) as error:
            self._started.pop(placement.job, None)
            raise JobNotStartedError(str(error)) from error

    def recover(self) -> None:
        standbys.undo_offers(self._home.jobs)
        given = set(self._given())
        for name in self._trees.names():
            if name.startswith(standbys.PREFIX) and name not in given:
                self._trees.kill(name)
        self._standbys.tidy()

    def _start_standby(self, one: Standby, person: Person, order: Order, limits: ProcessLimits) -> None:
        waits = ["--standby", str(self._warm_seconds)]
        self._trees.start_command(
            tree=one.tree,
            person=person,
            argv=[self._python, "-P", "-m", "gearshift.train.gang", *waits, str(one.folder)],
            env=_environment(person),
            cwd=str(one.folder),
            limits=limits,
            log=one.folder / "gang.log",
            labels={"standby": one.kind, "owner": person.name},
            private_ports=[order.port] if self._private else [],
        )

    # -- look -----------------------------------------------------------------------------------

    def look(self, job: str, tree: str) -> Seen:
        root = self._root(job)
        told = standbys.tree_of(root)
        tree = told.get("tree", tree)
        alive = self._trees.alive(tree)
        status = job_files.page(root, "status.json", 0, STATUS_LIMIT)
        beat = job_files.changed_at(root, "status.json")
        used = self._trees.usage(tree) if alive else Usage(None, None, None, 0)
        code = None if alive else self._trees.exit_code(tree)
        cpu = used.cpu_seconds
        if cpu is not None:  # what it used while it waited was not this job's
            cpu -= told.get("cpu_seconds") or 0.0
        if not alive:
            self._has_ended(job)
        return Seen(alive, code, _parsed(status), beat, cpu, used.memory_bytes)

    def trees(self) -> Sequence[str]:
        given = self._given()
        jobs = [given.get(name, name) for name in self._trees.names()]
        return [job for job in jobs if JOB_ID.fullmatch(job)]

    def log(self, job: str, attempt: int, rank: int, offset: int, limit: int) -> Page | None:
        return job_files.log_page(self._root(job), f"attempts/{attempt}/rank-{rank}.log", offset, limit)

    def log_bytes(self, job: str, attempt: int, ranks: int) -> int:
        root = self._root(job)
        return sum(job_files.size(root, f"attempts/{attempt}/rank-{rank}.log") for rank in range(ranks))

    def metrics(self, job: str, rank: int, offset: int, limit: int) -> Page | None:
        return job_files.page(self._root(job), f"metrics/rank-{rank}.jsonl", offset, limit)

    def open_result(self, job: str) -> tuple[int, int] | None:
        with job_files.opened(self._root(job), "result.zip") as descriptor:
            if descriptor is None:
                return None
            return os.dup(descriptor), os.fstat(descriptor).st_size

    # -- end ------------------------------------------------------------------------------------

    def stop(self, job: str, tree: str, grace_seconds: float, notice: bool = False) -> None:
        with suppress(FileNotFoundError):
            (self._root(job) / (NOTICE if notice else CANCEL)).touch()
        self._trees.stop(self._tree(tree), grace_seconds + KILL_MARGIN_SECONDS)

    def kill(self, tree: str) -> None:
        self._trees.kill(self._tree(tree))

    def remove(self, job: str) -> None:
        shutil.rmtree(self._root(job), ignore_errors=True)

    def forget(self, owner: str) -> None:
        self._standbys.forget(owner)

    def close(self) -> None:
        self._standbys.close()
        self._operators.close()

    # -- helpers --------------------------------------------------------------------------------

    def _root(self, job: str) -> Path:
        if not JOB_ID.fullmatch(job):
            raise ValueError(f"{job!r} is no id of a job")
        return self._home.jobs / job

    def _tree(self, job: str) -> str:
        """The tree that runs this job."""
        return str(standbys.tree_of(self._root(job)).get("tree", job))

    def _given(self) -> dict[str, str]:
        """Trees that were standbys -> their jobs."""
        found = {path.parent.name: standbys.tree_of(path.parent) for path in self._home.jobs.glob("*/tree")}
        return {str(told["tree"]): job for job, told in found.items() if "tree" in told}

    def _has_ended(self, job: str) -> None:
        """The person's next one is likely to be of its kind."""
        placement, order = self._started.pop(job, (None, None))
        if placement is not None and order is not None and self._warm_seconds > 0:
            kind = standbys.kind_of(placement, order)
            if kind is not None:
                self._standbys.warm(placement, replace(order, port=_free_port()), kind)

    def _lay_out(self, root: Path, placement: Placement, port: int) -> Order:
        """The folders, the bundle and the order; a start that is repeated writes the same again.

        What an earlier supervisor of this job was told and said last is not for the new one."""
        person = placement.person
        for name in (CANCEL, NOTICE, "out/status.json", standbys.TREE, standbys.OFFERED):
            (root / name).unlink(missing_ok=True)
        for folder, mode in ((self._home.jobs, 0o711), (root, 0o750), (root / "out", 0o700)):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        bundle = root / "bundle.zip"
        shutil.copyfile(self._bundles.path(person.name, placement.spec.code), bundle)
        order = self._order(root, placement, port)
        (root / ORDER_FILE).write_text(order.to_json())
        for path in (bundle, root / ORDER_FILE):
            path.chmod(0o640)
        if os.geteuid() == 0:
            os.chown(root / "out", person.uid, person.gid)
            for path in (root, bundle, root / ORDER_FILE):
                os.chown(path, 0, person.gid)
        return order

    def _order(self, root: Path, placement: Placement, port: int) -> Order:
        spec, image = placement.spec, placement.prefix
        env = dict(spec.env)
        if image:
            env["PYTHONPATH"] = os.pathsep.join(filter(None, (self._parts, env.get("PYTHONPATH"))))
        return Order(
            job=placement.job,
            root=str(root),
            python=f"{image}/bin/python" if image else self._python,
            nodes=tuple(
                NodePlace(f"127.0.0.{number}", node.devices, node.cuda)
                for number, node in enumerate(placement.nodes, 1)
            ),
            procs=spec.procs,
            launch=spec.launch,
            argv=spec.argv,
            cwd=env.pop("GS_CWD", placement.person.home),
            env=env,
            max_restarts=spec.max_restarts,
            max_interruptions=spec.max_interruptions,
            attempts_before=placement.attempts,
            join_seconds=placement.join_seconds,
            grace_seconds=spec.grace_seconds,
            group_timeout_seconds=spec.group_timeout_seconds,
            deadline_seconds=_left(spec.deadline_seconds, placement.spent_seconds),
            private_network=self._private,
            node_networks=not any(node.cuda for node in placement.nodes),
            port=port,
            threads=placement.threads_per_rank,
            memory_bytes=placement.node_memory_bytes,
            extensions=None if image else self._operators.where,
            log_bytes=placement.log_bytes,
            resume_from=str(self._root(spec.resume)) if spec.resume else "",
        )


def _labels(placement: Placement) -> dict[str, str]:
    return {"job": placement.job, "owner": placement.person.name}


def _environment(person: Person) -> dict[str, str]:
    """What the supervisor starts from; ranks get theirs from the order."""
    return {
        "HOME": person.home,
        "USER": person.slug,
        "LOGNAME": person.slug,
        "LANG": "C.UTF-8",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
    }


def _free_port() -> int:
    """For a gang that shares the box's network; one with a network of its own does not care."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _left(deadline: float | None, spent: float) -> float | None:
    return None if deadline is None else max(0.0, deadline - spent)


def _parsed(page: Page | None) -> Mapping[str, Any] | None:
    try:
        found = foreign_json.read(page.data) if page is not None else None
    except ForeignJsonError:
        return None
    return found if isinstance(found, dict) else None
