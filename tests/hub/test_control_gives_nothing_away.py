"""A workspace's server runs the person's own code: what control and the hub send to it must be worth nothing elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from gearshift_testing.driving import Driver
from gearshift_testing.evidence import home_of, write_server_config
from gearshift_testing.running import Running

LISTENING = """
import pathlib, tornado.web
seen, find = pathlib.Path.home() / "seen", tornado.web.Application.find_handler
def listen(self, request, **more):
    with seen.open("a") as file:
        print(*(f"{name}: {value}" for name, value in request.headers.get_all()), sep="\\n", file=file)
    return find(self, request, **more)
tornado.web.Application.find_handler = listen
"""


def test_a_server_that_listens_to_all_its_requests_learns_no_credential_of_ours(
    person: Callable[[str], Driver], running: Running
) -> None:
    eve = person("eve-listens")
    eve.start("work")
    eve.stop("work")
    write_server_config(running, eve.user, LISTENING)
    eve.start("work")
    eve.switch("work", "cpu-large")
    eve.stop("work")
    headers = (home_of(running, eve.user) / "seen").read_text().splitlines()
    words = {word for line in headers for word in line.replace(",", " ").replace(";", " ").split()}
    secrets = running.home.secrets()
    held = (secrets.control_hub_token, secrets.control_secret, secrets.state_secret, secrets.traefik_password)
    assert len(headers) > 3
    assert not words.intersection(held)
    for word in words:
        answer = whoami(running, word)
        assert answer.status_code == 403 or answer.json()["name"] == eve.user, word


def whoami(running: Running, word: str) -> httpx.Response:
    """What the hub says to somebody who uses this word as a token."""
    return httpx.get(f"{running.url}hub/api/user", headers={"Authorization": f"token {word}"})
