"""Which nodes a machine may run on, what pools are made of them, and what its pod asks for; no cluster is called."""

from __future__ import annotations

from typing import Any

import pytest
from gearshift.model.launch import ImageRef, LaunchPlan, Person, ProcessLimits, WorkspaceRef
from gearshift_hub import data
from gearshift_hub.backends.kubernetes import pods, troubles
from gearshift_hub.backends.kubernetes.places import Node, nodes_of, pools
from gearshift_hub.backends.kubernetes.quantities import milli, whole
from gearshift_hub.deployment import Deployment, load

GPU_LABEL = {"example.org/pool": "gpu"}
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    return load(data.path("deployments/kubernetes.toml"))


def node(name: str, ready: bool = True, **more: Any) -> Node:
    """As the API tells it: 16 cores and 64 GiB unless said otherwise."""
    offers = {"cpu": "15900m", "memory": "65000Mi", **more.get("offers", {})}
    return Node.read(
        {
            "metadata": {"name": name, "labels": more.get("labels", {})},
            "spec": {"taints": more.get("taints", []), "unschedulable": more.get("closed", False)},
            "status": {
                "allocatable": offers,
                "conditions": [{"type": "Ready", "status": str(ready)}],
            },
        }
    )


def plan_for(machine: str, image: str = "pytorch") -> LaunchPlan:
    return LaunchPlan(
        operation="op-1",
        workspace=WorkspaceRef(owner="mei", name="lab"),
        person=Person(name="mei", slug="mei", uid=1000, gid=1000, home="/home/jovyan"),
        image=ImageRef(id=image, python="3.11", digest="env"),
        limits=ProcessLimits(memory_bytes=8 << 30, cpus=2),
        runtime_dir=pods.RUNTIME_FOLDER,
        state_dir="/home/jovyan/.local/share/gearshift/kernels/0badcafe",
        tree="ws-0badcafe-1",
        labels={"workspace": "mei/lab", "machine": machine},
    )


def test_a_machine_runs_where_labels_taints_chips_and_memory_allow_it(deployment: Deployment) -> None:
    gpu = deployment.machine("gpu")
    assert gpu is not None
    place = deployment.kubernetes.place("gpu")
    card = {"nvidia.com/gpu": "4", "memory": "512Gi"}
    nodes = [
        node("plain"),
        node("unlabelled", taints=[GPU_TAINT], offers=card),
        node("other-taint", labels=GPU_LABEL, taints=[{**GPU_TAINT, "key": "team"}], offers=card),
        node("no-card", labels=GPU_LABEL, taints=[GPU_TAINT], offers={"memory": "512Gi"}),
        node("too-small", labels=GPU_LABEL, taints=[GPU_TAINT], offers={**card, "memory": "32Gi"}),
        node("right", labels=GPU_LABEL, taints=[GPU_TAINT], offers=card),
    ]
    assert [found.name for found in nodes_of(gpu, place, nodes)] == ["right"]


def test_pools_are_the_sum_of_open_nodes_and_their_chips(deployment: Deployment) -> None:
    card = {"nvidia.com/gpu": "2", "memory": "128Gi"}
    nodes = [
        node("a"),
        node("b"),
        node("broken", ready=False),
        node("cordoned", closed=True),
        node("cards", labels=GPU_LABEL, taints=[GPU_TAINT], offers=card),
    ]
    found = {pool.id: pool for pool in pools(deployment, nodes)}
    assert found["cpu"].cores_milli == 31_000
    assert found["cpu"].memory_bytes == 2 * 65000 * 1024**2
    assert [device.id for device in found["cards"].devices] == ["cards-0", "cards-1"]
    assert found["slices"].devices == ()


def test_a_pod_of_a_machine_with_a_card_asks_for_it_where_it_is(deployment: Deployment) -> None:
    pod = pods.server_pod(deployment, plan_for("gpu", "pytorch-cuda"), ["jupyterhub-singleuser"])
    (container,) = pod["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert "@sha256:2222" in container["image"]
    assert pod["spec"]["nodeSelector"] == GPU_LABEL
    assert pod["spec"]["runtimeClassName"] == "nvidia"
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in pod["spec"][
        "tolerations"
    ]
    assert container["envFrom"] == [{"secretRef": {"name": pod["metadata"]["name"]}}]
    plain = pods.server_pod(deployment, plan_for("cpu"), [])
    assert plain["spec"]["nodeSelector"] == {}
    assert set(plain["spec"]["containers"][0]["resources"]["limits"]) == {"cpu", "memory"}


@pytest.mark.parametrize(
    ("text", "number"), [("2", 2), ("1500m", 1), ("2Gi", 2 << 30), ("1k", 1000), ("64000Ki", 64000 << 10)]
)
def test_amounts_are_read_as_kubernetes_writes_them(text: str, number: int) -> None:
    assert whole(text) == number
    assert milli("250m") == 250


def test_a_pods_status_says_how_far_it_is_and_why_not_further() -> None:
    unplaced = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    waiting = {"spec": {}, "status": {"phase": "Pending", "conditions": [unplaced]}}
    assert troubles.stage(waiting) is troubles.Stage.CAPACITY
    assert troubles.too_late(waiting, []) == troubles.Trouble("no_node", "0/3 nodes")
    assert troubles.hopeless(waiting) is None
    pulling = {"spec": {"nodeName": "a"}, "status": {"phase": "Pending"}}
    assert troubles.stage(pulling, [{"reason": "Pulling"}]) is troubles.Stage.PULLING
    mount = {"reason": "FailedMount", "message": "volume is in use"}
    assert troubles.too_late(pulling, [mount]) == troubles.Trouble("home_not_attached", "volume is in use")
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}
    backing_off = {"spec": {}, "status": {"containerStatuses": [{"name": "notebook", "state": state}]}}
    assert troubles.hopeless(backing_off) == troubles.Trouble("image_unavailable", "not found")


def test_how_a_server_ended_is_its_containers_exit_code_and_unknown_is_no_success() -> None:
    done = {"name": "notebook", "state": {"terminated": {"exitCode": 137}}}
    assert troubles.ended({"status": {"phase": "Failed", "containerStatuses": [done]}}) == 137
    assert troubles.ended({"status": {"phase": "Running"}}) is None
    assert troubles.ended(None) == troubles.UNKNOWN_END
    assert troubles.ended({"status": {"phase": "Failed"}}) == troubles.UNKNOWN_END
