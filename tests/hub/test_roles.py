"""Every route of ours as everybody: one table says what each kind of caller gets, and no route is missing in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from gearshift_testing import endpoints, submitting
from gearshift_testing.driving import Driver
from gearshift_testing.endpoints import Endpoint
from gearshift_testing.gangs import packed
from gearshift_testing.running import ADMIN, PASSWORD, Running

OWNER, MEMBER, STRANGER = "olga", "marc", "sven"
ROLES = ("anonymous", "cross_site", "stranger", "member", "admin", "owner")
"""In the order in which they are tried: whoever changes something for good comes last."""


@dataclass
class World:
    """What olga has: a workspace, a disk that marc may read, one in the bin, a job that has ended, an operation."""

    product: Running
    owner: Driver
    disk: str
    binned: str
    job: str
    operation: str
    bundle: str
    browsers: dict[str, httpx.Client] = field(default_factory=dict)
    xsrf: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, str]:
        return {
            "owner": OWNER, "name": "work", "disk": self.disk, "user": MEMBER, "job": self.job, "part": "x",
            "operation": self.operation, "dataset": "digits", "binned": self.binned,
            "wait": "none",
        }  # fmt: skip

    def plan(self) -> str:
        """A plan of olga's that does no harm."""
        return str(self.owner.plan("cancel_job", job=self.job).json()["id"])

    def token(self, role: str) -> str:
        return self.product.sign_in(person(role))


Body = dict[str, Any] | Callable[[World, str], dict[str, Any]] | None
Expected = int | str
"""A status, or the code of an error."""


@dataclass(frozen=True)
class Row:
    """One route and what comes of it. `query` names olga's things where the route would else be about the caller."""

    route: str
    body: Body
    anonymous: Expected
    cross_site: Expected
    stranger: Expected
    member: Expected
    admin: Expected
    owner: Expected
    query: str = ""


NO, CSRF, MAY = "unauthenticated", "csrf", "forbidden"
LOOSE, LONG, RUNS, NONE = "not_attached", "bad_request", "still_running", "unknown_state"
HIDDEN_DISK, HIDDEN_JOB, NOT_MINE = "unknown_disk", "unknown_job", "plan_unknown"
NO_PLACE, NOWHERE = "unknown_wait", "unknown_machine"
HERS = "?workspace=olga/work"
HER_WISH = {"what": "switch", "workspace": "olga/work", "machine": "none"}
ONLY_CONTROL = {("PUT", "gearshift/machine"), ("POST", "gearshift/state/shared/bring-in")}
"""Routes of a workspace's server that no person may call."""
OOM = {"id": "mem-0123456789ab", "code": "kernel_oom"}
SIGN_IN = 302


def own_disk(_world: World, role: str) -> dict[str, Any]:
    return {"name": f"of-{role.replace('_', '-')}"}


API = (
    #   route                                      body        anonymous cross-site stranger member   admin   owner
    Row("GET /me", None,                                        NO,  200,  200, 200, 200, 200),
    Row("GET /catalog", None,                                   NO,  200,  MAY, MAY, 200, 200, HERS),
    Row("GET /costs/today", None,                               NO,  200,  200, 200, 200, 200),
    Row("GET /ledger", None,                                    NO,  200,  MAY, MAY, 200, 200, "?account=olga"),
    Row("GET /ledger/verify", None,                             NO,  200,  200, 200, 200, 200),
    Row("GET /datasets", None,                                  NO,  200,  MAY, MAY, 200, 200, HERS),
    Row("GET /datasets/{dataset}", None,                        NO,  200,  MAY, MAY, 200, 200, HERS),
    Row("GET /disks", None,                                     NO,  200,  200, 200, 200, 200),
    Row("POST /disks", own_disk,                                NO,  CSRF, 201, 201, 201, 201),
    Row("GET /disks/{disk}", None,                              NO,  200,  HIDDEN_DISK, 200, 200, 200),
    Row("PATCH /disks/{disk}", {"quota_bytes": 10**9},          NO,  CSRF, HIDDEN_DISK, MAY, 200, 200),
    Row("PUT /disks/{disk}/members/{user}", {"mode": "ro"},     NO,  CSRF, HIDDEN_DISK, MAY, 200, 200),
    Row("POST /disks/{binned}/restore", None,                   NO,  CSRF, HIDDEN_DISK, HIDDEN_DISK, HIDDEN_DISK, 200),
    Row("GET /events", None,                                    NO,  200,  MAY, MAY, 200, 200, HERS),
    Row("GET /jobs", None,                                      NO,  200,  200, 200, 200, 200),
    Row("POST /jobs/bundles", {"any": "bytes"},                 NO,  CSRF, 201, 201, 201, 201),
    Row("GET /jobs/{job}", None,                                NO,  200,  HIDDEN_JOB, HIDDEN_JOB, 200, 200),
    Row("POST /jobs/{job}/attendance", {"over": False},         NO,  CSRF, HIDDEN_JOB, HIDDEN_JOB, LOOSE, LOOSE),
    Row("GET /jobs/{job}/logs", None,                           NO,  200,  HIDDEN_JOB, HIDDEN_JOB, 200, 200),
    Row("GET /jobs/{job}/metrics", None,                        NO,  200,  HIDDEN_JOB, HIDDEN_JOB, 200, 200),
    Row("GET /jobs/{job}/result", None,                         NO,  200,  HIDDEN_JOB, HIDDEN_JOB, 200, 200),
    Row("GET /operations", None,                                NO,  200,  MAY, MAY, 200, 200, HERS),
    Row("GET /operations/{operation}", None,                    NO,  200,  MAY, MAY, 200, 200),
    Row("POST /operations/{operation}/cancel", None,            NO,  CSRF, MAY, MAY, "too_late", "too_late"),
    Row("POST /plans", {"kind": "stop", "workspace": "olga/work"}, NO, CSRF, MAY, MAY, 201, 201),
    Row("POST /plans/{plan}/confirm", {"terminal": True},       NO,  CSRF, NOT_MINE, NOT_MINE, NOT_MINE, 202),
    Row("GET /workspaces", None,                                NO,  200,  MAY, MAY, 200, 200, "?owner=olga"),
    Row("GET /workspaces/{owner}/{name}", None,                 NO,  200,  MAY, MAY, 200, 200),
    Row("POST /workspaces/{owner}/{name}/datasets", {"dataset": "digits"}, NO, CSRF, MAY, MAY, 200, 200),
    Row("DELETE /workspaces/{owner}/{name}/datasets/{dataset}", None, NO, CSRF, MAY, MAY, 200, 200),
    Row("POST /workspaces/{owner}/{name}/disks", lambda world, _: {"disk": world.disk}, NO, CSRF, MAY, MAY, 200, 200),
    Row("DELETE /workspaces/{owner}/{name}/disks/{disk}", None, NO,  CSRF, MAY, MAY, 200, 200),
    Row("GET /workspaces/{owner}/{name}/idle", None,            NO,  200,  MAY, MAY, 200, 200),
    Row("PUT /workspaces/{owner}/{name}/idle", {"action": "stop", "after_hours": 2}, NO, CSRF, MAY, MAY, 200, 200),
    Row("DELETE /workspaces/{owner}/{name}/idle", None,         NO,  CSRF, MAY, MAY, 200, 200),
    Row("POST /workspaces/{owner}/{name}/idle/keep", {},        NO,  CSRF, MAY, MAY, 200, 200),
    Row("PUT /workspaces/{owner}/{name}/idle/end", {"action": "keep"}, NO, CSRF, MAY, MAY, 200, 200),
    Row("GET /workspaces/{owner}/{name}/cost", None,            NO,  200,  MAY, MAY, 200, 200, "?from=2026-01-01T00:00:00Z"),
    Row("GET /workspaces/{owner}/{name}/switch-times", None,    NO,  200,  MAY, MAY, 200, 200),
    Row("GET /workspaces/{owner}/{name}/notices", None,         NO,  200,  MAY, MAY, 200, 200),
    Row("POST /workspaces/{owner}/{name}/incidents", OOM,       NO,  CSRF, MAY, MAY, MAY, MAY),
    Row("GET /states", None,                                    NO,  200,  200, 200, 200, 200),
    Row("GET /workspaces/{owner}/{name}/states", None,          NO,  200,  MAY, MAY, 200, 200),
    Row("POST /workspaces/{owner}/{name}/states", {"note": "n" * 201}, NO, CSRF, MAY, MAY, LONG, LONG),
    Row("POST /workspaces/{owner}/{name}/ticket", None,         NO,  CSRF, MAY, MAY, 200, 200),
    Row("GET /waitlist", None,                                  NO,  200,  200, 200, 200, 200),
    Row("GET /waitlist/outlook", None,                          NO,  200,  200, 200, 200, 200, "?machine=gpu-1"),
    Row("POST /waitlist", lambda _world, _role: HER_WISH,       NO,  CSRF, MAY, MAY, MAY, NOWHERE),
    Row("GET /waitlist/{wait}", None,                           NO,  NO_PLACE, NO_PLACE, NO_PLACE, NO_PLACE, NO_PLACE),
    Row("POST /waitlist/{wait}/keep", None,                     NO,  CSRF, NO_PLACE, NO_PLACE, NO_PLACE, NO_PLACE),
    Row("DELETE /waitlist/{wait}", None,                        NO,  CSRF, NO_PLACE, NO_PLACE, NO_PLACE, NO_PLACE),
)  # fmt: skip

PAGES = (
    #   route                                      body        anonymous cross-site stranger member   admin   owner
    Row("GET /", None,                                     SIGN_IN,  200,  200, 200, 200, 200, "?stay=1"),
    Row("GET /disks", None,                                SIGN_IN,  200,  200, 200, 200, 200),
    Row("POST /disks", {"name": "x y", "size_gb": "1"},    SIGN_IN,  403,  422, 422, 422, 422),
    Row("POST /disks/share", lambda world, _: {"disk": world.disk, "user": MEMBER, "mode": "ro"},
                                                           SIGN_IN,  403,  404, 403, 303, 303),
    Row("GET /start", None,                                SIGN_IN,  200,  200, 200, 200, 200),
    Row("POST /start", {"machine": "none", "image": "pytorch"}, SIGN_IN, 403, 422, 422, 422, 422),
    Row("GET /workspaces/{owner}/{name}", None,            SIGN_IN,  303,  403, 403, 303, 303),
    Row("POST /workspaces/{owner}/{name}/cancel", {},      SIGN_IN,  403,  403, 403, 303, 303),
    Row("GET /workspaces/{owner}/{name}/stop", None,       SIGN_IN,  200,  403, 403, 200, 200),
    Row("POST /workspaces/{owner}/{name}/stop", {"plan": "none"}, SIGN_IN, 403, 303, 303, 303, 303),
    Row("POST /workspaces/{owner}/{name}/start", {},       SIGN_IN,  403,  403, 403, 403, 303),
    Row("GET /workspaces/{owner}/{name}/delete", None,     SIGN_IN,  409,  403, 403, 409, 409),
    Row("POST /workspaces/{owner}/{name}/delete", {"plan": "none"}, SIGN_IN, 403, 303, 303, 303, 303),
    Row("GET /wait", None,                                 SIGN_IN,  200,  200, 200, 200, 200, "?machine=gpu-1"),
    Row("POST /wait", {"machine": "none", "image": "pytorch"}, SIGN_IN, 403, 404, 404, 404, 404),
    Row("POST /wait/agree", {"plan": "none", "agree": "no"}, SIGN_IN, 403, 422, 422, 422, 422),
    Row("POST /waits/{wait}/start", {},                    SIGN_IN,  403,  404, 404, 404, 404),
    Row("POST /waits/{wait}/keep", {},                     SIGN_IN,  403,  404, 404, 404, 404),
    Row("POST /waits/{wait}/withdraw", {},                 SIGN_IN,  403,  404, 404, 404, 404),
    Row("GET /alive", None,                                204,      204,  204, 204, 204, 204),
    Row("GET /login", None,                                SIGN_IN,  302,  302, 302, 302, 302),
    Row("GET /oauth_callback", None,                       403,      403,  403, 403, 403, 403),
    Row("GET /static/{name}", None,                        404,      404,  404, 404, 404, 404),
    Row("GET /static/{version}/{name}", None,              404,      404,  404, 404, 404, 404),
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of plan, asked for about olga's things."""

    kind: str
    body: Callable[[World], dict[str, Any]]
    stranger: Expected
    member: Expected
    admin: Expected
    owner: Expected


HER_WORKSPACE = {"workspace": "olga/work"}
NO_STATE = {**HER_WORKSPACE, "state": "op-none"}
A_JOB = {"name": "j", "machine": "cpu-small", "image": "pytorch"}

KINDS = (
    #    kind             body                                                stranger member   admin  owner
    Kind("start",         lambda _: HER_WORKSPACE,                              MAY, MAY,       201, 201),
    Kind("stop",          lambda _: HER_WORKSPACE,                              MAY, MAY,       201, 201),
    Kind("switch",        lambda _: {**HER_WORKSPACE, "machine": "cpu-large"},  MAY, MAY,       201, 201),
    Kind("job",           lambda world: {"spec": {**A_JOB, "code": world.bundle}},
                                                            "bad_request", "bad_request", "bad_request", 201),
    Kind("restore_state", lambda _: NO_STATE,                                   MAY, MAY,       NONE, NONE),
    Kind("import_state",  lambda _: {**NO_STATE, "disk": "none"},               MAY, MAY,       MAY,  HIDDEN_DISK),
    Kind("delete_state",  lambda _: NO_STATE,                                   MAY, MAY,       NONE, NONE),
    Kind("delete_workspace", lambda _: HER_WORKSPACE,                           MAY, MAY,       RUNS, RUNS),
    Kind("wait",          lambda _: HER_WISH,                                   MAY, MAY,       MAY, NOWHERE),
    Kind("reshape_job",   lambda world: {"job": world.job},            HIDDEN_JOB, HIDDEN_JOB,  MAY, "not_queued"),
    Kind("cancel_job",    lambda world: {"job": world.job},            HIDDEN_JOB, HIDDEN_JOB,  201, 201),
    Kind("delete_disk",   lambda world: {"disk": world.disk},               HIDDEN_DISK, MAY,   201, 201),
    Kind("remove_member", lambda world: {"disk": world.disk, "user": MEMBER},
                                                                            HIDDEN_DISK, 201,   201, 201),
)  # fmt: skip


@pytest.fixture(scope="module")
def world(running: Running) -> Iterator[World]:
    owner = Driver(running, OWNER)
    for name in (MEMBER, STRANGER):
        running.sign_in(name)
    disk, binned = (owner.post("disks", {"name": name})["id"] for name in ("shared", "gone"))
    assert owner.call("PUT", f"disks/{disk}/members/{MEMBER}", {"mode": "ro"}).is_success
    owner.done(owner.begin("delete_disk", disk=binned))
    started = owner.begin_start("work")
    job = submitting.submit(owner, "from gearshift import train; train.result(1)")
    owner.done(started)
    assert submitting.ended(owner, job)["state"] == "succeeded"
    bundle = submitting.send(owner, packed("print(1)"))
    made = World(running, owner, disk, binned, job, started["id"], bundle)
    with ExitStack() as open_browsers:
        for role in ROLES[1:]:
            made.browsers[role] = open_browsers.enter_context(browser(running, person(role)))
            made.xsrf[role] = form_token(running, made.browsers[role])
        yield made
    owner.stop("work")


def person(role: str) -> str:
    return {"stranger": STRANGER, "member": MEMBER, "admin": ADMIN}.get(role, OWNER)


@contextmanager
def browser(running: Running, user: str) -> Iterator[httpx.Client]:
    running.account(user)
    with httpx.Client(base_url=running.url, timeout=30) as made:
        made.get("hub/login")
        form = {"username": user, "password": PASSWORD, "_xsrf": made.cookies["_xsrf"]}
        assert made.post("hub/login", data=form).status_code == 302
        yield made


def form_token(running: Running, client: httpx.Client) -> str:
    page = client.get(f"{running.url}services/gearshift/disks", follow_redirects=True)
    found = re.search(r'name="_xsrf" value="([0-9a-f]+)"', page.text)
    assert found is not None
    return found[1]


def test_no_route_is_missing_in_the_tables() -> None:
    routed = {(one.method, one.path) for one in endpoints.of_control()}
    stated = {tuple(row.route.replace("{binned}", "{disk}").split(" ", 1)) for row in PAGES}
    stated |= {(method, f"/api/v1{path}") for method, path in (row.route.split(" ", 1) for row in API)}
    assert {(method, path.replace("{binned}", "{disk}")) for method, path in stated} == routed


@pytest.mark.parametrize("row", API, ids=lambda row: row.route)
def test_a_route_of_the_api_answers_each_caller_as_stated(world: World, row: Row) -> None:
    for role in ROLES:
        check(row, role, ask_api(world, row, role))


@pytest.mark.parametrize("row", PAGES, ids=lambda row: row.route)
def test_a_page_answers_each_caller_as_stated(world: World, row: Row) -> None:
    for role in ROLES:
        check(row, role, ask_page(world, row, role))


def test_no_kind_of_plan_is_missing_in_the_table(world: World) -> None:
    refused = world.owner.plan("nothing").json()["error"]
    assert refused["allowed"] == sorted(row.kind for row in KINDS)


@pytest.mark.parametrize("row", KINDS, ids=lambda row: row.kind)
def test_a_kind_of_plan_is_given_to_each_caller_as_stated(world: World, row: Kind) -> None:
    for role in ROLES[2:]:
        answer = Driver(world.product, person(role)).plan(row.kind, **row.body(world))
        expected: Expected = getattr(row, role)
        got = answer.status_code if isinstance(expected, int) else error_of(answer)
        assert got == expected, (role, answer.text)


@pytest.mark.parametrize("one", endpoints.of_lab(), ids=lambda one: f"{one.method} {one.path}")
def test_a_server_is_entered_by_its_owner_and_admins_only(world: World, one: Endpoint) -> None:
    url = world.product.server(OWNER, "work") + one.filled(**{**world.names, "name": "none"})
    for role in ("anonymous", "stranger", "member", "admin", "owner"):
        headers = {"Authorization": f"token {world.token(role)}"} if role != "anonymous" else {}
        answer = httpx.request(one.method, url, json={}, headers=headers, timeout=60)
        if (one.method, one.path) in ONLY_CONTROL:
            assert answer.status_code == 403, (role, answer.text)
        elif role in ("admin", "owner"):
            assert answer.status_code not in (401, 500), (role, answer.text)
            assert error_of(answer) != "forbidden" or "none" in url, (role, answer.text)
        else:
            assert answer.status_code == 403, (role, answer.text)


def ask_api(world: World, row: Row, role: str) -> httpx.Response:
    method, path = row.route.split(" ", 1)
    url = f"{world.product.api}{filled(world, path)}{row.query}"
    if role == "cross_site":
        client, headers = world.browsers["owner"], FROM_ELSEWHERE
    else:
        client = httpx.Client(timeout=60)
        headers = {} if role == "anonymous" else {"Authorization": f"token {world.token(role)}"}
    body = body_of(world, row, role)
    with client.stream(method, url, json=body, headers=headers) as answer:
        if "text/event-stream" not in answer.headers.get("content-type", ""):
            answer.read()
    return answer


FROM_ELSEWHERE = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}


def ask_page(world: World, row: Row, role: str) -> httpx.Response:
    method, path = row.route.split(" ", 1)
    url = f"{world.product.url}services/gearshift{filled(world, path)}{row.query}"
    body = body_of(world, row, role)
    if role == "anonymous":
        return httpx.request(method, url, data=body, timeout=60)
    if role == "cross_site":
        return world.browsers["owner"].request(method, url, data=body, headers=FROM_ELSEWHERE)
    sent = None if body is None else {**body, "_xsrf": world.xsrf[role]}
    return world.browsers[role].request(method, url, data=sent)


def filled(world: World, path: str) -> str:
    names = {**world.names, "plan": world.plan() if "{plan}" in path else "", "version": "v"}
    return re.sub(r"{(\w+)}", lambda found: names[found[1]], path)


def body_of(world: World, row: Row, role: str) -> dict[str, Any] | None:
    return row.body(world, role) if callable(row.body) else row.body


def check(row: Row, role: str, answer: httpx.Response) -> None:
    expected: Expected = getattr(row, role)
    got = answer.status_code if isinstance(expected, int) else error_of(answer)
    assert got == expected, f"{row.route} as {role}: {answer.status_code}"
    assert not [name for name in answer.headers if name.startswith("access-control-")], role


def error_of(answer: httpx.Response) -> str | None:
    try:
        said = answer.json()
    except ValueError:
        return None
    code: str | None = said["error"]["code"] if isinstance(said, dict) and "error" in said else None
    return code
