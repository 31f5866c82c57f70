"""`backend = "kubernetes"` in the deployment file: how machines map to a cluster, and which contradictions are refused."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
from gearshift.model.problems import Problem
from gearshift_hub import data
from gearshift_hub.deployment import Deployment, DeploymentError, from_data, load
from gearshift_hub.deployment.kubernetes import resource_of

EXAMPLE: dict[str, Any] = tomllib.loads(data.path("deployments/kubernetes.toml").read_text("utf-8"))

Change = Callable[[dict[str, Any]], object]


def refused(change: Change) -> dict[str, str]:
    """What is said about the example after this change, by key."""
    raw = copy.deepcopy(EXAMPLE)
    change(raw)
    with pytest.raises(DeploymentError) as told:
        from_data(raw)
    problems: tuple[Problem, ...] = told.value.problems
    return {problem.key: str(problem) for problem in problems}


def machines(d: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = d["kubernetes"]["machines"]
    return found


CONTRADICTIONS: list[tuple[str, Change, str, str]] = [
    ("no such backend", lambda d: d.update(backend="kubernets"), "backend", "Did you mean 'kubernetes'?"),
    ("a backend that is a number", lambda d: d.update(backend=3), "backend", "Allowed: local, kubernetes"),
    ("a table nobody reads", lambda d: d.update(backend="local"), "kubernetes", 'backend = "kubernetes"'),
    (
        "no address for pods",
        lambda d: d["kubernetes"].pop("reach"),
        "kubernetes.reach",
        "address of this box",
    ),
    (
        "a pod's own address",
        lambda d: d["kubernetes"].update(reach="127.0.0.1"),
        "kubernetes.reach",
        "the pod itself",
    ),
    (
        "a typo",
        lambda d: d["kubernetes"].update(storage_clas="x"),
        "kubernetes.storage_clas",
        "Did you mean 'storage_class'?",
    ),
    (
        "an image without reference",
        lambda d: d["kubernetes"]["images"].pop("pytorch"),
        "kubernetes.images.pytorch",
        "sha256",
    ),
    (
        "an image that can change",
        lambda d: d["kubernetes"]["images"].update(pytorch="registry.example.org/pytorch:latest"),
        "kubernetes.images.pytorch",
        "sha256",
    ),
    (
        "an image nobody declares",
        lambda d: d["kubernetes"]["images"].update(pytorhc=d["kubernetes"]["images"]["pytorch"]),
        "kubernetes.images.pytorhc",
        "Did you mean 'pytorch'?",
    ),
    ("a machine nobody declares", lambda d: machines(d).update(gpux={}), "kubernetes.machines.gpux", "'gpu'"),
    (
        "a chip of an unknown vendor",
        lambda d: d["machines"][1]["chip"].update(vendor="acme"),
        "kubernetes.machines.gpu.resource",
        "device plugin",
    ),
    (
        "a part of a whole chip",
        lambda d: machines(d)["gpu-slice"].pop("resource"),
        "kubernetes.machines.gpu-slice.resource",
        "mig",
    ),
    (
        "a resource without a chip",
        lambda d: machines(d).update(cpu={"resource": "nvidia.com/gpu"}),
        "kubernetes.machines.cpu.resource",
        "no real chip",
    ),
    (
        "an effect that is none",
        lambda d: machines(d)["gpu"]["tolerations"][0].update(effect="Never"),
        "kubernetes.machines.gpu.tolerations[0].effect",
        "NoSchedule",
    ),
    ("data sets", lambda d: d.update(datasets={"enabled": ["iris"]}), "datasets.enabled", "not offered"),
    ("apps", lambda d: d.update(apps=["marimo"]), "apps", "not offered"),
]


@pytest.mark.parametrize(
    ("change", "key", "words"), [c[1:] for c in CONTRADICTIONS], ids=[c[0] for c in CONTRADICTIONS]
)
def test_what_contradicts_is_refused_with_its_key_and_a_way_on(change: Change, key: str, words: str) -> None:
    found = refused(change)
    assert key in found
    assert words in found[key]


def test_the_resource_of_a_chip_follows_from_its_vendor_unless_the_file_names_one() -> None:
    deployment: Deployment = load(data.path("deployments/kubernetes.toml"))
    resources = {
        machine.id: resource_of(machine, deployment.kubernetes.place(machine.id))
        for machine in deployment.machines
    }
    assert resources == {"cpu": None, "gpu": "nvidia.com/gpu", "gpu-slice": "nvidia.com/mig-1g.10gb"}


def test_without_a_word_about_it_a_deployment_is_this_boxs() -> None:
    assert load(data.path("gearshift.toml")).backend == "local"
