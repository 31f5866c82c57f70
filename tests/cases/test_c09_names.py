"""C09: people with odd names start; every name made of theirs is valid, short, and their own."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
from gearshift.model.slug import slug
from gearshift_testing.driving import Driver
from gearshift_testing.evidence import home_of, trees_of
from gearshift_testing.running import Running

LONG = "a-person-with-a-long-name." * 3 + "@example.com"
USERS = ("_x@example.com", "-a", "A.C", "a.b", "a-b", "a_b", "a--b", "test1", "test11", LONG)
LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")


def test_c09_ten_people_with_odd_names_each_get_their_own(
    person: Callable[[str], Driver], running: Running
) -> None:
    assert len(USERS[-1]) == 90
    drivers = [person(user) for user in USERS]
    for user in USERS:
        running.sign_in(user)
    with ThreadPoolExecutor(3) as pool:
        workspaces = list(pool.map(lambda driver: driver.start("work"), drivers))
    assert [one["state"] for one in workspaces] == ["ready"] * 10
    for driver in drivers:
        answer = write(driver)
        assert answer.is_success, answer.text
    labels = [slug(user) for user in USERS]
    trees = [trees_of(driver, "work")[0].name for driver in drivers]
    for names in (labels, trees):
        assert len(set(names)) == 10
        assert all(LABEL.match(name) and len(name) <= 63 for name in names), names
    for user in USERS:
        assert (home_of(running, user) / "whoami.txt").read_text() == user
    by_name = {driver.user: driver for driver in drivers}
    by_name["test1"].stop("work")
    assert by_name["test11"].workspace("work")["state"] == "ready"
    assert by_name["test11"].server("work", "api/status").status_code == 200


def write(driver: Driver) -> httpx.Response:
    body = {"type": "file", "format": "text", "content": driver.user}
    return driver.server("work", "api/contents/whoami.txt", "PUT", body)
