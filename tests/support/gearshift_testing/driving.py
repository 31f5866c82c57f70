"""One person driving a running product over control's REST, as a program with a spend token and caps does."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from gearshift_testing.running import PASSWORD, Running

T = TypeVar("T")

CAPS = {"max_price_nano": 100 * 10**9, "max_cost_nano": 1000 * 10**9}
ENDED = ("done", "failed", "cancelled")
PATIENCE_S = 60.0
"""The least that a wait for a condition gets: a busy box is no failure, and a condition that holds ends the wait."""


@dataclass(frozen=True)
class Driver:
    """A person; every call goes through the proxy with their personal token."""

    product: Running
    user: str

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        headers = {"Authorization": f"token {self.product.sign_in(self.user)}"}
        return httpx.request(method, f"{self.product.api}/{path}", json=body, headers=headers, timeout=120)

    def get(self, path: str) -> Any:
        return _json(self.call("GET", path))

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        return _json(self.call("POST", path, body))

    def plan(self, kind: str, **body: Any) -> httpx.Response:
        return self.call("POST", "plans", {"kind": kind, **body})

    def confirm(self, plan: dict[str, Any]) -> Any:
        """The operation that came of it."""
        return self.post(f"plans/{plan['id']}/confirm", CAPS)

    def begin(self, kind: str, **body: Any) -> Any:
        """Plan and confirm; the operation, still running."""
        return self.confirm(_json(self.plan(kind, **body)))

    def begin_start(self, name: str, machine: str = "cpu-small", **spec: Any) -> Any:
        return self.begin("start", name=name, spec=wanted(machine, **spec))

    def start(self, name: str, machine: str = "cpu-small", **spec: Any) -> Any:
        """Start and wait; the workspace, which is ready."""
        self.done(self.begin_start(name, machine, **spec))
        return self.workspace(name)

    def begin_stop(self, name: str) -> Any:
        return self.begin("stop", workspace=f"{self.user}/{name}")

    def stop(self, name: str) -> Any:
        self.done(self.begin_stop(name))
        return self.workspace(name)

    def switch(self, name: str, machine: str) -> Any:
        """Switch and wait; the operation."""
        return self.done(self.begin("switch", workspace=f"{self.user}/{name}", machine=machine))

    def workspace(self, name: str) -> Any:
        return self.get(f"workspaces/{self.user}/{name}")

    def ended(self, operation: dict[str, Any], seconds: float = 60.0) -> Any:
        """The operation once it has ended, however."""
        return until(lambda: self._if_ended(operation["id"]), seconds, f"{operation['kind']} ends")

    def done(self, operation: dict[str, Any], seconds: float = 60.0) -> Any:
        """The operation once it is done; any other end fails the test."""
        ended = self.ended(operation, seconds)
        assert ended["state"] == "done", ended
        return ended

    def server(self, name: str, path: str, method: str = "GET", body: Any = None) -> httpx.Response:
        """A call to the workspace's own server, through the proxy."""
        headers = {"Authorization": f"token {self.product.sign_in(self.user)}"}
        url = self.product.server(self.user, name) + path
        return httpx.request(method, url, json=body, headers=headers, timeout=30)

    def browser(self, name: str) -> httpx.Client:
        """A browser that has signed in and opened Lab once, with the cookies of that."""
        self.product.account(self.user)
        browser = httpx.Client(base_url=self.product.url, timeout=30, follow_redirects=True)
        browser.get("hub/login")
        form = {
            "username": self.user,
            "password": PASSWORD,
            "_xsrf": browser.cookies.get("_xsrf", path="/hub/"),
        }
        browser.post("hub/login", data=form)
        opened = browser.get(f"{self.product.server(self.user, name)}lab")
        assert "jupyter-config-data" in opened.text, opened.url
        return browser

    def state(self, name: str) -> dict[str, Any]:
        """What the hub knows of the server."""
        state: dict[str, Any] = self.product.hub(
            "GET", f"gearshift/workspaces/{self.user}/{name}/state"
        ).json()
        return state

    def _if_ended(self, operation: str) -> Any:
        found = self.get(f"operations/{operation}")
        return found if found["state"] in ENDED else None


def wanted(machine: str, **spec: Any) -> dict[str, Any]:
    """A spec that asks for this machine."""
    return {"image": "pytorch", "machine": machine, "plan": "on_demand", "disks": [], "datasets": [], **spec}


def until(found: Callable[[], T | None], seconds: float, what: str) -> T:
    """The first answer that is something; fails by name past the deadline."""
    deadline = time.monotonic() + max(seconds, PATIENCE_S)
    while True:
        answer = found()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"not within {max(seconds, PATIENCE_S)} s: {what}"
        time.sleep(0.05)


def took(work: Callable[[], object]) -> float:
    """The seconds of something ordinary: what an answer "at once" is measured against on this box, just now."""
    began = time.monotonic()
    work()
    return time.monotonic() - began


def _json(answer: httpx.Response) -> Any:
    assert answer.is_success, (
        f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
    )
    return answer.json() if answer.content else None
