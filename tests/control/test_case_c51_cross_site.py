"""Case C51: every endpoint that changes something needs our page's token when it is called with a cookie."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from gearshift_hub.control.app import plug
from gearshift_hub.control.auth import CHECKS, READING, may
from gearshift_testing.controls import ON_SQLITE, Browser, Control, Person

pytestmark = ON_SQLITE


@pytest.fixture
async def control(control: Control) -> Control:
    """With disks, data sets, jobs and pages: the whole router."""
    plug(control.ctx)
    return control


def routes(control: Control) -> Iterator[RouteContext]:
    """Every route of the public app, found by walking it."""
    for route in iter_route_contexts(control.public.routes):
        assert isinstance(route.original_route, APIRoute), f"{route.path} is no route with declared checks"
        yield route


async def test_no_route_is_without_a_check(control: Control) -> None:
    unchecked = [
        f"{sorted(route.methods)} {route.path}"
        for route in routes(control)
        if not any(dependency.call in CHECKS for dependency in route.dependant.dependencies)
    ]
    assert unchecked == []


async def test_only_what_is_public_on_purpose_can_be_called_by_anyone(control: Control) -> None:
    public = {
        route.path.removeprefix(control.ctx.prefix)
        for route in routes(control)
        if any(dependency.call == may.anyone for dependency in route.dependant.dependencies)
    }
    assert {"/login", "/oauth_callback"} <= public
    assert all(not path.startswith("/api/") for path in public)


async def test_no_internal_route_is_reachable_from_outside(control: Control) -> None:
    assert [route.path for route in routes(control) if "internal" in route.path] == []
    async with control.outside() as client:
        assert (await client.get("/internal/accounts")).status_code == 404


async def test_c51_cookie_needs_our_pages_token_on_whatever_changes_something(control: Control) -> None:
    await control.add_person("alice")
    browser = control.browser("alice")
    open_doors = []
    for route in routes(control):
        for method in route.methods - set(READING):
            path = _filled(route.path.removeprefix(control.ctx.prefix))
            without = await browser.request(method, path, json={})
            foreign = await browser.request(method, path, xsrf="0" * 64, json={})
            own = await browser.request(method, path, xsrf=browser.xsrf, json={})
            refused = (without.status_code, foreign.status_code) == (403, 403)
            if not refused or {_code(without), _code(foreign)} - {"csrf", None}:
                open_doors.append((method, path, without.text, foreign.text))
            assert own.status_code not in (403, 500), (method, path, own.text)
    assert open_doors == []


async def test_c51_a_token_without_cookie_needs_no_page_token(control: Control, alice: Person) -> None:
    for route in routes(control):
        for method in route.methods - set(READING):
            path = _filled(route.path.removeprefix(control.ctx.prefix))
            if not path.startswith("/api/"):
                continue
            async with control.outside(alice.headers) as client:
                answer = await client.request(method, path, json={})
            assert _code(answer) not in ("csrf", "unauthenticated"), (method, path)
            assert answer.status_code != 500, (method, path, answer.text)


async def test_c51_the_token_of_another_session_is_refused(control: Control, alice: Person) -> None:
    mine = control.browser("alice")
    other = Browser(control, "alice", "browser-alice", session="session-2")
    answer = await mine.request("POST", "/api/v1/plans", xsrf=other.xsrf, json={"kind": "start"})
    assert (answer.status_code, _code(answer)) == (403, "csrf")


async def test_c51_a_changed_address_does_not_matter(control: Control, alice: Person) -> None:
    browser = control.browser("alice")
    spec = {"image": "pytorch", "machine": "cpu-small"}
    for address in ("203.0.113.7", "198.51.100.9"):
        browser_headers = {"X-Forwarded-For": address}
        answer = await browser.request(
            "POST",
            "/api/v1/plans",
            xsrf=browser.xsrf,
            json={"kind": "start", "name": "work", "spec": spec},
            headers=browser_headers,
        )
        assert answer.status_code == 201


async def test_a_plain_form_may_carry_the_token_as_a_field(control: Control, alice: Person) -> None:
    browser = control.browser("alice")
    sent = {"_xsrf": browser.xsrf}
    answer = await browser.request("POST", "/api/v1/operations/op-x/cancel", data=sent)
    assert _code(answer) == "unknown_operation"
    answer = await browser.request("POST", "/api/v1/operations/op-x/cancel", data={"_xsrf": "no"})
    assert _code(answer) == "csrf"


@pytest.mark.parametrize("cookie", ["", "gearshift-session=abc", "gearshift-session=gAAAA"])
async def test_a_broken_cookie_is_nobody(control: Control, cookie: str) -> None:
    async with control.outside({"Cookie": cookie}) as client:
        answer = await client.get("/api/v1/me")
    assert (answer.status_code, _code(answer)) == (401, "unauthenticated")


def _code(answer: object) -> str | None:
    try:
        body = answer.json()  # type: ignore[attr-defined]
    except ValueError:
        return None
    return body["error"]["code"] if isinstance(body, dict) and "error" in body else None


def _filled(path: str) -> str:
    """A path of alice's with something in each of its places."""
    path = path.replace("{owner}", "alice")
    while "{" in path:
        before, _, rest = path.partition("{")
        path = f"{before}x{rest.partition('}')[2]}"
    return path
