"""What a pod's status and events say in our words: how far a start is, how a server ended, and why one cannot start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gearshift_hub.backends.kubernetes import names

Pod = Mapping[str, Any]

NO_IMAGE = ("ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError")
"""A first ErrImagePull may pass; the node's waiting before it tries again says that it did not."""
NOT_MADE = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
NOT_ATTACHED = ("FailedAttachVolume", "FailedMount", "ProvisioningFailed")
UNKNOWN_END = 1
"""What is told of a server whose end nobody saw."""


class Stage(StrEnum):
    """How far a start is."""

    ASKED = "asked"
    CAPACITY = "capacity"
    ATTACHING = "attaching"
    PULLING = "pulling"
    STARTING = "starting"
    RUNNING = "running"


WORDS = {
    Stage.ASKED: ("The cluster was asked", "已向集群提出请求"),
    Stage.CAPACITY: ("Waiting for room on a node", "等待节点空出资源"),
    Stage.ATTACHING: ("Attaching the home", "正在挂载主目录"),
    Stage.PULLING: ("Fetching the image", "正在拉取镜像"),
    Stage.STARTING: ("Starting", "正在启动"),
    Stage.RUNNING: ("Running", "正在运行"),
}


@dataclass(frozen=True)
class Trouble:
    """Why a start cannot come to an end: the code of the error, and what the cluster said."""

    code: str
    cause: str


def stage(pod: Pod | None, events: Iterable[Mapping[str, Any]] = ()) -> Stage:
    """How far it is."""
    if pod is None:
        return Stage.ASKED
    if _unplaced(pod) is not None:
        return Stage.CAPACITY
    if is_running(pod):
        return Stage.RUNNING
    reasons = [event.get("reason") for event in events]
    if "Pulled" in reasons:
        return Stage.STARTING
    if "Pulling" in reasons:
        return Stage.PULLING
    return Stage.ATTACHING if pod["spec"].get("nodeName") else Stage.CAPACITY


def hopeless(pod: Pod | None) -> Trouble | None:
    """What no waiting helps."""
    for state in _waiting(pod):
        reason, message = str(state.get("reason")), str(state.get("message") or state.get("reason"))
        if reason in NO_IMAGE:
            return Trouble("image_unavailable", message)
        if reason in NOT_MADE:
            return Trouble("cluster_refused", message)
    return None


def too_late(pod: Pod | None, events: Iterable[Mapping[str, Any]]) -> Trouble | None:
    """Why it was not ready in time, where the cluster says so."""
    if pod is not None and (why := _unplaced(pod)) is not None:
        return Trouble("no_node", why)
    if any(state.get("reason") == "ErrImagePull" for state in _waiting(pod)):
        return Trouble("image_unavailable", str(next(_waiting(pod)).get("message")))
    for event in events:
        if event.get("reason") in NOT_ATTACHED:
            return Trouble("home_not_attached", str(event.get("message")))
    return None


def is_running(pod: Pod | None) -> bool:
    return pod is not None and pod["status"].get("phase") == "Running" and bool(pod["status"].get("podIP"))


def ended(pod: Pod | None) -> int | None:
    """None while it runs or is to run, else its exit code."""
    if pod is None:
        return UNKNOWN_END
    for status in pod["status"].get("containerStatuses") or ():
        done = status["state"].get("terminated")
        if status["name"] == names.CONTAINER and done:
            return int(done["exitCode"])
    return UNKNOWN_END if pod["status"].get("phase") in ("Failed", "Succeeded") else None


def _unplaced(pod: Pod) -> str | None:
    """What the scheduler says of a pod that no node takes."""
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message") or condition.get("reason"))
    return None


def _waiting(pod: Pod | None) -> Iterator[Mapping[str, Any]]:
    for status in (pod or {"status": {}})["status"].get("containerStatuses") or ():
        waiting = status["state"].get("waiting")
        if waiting:
            yield waiting
