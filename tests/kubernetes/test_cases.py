"""Cases C01, C03, C06, C09 on a cluster, and starts that cannot succeed: each ends with its cause and leaves nothing."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from gearshift.model.slug import slug
from gearshift_testing.cluster import Namespace
from gearshift_testing.driving import Driver, took, until
from gearshift_testing.evidence import intervals

Person = Callable[[str], Driver]
RunIn = Callable[[Driver, str, str], str]

LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
LONG = "a-person-with-a-long-name." * 3 + "@example.com"
USERS = ("_x@example.com", "-a", "a.b", "a--b", "test1", "test11", LONG)


def test_c01_a_start_during_a_stop_is_queued_and_ends_in_ready(person: Person, space: Namespace) -> None:
    cora = person("cora-pods")
    start_s = took(lambda: cora.start("work"))
    stopping = cora.begin_stop("work")
    asked = time.monotonic()
    with ThreadPoolExecutor(3) as pool:
        starts = list(pool.map(lambda _: cora.begin_start("work"), range(3)))
    assert len({start["id"] for start in starts}) == 1
    cora.done(starts[0], 120)
    assert time.monotonic() - asked < 8 + 5 * start_s + 5
    assert cora.ended(stopping)["state"] == "done"
    assert len(space.pods("cora-pods")) == 1
    for earlier, later in pairwise(intervals(cora, "work")):
        assert earlier["closed_at"] <= later["opened_at"]


def test_c03_a_start_that_no_node_takes_can_be_stopped_and_costs_nothing(
    person: Person, space: Namespace
) -> None:
    carl = person("carl-pods")
    balance = carl.get("me")["balance_nano"]
    start = carl.begin_start("work", "nowhere")
    until(lambda: space.pods("carl-pods"), 30, "its pod, which waits for a node")
    asked = time.monotonic()
    carl.done(carl.begin_stop("work"))
    assert time.monotonic() - asked < 30
    assert carl.ended(start)["state"] == "cancelled"
    assert carl.workspace("work")["state"] == "stopped"
    assert space.pods("carl-pods") == []
    assert (carl.get("me")["balance_nano"], intervals(carl, "work")) == (balance, [])


def test_c06_nothing_of_a_failed_start_is_in_the_next(person: Person, space: Namespace) -> None:
    anna, bert = person("anna-pods"), person("bert-pods")
    failed = anna.ended(anna.begin_start("work", "nowhere"), 150)
    assert (failed["state"], failed["error"]["code"]) == ("failed", "no_node")
    assert "node" in failed["error"]["message"]
    assert space.pods("anna-pods") == []
    anna.start("work", "cpu-small")
    bert.start("work", "cpu-small")
    assert launched(space, "anna-pods") == launched(space, "bert-pods")
    assert intervals(anna, "work")[-1]["price_per_hour_nano"] == 100_000_000


def test_an_image_that_no_registry_has_is_named_at_once(person: Person, space: Namespace) -> None:
    ines = person("ines-pods")
    ended = ines.ended(ines.begin_start("work", image="broken"), 120)
    assert ended["error"]["code"] == "image_unavailable"
    assert "nowhere" in ended["error"]["message"]
    assert (space.pods("ines-pods"), intervals(ines, "work")) == ([], [])


def test_c09_people_with_odd_names_each_get_their_own(person: Person, space: Namespace) -> None:
    drivers = [person(user) for user in USERS]
    for driver in drivers:
        driver.product.sign_in(driver.user)
    with ThreadPoolExecutor(3) as pool:
        starts = list(pool.map(lambda driver: driver.done(driver.begin_start("work"), 180), drivers))
    assert len(starts) == len(USERS)
    for driver in drivers:
        body = {"type": "file", "format": "text", "content": driver.user}
        assert driver.server("work", "api/contents/whoami.txt", "PUT", body).is_success
    for driver in drivers:
        assert driver.server("work", "files/whoami.txt").text == driver.user
    pods = [space.pods(slug(user)) for user in USERS]
    names = [pod["metadata"]["name"] for (pod,) in pods]
    claims = [pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] for (pod,) in pods]
    labels = [pod["metadata"]["labels"]["gearshift/owner"] for (pod,) in pods]
    for made in (names, claims, labels):
        assert len(set(made)) == len(USERS)
        assert all(LABEL.match(name) and len(name) <= 63 for name in made), made
    by_name = {driver.user: driver for driver in drivers}
    by_name["test1"].stop("work")
    assert by_name["test11"].server("work", "api/status").status_code == 200


def launched(space: Namespace, owner: str) -> dict[str, Any]:
    """What a pod was made with, less who it is for and its secrets."""
    (pod,) = space.pods(owner)
    (container,) = pod["spec"]["containers"]
    (kept,) = space.secrets(owner)
    secret = ("TOKEN", "SECRET", "KEY", "TICKET")
    env = {
        name: base64.b64decode(value).decode().replace(owner, "<me>")
        for name, value in kept["data"].items()
        if not any(part in name for part in secret)
        and name not in ("GEARSHIFT_STATE_DIR", "JUPYTERHUB_SERVICE_URL")
    }
    assert env
    placing = {key: pod["spec"].get(key) for key in ("nodeSelector", "tolerations", "priorityClassName")}
    return {"env": env, **placing, "resources": container["resources"], "image": container["image"]}
