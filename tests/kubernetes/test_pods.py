"""A workspace's pod as its person finds it from inside: who it is, what it may, and whom it reaches."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from gearshift_testing.cluster import Namespace
from gearshift_testing.driving import Driver, until
from gearshift_testing.running import Running

RunIn = Callable[[Driver, str, str], str]
NAME = "inside"

FACTS = """
import json, os
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines() if ":" in line)
def may_write(folder):
    try:
        open(os.path.join(folder, ".probe"), "w").close()
        os.remove(os.path.join(folder, ".probe"))
    except OSError:
        return False
    return True
room = os.statvfs("/dev/shm")
print(json.dumps({
    "uid": os.getuid(), "groups": os.getgroups(), "home": os.path.expanduser("~"),
    "capabilities": int(status["CapEff"], 16), "seccomp": status["Seccomp"].strip(),
    "no_new_privileges": status["NoNewPrivs"].strip(),
    "writable": [folder for folder in ("/", "/etc", "/opt/gearshift", "/tmp", os.path.expanduser("~")) if may_write(folder)],
    "token": os.path.exists("/var/run/secrets/kubernetes.io/serviceaccount"),
    "shm": room.f_blocks * room.f_frsize,
}))
"""

REACH = """
import json, socket
found = {}
for name, (host, port) in json.loads('''PLACES''').items():
    try:
        socket.create_connection((host, port), 3).close()
        found[name] = True
    except OSError:
        found[name] = False
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def mei(running: Running) -> Iterator[Driver]:
    """A person with a workspace."""
    driver = Driver(running, "mei-inside")
    driver.start(NAME)
    yield driver
    driver.stop(NAME)


def test_it_is_nobody_and_writes_only_what_is_its_own(mei: Driver, run_in: RunIn) -> None:
    facts: dict[str, Any] = json.loads(run_in(mei, NAME, FACTS))
    assert (facts["uid"], 1000 in facts["groups"]) == (1000, True)
    assert (facts["capabilities"], facts["seccomp"], facts["no_new_privileges"]) == (0, "2", "1")
    assert facts["writable"] == ["/tmp", facts["home"]]
    assert facts["token"] is False
    assert facts["shm"] == 64 << 20


def test_its_objects_are_named_and_bounded_as_the_plan_says(mei: Driver, space: Namespace) -> None:
    (pod,) = space.pods("mei-inside")
    (container,) = pod["spec"]["containers"]
    assert pod["metadata"]["name"] == mei.state(NAME)["tree"]
    assert container["resources"]["limits"] == {"cpu": "1", "memory": str(1 << 30)}
    assert container["resources"]["requests"] == {"cpu": "125m", "memory": str(1 << 30)}
    assert "@sha256:" in container["image"]
    claims = {claim["metadata"]["name"] for claim in space.listed("persistentvolumeclaims")}
    assert "home-mei-inside" in claims


def test_its_tokens_are_in_a_secret_that_goes_with_it(
    person: Callable[[str], Driver], run_in: RunIn, space: Namespace
) -> None:
    tom = person("tom-inside")
    tom.start("kept")
    (pod,) = space.pods("tom-inside")
    found = run_in(
        tom, "kept", "import os; print(os.environ['JUPYTERHUB_API_TOKEN'], os.environ['GEARSHIFT_STATE_KEY'])"
    )
    told = json.dumps(pod)
    assert all(len(secret) >= 32 and secret not in told for secret in found.split())
    (kept,) = space.secrets("tom-inside")
    assert kept["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    tom.stop("kept")
    assert space.secrets("tom-inside") == []


def test_a_pod_that_somebody_deletes_takes_its_secret_along(
    person: Callable[[str], Driver], space: Namespace
) -> None:
    ben = person("ben-inside")
    ben.start("lost")
    (pod,) = space.pods("ben-inside")
    space.api.delete(f"/api/v1/namespaces/{space.name}/pods/{pod['metadata']['name']}")
    gone = "the pod and its Secret to be gone"
    until(lambda: not space.pods("ben-inside") and not space.secrets("ben-inside"), 60, gone)


def test_it_reaches_the_door_and_neither_people_nor_the_cluster(
    mei: Driver, run_in: RunIn, space: Namespace, person: Callable[[str], Driver]
) -> None:
    other = person("noor-inside")
    other.start("neighbour")
    (pod,) = space.pods("noor-inside")
    api = urlsplit(space.api.address)
    places = {
        "door": [os.environ["GEARSHIFT_TEST_REACH"], mei.product.home.ports().port],
        "neighbour": [pod["status"]["podIP"], 8888],
        "api server": [api.hostname, api.port or 443],
        "api service": ["kubernetes.default.svc", 443],
        "metadata": ["169.254.169.254", 80],
    }
    reached = json.loads(run_in(mei, NAME, REACH.replace("PLACES", json.dumps(places))))
    assert reached == {
        "door": True,
        "neighbour": False,
        "api server": False,
        "api service": False,
        "metadata": False,
    }


def test_a_pod_that_asks_for_more_is_refused_by_the_namespace(space: Namespace) -> None:
    from gearshift_hub.backends.kubernetes.api import ClusterError

    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "root"},
        "spec": {
            "containers": [{"name": "c", "image": "localhost/x", "securityContext": {"privileged": True}}]
        },
    }
    with pytest.raises(ClusterError, match="restricted"):
        space.api.apply(f"/api/v1/namespaces/{space.name}/pods/root", pod)
