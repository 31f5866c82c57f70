"""A cluster as control sees it: capacity from its nodes, people and folders inside their pods, limits of running pods."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gearshift.model.errors import fail
from gearshift.model.launch import Person, ProcessLimits
from gearshift.model.lease import Pool

from gearshift_hub.backends.base import Able, MemoryInUseError
from gearshift_hub.backends.kubernetes import names, pods
from gearshift_hub.backends.kubernetes.api import Cluster, ClusterError, Object
from gearshift_hub.backends.kubernetes.places import Node, pools
from gearshift_hub.deployment import Deployment

HOME = "/home/jovyan"
FRESH_S = 15.0
"""How old what we know of the nodes may be when somebody asks for capacity."""
RESIZE_S = 20.0
LOOK_S = 0.2
GIVEN_UP = ("Infeasible", "Deferred", "Error")
"""What a kubelet says of a resize that it does not carry out now."""


@dataclass
class ClusterBox:
    """`backends.base.Box` on a cluster."""

    deployment: Deployment
    cluster: Cluster
    clock: Callable[[], float] = time.monotonic
    _nodes: Sequence[Node] = ()
    _read_at: float | None = None
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def able(self) -> Able:
        return Able(
            freeze=False,
            live_resize=True,
            uid_per_person=False,
            disks=False,
            jobs=False,
            kept_state=False,
            reasons={
                "freeze": "the old pod's room is not held while a new one starts: a way back restores what was saved",
                "disks": "only the home is a claim yet",
                "jobs": "gangs do not run on a cluster yet",
                "kept_state": "it lies on the person's claim, which only their pods see",
                "uid_per_person": "each workspace is a pod of its own, in which its person is uid 1000",
            },
        )

    def pools(self) -> Sequence[Pool]:
        """From memory: whoever asks must not wait for the cluster. What is too old is read anew aside."""
        if self._read_at is None:
            self._read_first()
        elif self.clock() - self._read_at > FRESH_S and self._reading.acquire(blocking=False):
            threading.Thread(target=self._refresh_aside, daemon=True).start()
        return pools(self.deployment, self._nodes)

    def refresh(self) -> None:
        """Read the nodes now."""
        found = self.cluster.get("/api/v1/nodes")
        self._nodes = tuple(Node.read(node) for node in found["items"])
        self._read_at = self.clock()

    def ensure_person(self, name: str, slug: str, uid: int) -> Person:
        """In their pods everybody has the same uid and the same path; the claim is made at the first launch."""
        return Person(name=name, slug=slug, uid=names.UID, gid=names.UID, home=HOME)

    def ensure_workspace(self, person: Person, short: str) -> tuple[str, str]:
        return pods.RUNTIME_FOLDER, f"{person.home}/.local/share/gearshift/kernels/{short}"

    def resize(self, tree: str, limits: ProcessLimits) -> None:
        """In place; returns when the kubelet has it in force, raises OSError where it does not come to that."""
        path = self._pod(tree)
        try:
            found = self.cluster.get(path)
            machine = found["metadata"]["annotations"]["gearshift/machine"]
            change = pods.resized(limits, pods.overcommit_of(self.deployment, machine))
            self.cluster.patch_pod(f"{path}/resize", change)
            try:
                self._until_in_force(path, limits.memory_bytes)
            except (OSError, MemoryInUseError):
                self.cluster.patch_pod(f"{path}/resize", _as_before(found))
                raise
        except ClusterError as error:
            raise OSError(str(error)) from error

    def memory_in_use(self, tree: str) -> int | None:
        """Nobody but the kubelet knows, and we ask for no right to ask it."""
        return None

    def state_bytes(self, short: str, state: str) -> int | None:
        """It lies on the person's claim, which only their pods see."""
        return None

    def forget_state(self, short: str, state: str) -> None:
        """The server forgets what is past its days."""

    def forget_states(self, short: str) -> None:
        """As with one."""

    def bin_home(self, slug: str) -> None:
        """The claim stays and is marked; no pod is made for a deleted person any more."""
        mark = {"gearshift/binned-at": datetime.now(UTC).isoformat()}
        path = f"{self._space}/persistentvolumeclaims/{names.home_claim(slug)}"
        if self.cluster.find(path) is not None:
            self.cluster.patch(path, {"metadata": {"annotations": mark}})

    @property
    def _space(self) -> str:
        return f"/api/v1/namespaces/{self.deployment.kubernetes.namespace}"

    def _pod(self, tree: str) -> str:
        return f"{self._space}/pods/{tree}"

    def _read_first(self) -> None:
        try:
            self.refresh()
        except ClusterError as away:
            raise fail("cluster_unavailable") from away

    def _refresh_aside(self) -> None:
        try:
            self.refresh()
        except ClusterError:
            self._read_at = self.clock()  # what we knew is the best we know; asked again after a while
        finally:
            self._reading.release()

    def _until_in_force(self, path: str, memory_bytes: int) -> None:
        ends = self.clock() + RESIZE_S
        while True:
            pod = self.cluster.get(path)
            if pods.memory_limit(pod) == memory_bytes and not _refused(pod):
                return
            why = _refused(pod)
            if why and "memory" in why and "usage" in why:
                raise MemoryInUseError(None, memory_bytes)
            if why or self.clock() > ends:
                raise OSError(why or "the node has not taken the new limits")
            time.sleep(LOOK_S)


def _as_before(pod: Object) -> Object:
    """The change that takes a pod back to what it was."""
    containers = [
        {"name": one["name"], "resources": {k: one["resources"][k] for k in ("requests", "limits")}}
        for one in pod["spec"]["containers"]
    ]
    return {"spec": {"containers": containers}}


def _refused(pod: Object) -> str | None:
    """Why the node does not do what was asked."""
    for condition in pod.get("status", {}).get("conditions") or ():
        if condition["type"].startswith("PodResize") and condition.get("reason") in GIVEN_UP:
            return str(condition.get("message") or condition["reason"])
    return None
