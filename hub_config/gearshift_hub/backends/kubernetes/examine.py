"""Where a deployment contradicts what its cluster really has, in sentences for an admin: what is so, and what to do."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress

from gearshift.model.machine import Machine
from gearshift.model.units import format_bytes

from gearshift_hub.backends.kubernetes.api import Cluster, ClusterError
from gearshift_hub.backends.kubernetes.places import Node, chips, nodes_of, selected, tolerated
from gearshift_hub.deployment import Deployment
from gearshift_hub.deployment.kubernetes import Place, resource_of
from gearshift_hub.findings import Finding

OLDEST = (1, 33)
"""From here on a pod's CPU and memory change in place."""
CLASSES = {
    "priority_class": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "runtime_class": "/apis/node.k8s.io/v1/runtimeclasses",
    "storage_class": "/apis/storage.k8s.io/v1/storageclasses",
}
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def examine(cluster: Cluster, deployment: Deployment) -> Iterator[Finding]:
    """Everything worth knowing before workspaces start there."""
    try:
        yield _version(cluster)
        nodes = [Node.read(node) for node in cluster.get("/api/v1/nodes")["items"]]
        yield _nodes(nodes)
        yield _address(deployment)
        yield _namespace(cluster, deployment)
        yield from _storage(cluster, deployment)
        yield from _secrets(cluster, deployment)
        for machine in deployment.machines:
            yield from _machine(cluster, machine, deployment.kubernetes.place(machine.id), nodes)
    except ClusterError as error:
        yield Finding("no", "cluster", f"{error}")


def _version(cluster: Cluster) -> Finding:
    told = cluster.get("/version")
    has = (int(told["major"]), int("".join(filter(str.isdigit, told["minor"]))))
    name = f"{cluster.address}, Kubernetes {told['gitVersion']}"
    if has < OLDEST:
        return Finding("less", "cluster", f"{name}: before 1.33 more CPU or memory means a new start")
    return Finding("ok", "cluster", name)


def _nodes(nodes: Sequence[Node]) -> Finding:
    away = [node.name for node in nodes if not node.open]
    said = f"{len(nodes) - len(away)} of {len(nodes)} nodes take pods"
    if away:
        return Finding("less", "nodes", f"{said}; not {', '.join(away)}")
    return Finding("ok" if nodes else "no", "nodes", said)


def _address(deployment: Deployment) -> Finding:
    reach = str(deployment.kubernetes.reach)
    with suppress(OSError), socket.socket() as probe:
        probe.bind((reach, 0))
        return Finding("ok", "kubernetes.reach", f"{reach} is an address of this box")
    text = f"{reach} is no address of this box: pods reach the hub only if something there leads to it"
    return Finding("less", "kubernetes.reach", text)


def _namespace(cluster: Cluster, deployment: Deployment) -> Finding:
    name = deployment.kubernetes.namespace
    found = cluster.find(f"/api/v1/namespaces/{name}")
    if found is None:
        return Finding("ok", "namespace", f"{name} will be made at the first start")
    rule = (found["metadata"].get("labels") or {}).get("pod-security.kubernetes.io/enforce")
    if rule != "restricted":
        text = f"{name} does not enforce the rule `restricted` (it is {rule or 'not set'}); the next start sets it"
        return Finding("less", "namespace", text)
    return Finding("ok", "namespace", f"{name} enforces the rule `restricted`")


def _storage(cluster: Cluster, deployment: Deployment) -> Iterator[Finding]:
    name = deployment.kubernetes.storage_class
    if name is not None:
        yield from _class(cluster, "storage_class", name, "kubernetes.storage_class")
        return
    classes = cluster.get(CLASSES["storage_class"])["items"]
    default = [
        one["metadata"]["name"]
        for one in classes
        if (one["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    ]
    if default:
        yield Finding("ok", "kubernetes.storage_class", f"homes are claims of the default class {default[0]}")
    else:
        text = "not set, and the cluster has no default class: no home could be made. Name one of "
        text += (
            ", ".join(one["metadata"]["name"] for one in classes) or "none, the cluster has no class at all"
        )
        yield Finding("no", "kubernetes.storage_class", text)


def _secrets(cluster: Cluster, deployment: Deployment) -> Iterator[Finding]:
    space = f"/api/v1/namespaces/{deployment.kubernetes.namespace}/secrets"
    for name in deployment.kubernetes.pull_secrets:
        if cluster.find(f"{space}/{name}") is None:
            text = f"the namespace has no secret {name!r}: make it, or images behind a password cannot be fetched"
            yield Finding("no", "kubernetes.pull_secrets", text)


def _machine(cluster: Cluster, machine: Machine, place: Place, nodes: Sequence[Node]) -> Iterator[Finding]:
    about = f"machine {machine.id}"
    fit = nodes_of(machine, place, nodes)
    if fit:
        yield Finding("ok", about, f"fits on {', '.join(sorted(node.name for node in fit))}")
    else:
        yield Finding("no", about, _why_nowhere(machine, place, nodes))
    for kind in ("priority_class", "runtime_class"):
        name = getattr(place, kind)
        if name:
            yield from _class(cluster, kind, name, f"kubernetes.machines.{machine.id}.{kind}")


def _why_nowhere(machine: Machine, place: Place, nodes: Sequence[Node]) -> str:
    """The first thing that no node has; the nodes that passed so far are named."""
    left = [node for node in nodes if selected(node, place)]
    if not left:
        wanted = ", ".join(f"{key} = {value}" for key, value in place.node_selector.items())
        return f"no node has the labels {wanted}. Correct node_selector, or label the nodes."
    untainted = [node for node in left if tolerated(node, place)]
    if not untainted:
        taints = sorted({f"{t['key']}:{t['effect']}" for node in left for t in node.taints})
        return f"{_named(left)} keep it off by the taints {', '.join(taints)}. Write tolerations for them."
    resource = resource_of(machine, place)
    offering = [node for node in untainted if resource is None or node.count(resource) >= chips(machine)]
    if not offering:
        return (
            f"{_named(untainted)} offer no {resource} ({chips(machine)} wanted). "
            "Install the vendor's device plugin there, or correct resource."
        )
    most = max(node.memory_bytes for node in offering)
    return (
        f"it has {format_bytes(machine.memory_bytes)}, and {_named(offering)} give a pod at most {format_bytes(most)}. "
        "Make it smaller."
    )


def _named(nodes: Sequence[Node]) -> str:
    return ", ".join(sorted(node.name for node in nodes))


def _class(cluster: Cluster, kind: str, name: str, about: str) -> Iterator[Finding]:
    if cluster.find(f"{CLASSES[kind]}/{name}") is None:
        there = [one["metadata"]["name"] for one in cluster.get(CLASSES[kind])["items"]]
        yield Finding("no", about, f"the cluster has no {name!r}. It has {', '.join(there) or 'none'}.")
    else:
        yield Finding("ok", about, name)
