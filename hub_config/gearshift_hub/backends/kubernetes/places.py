"""Which nodes a machine may run on, and what they have: pools from the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gearshift.model.lease import Device, Pool
from gearshift.model.machine import Machine

from gearshift_hub.backends.kubernetes.quantities import milli, whole
from gearshift_hub.deployment import Deployment
from gearshift_hub.deployment.kubernetes import Place, resource_of
from gearshift_hub.deployment.model import DeclaredPool

KEEPS_OFF = ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class Node:
    """As much of a node as decides what runs there."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    offers: Mapping[str, str]
    """Allocatable, as Kubernetes writes it."""
    ready: bool
    closed: bool
    """Cordoned: nothing new is placed there."""

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Node:
        spec, status = found.get("spec", {}), found.get("status", {})
        conditions = {c["type"]: c["status"] for c in status.get("conditions") or ()}
        return cls(
            name=found["metadata"]["name"],
            labels=found["metadata"].get("labels") or {},
            taints=tuple(taint for taint in spec.get("taints") or () if taint["effect"] in KEEPS_OFF),
            offers=status.get("allocatable") or {},
            ready=conditions.get("Ready") == "True",
            closed=bool(spec.get("unschedulable")),
        )

    @property
    def open(self) -> bool:
        return self.ready and not self.closed

    @property
    def cores_milli(self) -> int:
        return milli(self.offers.get("cpu", "0"))

    @property
    def memory_bytes(self) -> int:
        return whole(self.offers.get("memory", "0"))

    def count(self, resource: str) -> int:
        return whole(self.offers.get(resource, "0"))


def selected(node: Node, place: Place) -> bool:
    return all(node.labels.get(key) == value for key, value in place.node_selector.items())


def tolerated(node: Node, place: Place) -> bool:
    """Whether each taint of the node is one that the machine's pods may sit beside."""
    return all(any(_matches(t, taint) for t in _tolerations(place)) for taint in node.taints)


def nodes_of(machine: Machine, place: Place, nodes: Iterable[Node]) -> list[Node]:
    """Those that a pod of this machine could ever be placed on."""
    resource = resource_of(machine, place)
    return [
        node
        for node in nodes
        if selected(node, place)
        and tolerated(node, place)
        and node.memory_bytes >= machine.memory_bytes
        and (resource is None or node.count(resource) >= chips(machine))
    ]


def chips(machine: Machine) -> int:
    """So many of its resource; a part of a chip is one of whatever the cluster offers as a part."""
    return machine.chip.count if machine.chip else 0


def pools(deployment: Deployment, nodes: Sequence[Node]) -> list[Pool]:
    """What can be leased: declared amounts as they are, `auto` as the sum over open nodes, chips as the nodes offer them."""
    opened = [node for node in nodes if node.open]
    return [_pool(declared, deployment, opened) for declared in deployment.pools]


def _pool(declared: DeclaredPool, deployment: Deployment, nodes: Sequence[Node]) -> Pool:
    machines = [machine for machine in deployment.machines if machine.pool == declared.id]
    places = {machine.id: deployment.kubernetes.place(machine.id) for machine in machines}
    held = {
        node.name: node for machine in machines for node in nodes_of(machine, places[machine.id], nodes)
    }.values()
    found = declared.resolve(
        sum(node.cores_milli for node in held) // 1000,
        sum(node.memory_bytes for node in held),
        [] if declared.devices else _devices(declared, deployment, machines, held),
    )
    return found.model_copy(update={"node": "cluster"})


def _devices(
    declared: DeclaredPool, deployment: Deployment, machines: Sequence[Machine], nodes: Iterable[Node]
) -> list[Device]:
    """A device for each unit of a resource; which card it is, the cluster says when the pod is placed."""
    wanted = {resource_of(machine, deployment.kubernetes.place(machine.id)) for machine in machines} - {None}
    memory = max((machine.chip.memory_bytes for machine in machines if machine.chip), default=0)
    return [
        Device(id=f"{node.name}-{number}", memory_bytes=memory)
        for node in nodes
        for number in range(sum(node.count(str(resource)) for resource in wanted))
    ]


def _tolerations(place: Place) -> Iterable[Mapping[str, str | None]]:
    return [toleration.model_dump() for toleration in place.tolerations]


def _matches(toleration: Mapping[str, str | None], taint: Mapping[str, str]) -> bool:
    return (
        toleration["key"] == taint["key"]
        and toleration["value"] in (None, taint.get("value", ""))
        and toleration["effect"] in (None, taint["effect"])
    )
