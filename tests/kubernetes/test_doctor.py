"""`gearshift doctor` on a cluster: what the deployment file says and the cluster does not have, each with what to do."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

from gearshift_hub.backends.kubernetes.api import Cluster
from gearshift_hub.backends.kubernetes.examine import examine
from gearshift_hub.deployment import from_data
from gearshift_testing import cluster

WRONG: dict[str, Any] = {
    "cpu-small": {"priority_class": "very-important"},
    "cpu-large": {"runtime_class": "nvidia"},
}


def findings(change: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """State and sentence by what it is about, for the tests' deployment with this in its `[kubernetes]`."""
    raw = tomllib.loads(cluster.deployment("gearshift-doctor"))
    changed = copy.deepcopy(raw)
    changed["kubernetes"].update(change)
    api = Cluster()
    try:
        return {one.about: (one.state, one.text) for one in examine(api, from_data(changed))}
    finally:
        api.close()


def test_what_the_cluster_has_is_said_to_be_so() -> None:
    found = findings({})
    assert found["cluster"][0] == "ok"
    assert found["kubernetes.reach"][0] == "ok"
    assert found["kubernetes.storage_class"] == ("ok", "homes are claims of the default class standard")
    assert found["machine cpu-small"] == ("ok", "fits on node-1")
    assert found["namespace"][0] == "ok"


def test_what_it_has_not_is_said_with_what_to_do() -> None:
    found = findings(
        {"storage_class": "gold", "pull_secrets": ["registry"], "machines": WRONG, "reach": "192.0.2.1"}
    )
    assert found["kubernetes.storage_class"] == ("no", "the cluster has no 'gold'. It has shared, standard.")
    assert found["kubernetes.pull_secrets"][0] == "no"
    assert found["kubernetes.machines.cpu-small.priority_class"][0] == "no"
    assert "very-important" in found["kubernetes.machines.cpu-small.priority_class"][1]
    assert found["kubernetes.machines.cpu-large.runtime_class"][0] == "no"
    assert found["kubernetes.reach"][0] == "less"


def test_a_machine_that_fits_nowhere_says_which_wish_no_node_meets() -> None:
    nowhere = findings({})["machine nowhere"]
    assert nowhere[0] == "no"
    assert "no node has the labels gearshift.example/never = here" in nowhere[1]
