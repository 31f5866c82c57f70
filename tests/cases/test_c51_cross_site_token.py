"""C51: whatever changes something needs our page's token beside the cookie; programs with a token need none.

The endpoints are taken from the routers of control and of the server extension; none of them is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from gearshift_testing import endpoints
from gearshift_testing.driving import Driver
from gearshift_testing.endpoints import Endpoint
from gearshift_testing.running import PASSWORD, Running

NAME = "cross-site"
WHO = "cora"
CONTROL = [one for one in endpoints.of_control() if one.changes]
LAB = [one for one in endpoints.of_lab() if one.changes]
ONLY_CONTROL = {"gearshift/machine"}
"""Closed to every person and program: control has a key of its own for it."""
PRESSES = ("needs_confirmation", "needs_press")
"""Known and let in, but not yet agreed to."""
FIRST, SECOND = "127.0.0.1", "127.0.0.2"


@dataclass(frozen=True)
class Site:
    """One of the two applications as a signed-in browser meets it."""

    product: Running
    driver: Driver
    browser: httpx.Client
    base: str
    header: str
    own: str
    """The token of this browser's pages."""
    foreign: str
    """The token of another browser of the same person."""

    def send(self, one: Endpoint, client: httpx.Client, **headers: str) -> httpx.Response:
        path = one.filled(owner=WHO, name=NAME)
        return client.request(one.method, f"{self.base}{path.lstrip('/')}", json={}, headers=headers)


@pytest.fixture(scope="module")
def cora(running: Running) -> Iterator[Driver]:
    """Somebody with one workspace."""
    driver = Driver(running, WHO)
    driver.start(NAME)
    yield driver
    driver.stop(NAME)


@pytest.fixture(scope="module")
def control(running: Running, cora: Driver) -> Iterator[Site]:
    base = f"{running.url}services/gearshift/"
    with signed_in(running) as browser, signed_in(running) as other:
        yield Site(
            running,
            cora,
            browser,
            base,
            "X-Gearshift-XSRF",
            form_token(browser, base),
            form_token(other, base),
        )


@pytest.fixture(scope="module")
def lab(running: Running, cora: Driver) -> Iterator[Site]:
    base = running.server(WHO, NAME)
    with signed_in(running) as browser, signed_in(running) as other:
        for client in (browser, other):
            assert "jupyter-config-data" in client.get(f"{base}lab").text
        tokens = [
            str(client.cookies.get("_xsrf", path=f"/user/{WHO}/{NAME}/")) for client in (browser, other)
        ]
        yield Site(running, cora, browser, base, "X-XSRFToken", *tokens)


def test_c51_no_endpoint_is_left_out() -> None:
    tested = {(one.method, one.path) for one in (*CONTROL, *LAB)}
    routed = {(one.method, one.path) for one in (*endpoints.of_control(), *endpoints.of_lab())}
    reading = {(method, path) for method, path in routed if method == "GET"}
    assert routed - tested - reading == set()
    assert len(CONTROL) >= 18
    assert len(LAB) >= 16


def test_c51_what_the_server_extension_passes_on_is_there_in_control() -> None:
    there = {(one.method, shape(one.path)) for one in endpoints.of_control()}
    passed_on = {(one.method, shape(one.path)) for one in endpoints.of_lab() if "/api/" in one.path}
    assert passed_on - there == set()


@pytest.mark.parametrize("one", CONTROL, ids=lambda one: f"{one.method} {one.path}")
def test_c51_control_asks_a_cookie_for_its_pages_token(control: Site, one: Endpoint) -> None:
    check(control, one)


@pytest.mark.parametrize("one", LAB, ids=lambda one: f"{one.method} {one.path}")
def test_c51_lab_asks_a_cookie_for_its_pages_token(lab: Site, one: Endpoint) -> None:
    check(lab, one)


def test_c51_a_form_got_via_one_address_is_sent_via_another(running: Running, cora: Driver) -> None:
    with signed_in(running) as there, httpx.Client(cookies=there.cookies, transport=via(SECOND)) as elsewhere:
        base = f"{running.url}services/gearshift/"
        form = {"name": "from-elsewhere", "size_gb": "1", "_xsrf": form_token(there, base)}
        assert elsewhere.post(f"{base}disks", data=form).status_code == 303
        assert "from-elsewhere" in there.get(f"{base}disks").text


def test_c51_lab_takes_a_request_from_another_address_too(lab: Site) -> None:
    with httpx.Client(cookies=lab.browser.cookies, transport=via(SECOND)) as elsewhere:
        answer = elsewhere.post(f"{lab.base}gearshift/ticket", headers={"X-XSRFToken": lab.own})
    assert answer.status_code == 200, answer.text


def test_c51_even_before_signing_in_the_address_may_change(running: Running, cora: Driver) -> None:
    with httpx.Client(transport=via(FIRST)) as here, httpx.Client(transport=via(SECOND)) as elsewhere:
        here.get(f"{running.url}hub/login")
        elsewhere.cookies = here.cookies
        form = {"username": WHO, "password": PASSWORD, "_xsrf": here.cookies["_xsrf"]}
        assert elsewhere.post(f"{running.url}hub/login", data=form).status_code == 302


def shape(path: str) -> str:
    return re.sub(r"{\w+}", "*", path.removeprefix("/api/v1/").removeprefix("gearshift/api/"))


def check(site: Site, one: Endpoint) -> None:
    with_own = site.send(one, site.browser, **{site.header: site.own})
    if one.path in ONLY_CONTROL:
        with program_of(site) as program:
            for answer in (with_own, site.send(one, program)):
                assert (answer.status_code, code(answer)) == (403, "forbidden")
        return
    assert with_own.status_code not in (401, 500), with_own.text
    assert with_own.status_code != 403 or code(with_own) in PRESSES, with_own.text
    for wrong in ({}, {site.header: site.foreign}, {site.header: ""}, {site.header: "x" * 64}):
        refused = site.send(one, site.browser, **wrong)
        assert refused.status_code == 403, (wrong, refused.text)
        assert code(refused) in ("csrf", "forbidden", None)
    with program_of(site) as program:
        answer = site.send(one, program)
    if (
        one.kind == "page"
    ):  # a page knows browsers only: everybody else is sent to sign in, and nothing happens
        assert "/hub/api/oauth2/authorize" in answer.headers["location"]
        return
    assert answer.status_code not in (401, 500), answer.text
    assert answer.status_code != 403 or code(answer) in PRESSES, answer.text


def program_of(site: Site) -> httpx.Client:
    """Somebody with a token instead of a cookie."""
    return httpx.Client(headers={"Authorization": f"token {site.product.sign_in(WHO)}"})


@contextmanager
def signed_in(running: Running) -> Iterator[httpx.Client]:
    """A browser with a sign-in of its own."""
    running.account(WHO)
    with httpx.Client(timeout=30, follow_redirects=True, transport=via(FIRST)) as browser:
        browser.get(f"{running.url}hub/login")
        form = {"username": WHO, "password": PASSWORD, "_xsrf": browser.cookies.get("_xsrf", path="/hub/")}
        assert browser.post(f"{running.url}hub/login", data=form).status_code == 200
        yield browser


def via(address: str) -> httpx.HTTPTransport:
    return httpx.HTTPTransport(local_address=address)


def form_token(browser: httpx.Client, base: str) -> str:
    found = re.search(r'name="_xsrf" value="([0-9a-f]+)"', browser.get(f"{base}disks").text)
    assert found is not None
    return found[1]


def code(answer: httpx.Response) -> Any:
    try:
        said = answer.json()
    except ValueError:
        return None
    return said.get("error", {}).get("code")
