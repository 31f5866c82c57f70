"""The objects of one workspace, built from its LaunchPlan: the pod, the Secret with its environment, and the claim of the
home. Pure; nothing is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gearshift.model.launch import LaunchPlan, ProcessLimits

from gearshift_hub.backends.kubernetes import names, places
from gearshift_hub.backends.kubernetes.quantities import amount
from gearshift_hub.deployment import Deployment
from gearshift_hub.deployment.kubernetes import Place, Toleration, resource_of

Object = dict[str, Any]

SETTINGS_FOLDER = "/etc/gearshift/jupyter"
RUNTIME_FOLDER = "/run/gearshift"
SCRATCH = "2Gi"
UNREACHABLE_S = 30
"""How long a pod waits for its node to come back before it is given up."""
FIRST_HOME = f"{SETTINGS_FOLDER}/first_home.sh"


def environment(plan: LaunchPlan, env: Mapping[str, str]) -> Object:
    """The server's environment, which holds its tokens and keys: who may look at pods does not see it."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": plan.tree,
            "labels": names.server_labels(plan.workspace.owner, plan.workspace.name),
        },
        "immutable": True,
        "stringData": dict(env),
    }


def owned_by(pod: Mapping[str, Any]) -> Object:
    """The change that makes an object go when the pod goes, whoever deletes that."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod["name"], "uid": pod["uid"]}
    return {"metadata": {"ownerReferences": [owner]}}


def server_pod(deployment: Deployment, plan: LaunchPlan, argv: Sequence[str]) -> Object:
    """The pod that runs the plan's server, as the namespace's `restricted` rule wants it."""
    machine = plan.labels["machine"]
    cluster = deployment.kubernetes
    place = cluster.place(machine)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": plan.tree,
            "labels": names.server_labels(plan.workspace.owner, plan.workspace.name),
            "annotations": {"gearshift/workspace": plan.labels["workspace"], "gearshift/machine": machine},
        },
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": max(1, round(plan.deadlines.term)),
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": names.UID,
                "runAsGroup": names.UID,
                "fsGroup": names.UID,
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            **_placing(place, cluster.priority_class),
            "imagePullSecrets": [{"name": name} for name in cluster.pull_secrets],
            "containers": [_container(deployment, plan, place, argv)],
            "volumes": _volumes(plan, cluster.shm_bytes),
        },
    }


def home_claim(deployment: Deployment, plan: LaunchPlan) -> Object:
    """The claim of the person's home; it outlives every pod."""
    cluster = deployment.kubernetes
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": names.home_claim(plan.person.slug),
            "labels": {**names.OURS, "gearshift/owner": names.label(plan.person.name)},
        },
        "spec": {
            "accessModes": [cluster.home_access],
            "resources": {"requests": {"storage": str(deployment.disks.home_quota_bytes)}},
            **({"storageClassName": cluster.storage_class} if cluster.storage_class else {}),
        },
    }


def resized(limits: ProcessLimits, overcommit: float) -> Object:
    """The change of a running pod's CPU and memory."""
    resources = _cpu_and_memory(limits, overcommit)
    return {"spec": {"containers": [{"name": names.CONTAINER, "resources": resources}]}}


def memory_limit(pod: Mapping[str, Any]) -> int | None:
    """What the kubelet says is in force."""
    for status in pod.get("status", {}).get("containerStatuses") or ():
        limit = ((status.get("resources") or {}).get("limits") or {}).get("memory")
        if limit:
            return int(amount(limit))
    return None


def overcommit_of(deployment: Deployment, machine: str) -> float:
    found = deployment.machine(machine)
    pool = deployment.pool(found.pool) if found else None
    return pool.cpu_overcommit if pool else 1.0


def _container(deployment: Deployment, plan: LaunchPlan, place: Place, argv: Sequence[str]) -> Object:
    machine = deployment.machine(plan.labels["machine"])
    resource = resource_of(machine, place) if machine else None
    resources = _cpu_and_memory(plan.limits, overcommit_of(deployment, plan.labels["machine"]))
    if machine and resource:
        resources["limits"][resource] = str(places.chips(machine))
    return {
        "name": names.CONTAINER,
        "image": deployment.kubernetes.images[plan.image.id],
        "imagePullPolicy": "IfNotPresent",
        "args": ["/bin/sh", FIRST_HOME, plan.state_dir, *argv],
        "envFrom": [{"secretRef": {"name": plan.tree}}],
        "ports": [{"name": names.PORT_NAME, "containerPort": names.SERVER_PORT}],
        "resources": resources,
        "resizePolicy": [
            {"resourceName": name, "restartPolicy": "NotRequired"} for name in ("cpu", "memory")
        ],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "home", "mountPath": plan.person.home},
            {"name": "settings", "mountPath": SETTINGS_FOLDER, "readOnly": True},
            {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108 - the pod's own
            {"name": "runtime", "mountPath": RUNTIME_FOLDER},
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108
        ],
    }


def _cpu_and_memory(limits: ProcessLimits, overcommit: float) -> Object:
    cores = round(limits.cpus * 1000)
    memory = str(limits.memory_bytes)
    return {
        "requests": {"cpu": f"{max(1, round(cores / overcommit))}m", "memory": memory},
        "limits": {"cpu": f"{cores}m", "memory": memory},
    }


def _volumes(plan: LaunchPlan, shm_bytes: int) -> list[Object]:
    files = (
        ("jupyter_server_config.json", "jupyter_server_config.json"),
        ("page_config.json", "labconfig/page_config.json"),
        ("sitecustomize.py", "python/sitecustomize.py"),
        ("first_home.sh", "first_home.sh"),
        ("first-drive.ipynb", "first-drive.ipynb"),
    )
    items = [{"key": key, "path": path} for key, path in files]
    return [
        {"name": "home", "persistentVolumeClaim": {"claimName": names.home_claim(plan.person.slug)}},
        {"name": "settings", "configMap": {"name": names.SETTINGS, "items": items}},
        {"name": "scratch", "emptyDir": {"sizeLimit": SCRATCH}},
        {"name": "runtime", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": str(shm_bytes)}},
    ]


def _placing(place: Place, priority_class: str | None) -> Object:
    found: Object = {
        "nodeSelector": dict(place.node_selector),
        "tolerations": [*map(_toleration, place.tolerations), *_given_up()],
    }
    if place.runtime_class:
        found["runtimeClassName"] = place.runtime_class
    if place.priority_class or priority_class:
        found["priorityClassName"] = place.priority_class or priority_class
    return found


def _toleration(wanted: Toleration) -> Object:
    value = (
        {"operator": "Equal", "value": wanted.value} if wanted.value is not None else {"operator": "Exists"}
    )
    return {"key": wanted.key, **value, **({"effect": wanted.effect} if wanted.effect else {})}


def _given_up() -> list[Object]:
    """Kubernetes would wait five minutes for a node that is gone."""
    return [
        {
            "key": f"node.kubernetes.io/{what}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": UNREACHABLE_S,
        }
        for what in ("not-ready", "unreachable")
    ]
