"""The door to control: what passes, with which token, and what counts as a press."""

from __future__ import annotations

import httpx
import pytest
from gearshift.lab.allowed import ALLOWED, upstream_path
from gearshift.model.errors import GearshiftError
from gearshift_testing.lab_server import HUB_TOKEN, TOKEN, FakeControl, LabServer
from hypothesis import given
from hypothesis import strategies as st

API = "gearshift/api"


def test_an_allowed_call_reaches_control_with_the_servers_token(lab: LabServer, control: FakeControl) -> None:
    answer = lab.http.get(f"{API}/workspaces/mei/vlm", params={"a": "1 2", "token": TOKEN})
    assert answer.status_code == 200
    assert answer.json() == {"path": "workspaces/mei/vlm", "query": "a=1+2"}
    assert control.calls[-1].headers["Authorization"] == f"token {HUB_TOKEN}"
    assert "Cookie" not in control.calls[-1].headers


def test_what_control_sets_for_itself_does_not_reach_the_page(lab: LabServer, control: FakeControl) -> None:
    answer = [lab.http.get(f"{API}/me") for _ in range(2)][1]
    assert "Cookie" not in control.calls[-1].headers
    assert "control=secret" not in str(answer.headers)
    assert HUB_TOKEN not in answer.text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "admin"),
        ("GET", "events"),
        ("POST", "workspaces/mei/vlm/ticket"),
        ("DELETE", "plans/p-1"),
        ("GET", "disks/a/b/c"),
        ("POST", "internal/launches"),
    ],
)
def test_what_is_not_listed_is_not_there(
    lab: LabServer, control: FakeControl, method: str, path: str
) -> None:
    before = len(control.calls)
    answer = lab.http.request(method, f"{API}/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert len(control.calls) == before


@pytest.mark.parametrize(
    "path",
    [
        "disks/..%2f..%2finternal",
        "disks/%2e%2e",
        "disks/%252e%252e",
        "disks//x",
        "disks/a%00b",
        "disks/a%5cb",
        "jobs/%2e%2e/logs",
    ],
)
def test_c53_a_path_that_leaves_the_api_reaches_nobody(
    lab: LabServer, control: FakeControl, path: str
) -> None:
    before = len(control.calls)
    answer = lab.http.get(httpx.URL(f"{lab.url}{API}/{path}"))
    assert answer.status_code == 404
    assert len(control.calls) == before


def test_c53_names_with_dots_and_other_scripts_are_names(lab: LabServer) -> None:
    assert lab.http.get(f"{API}/disks/a..b").json()["path"] == "disks/a..b"
    answer = lab.http.put(f"{API}/disks/d-1/members/王芳@lab", json={"mode": "ro"})
    assert answer.json()["path"] == "disks/d-1/members/%E7%8E%8B%E8%8A%B3@lab"


@given(st.text(max_size=40))
def test_c53_no_text_makes_a_path_with_a_way_up(text: str) -> None:
    try:
        path = upstream_path("GET", f"disks/{text}")
    except GearshiftError:
        return
    assert ".." not in path.split("/")
    assert path.count("/") == 1


def test_every_listed_call_passes_its_own_check() -> None:
    for method, pattern in ALLOWED:
        path = pattern.replace("*", "x-1")
        assert upstream_path(method, path) == path


def test_a_call_without_a_token_or_session_is_refused(lab: LabServer, control: FakeControl) -> None:
    before = len(control.calls)
    answer = httpx.get(f"{lab.url}{API}/me", trust_env=False)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "forbidden"
    assert len(control.calls) == before


def test_a_press_counts_from_a_signed_in_page(lab: LabServer, control: FakeControl) -> None:
    with lab.browser() as page:
        answer = page.post(
            f"{API}/plans/p-1/confirm", json={"press": True}, headers={"X-Gearshift-Press": "1"}
        )
    assert answer.status_code == 200
    assert control.calls[-1].headers["X-Gearshift-Press"] == "1"
    assert control.calls[-1].body == b'{"press":true}'


def test_a_press_counts_when_the_page_sends_its_token_too(lab: LabServer) -> None:
    with lab.browser() as page:
        headers = {"X-Gearshift-Press": "1", "Authorization": f"token {TOKEN}"}
        answer = page.post(f"{API}/plans/p-1/confirm", json={"press": True}, headers=headers)
    assert answer.status_code == 200


def test_a_press_does_not_count_from_code_with_a_token(lab: LabServer, control: FakeControl) -> None:
    with httpx.Client(base_url=lab.url, headers={"Authorization": f"token {TOKEN}"}, trust_env=False) as code:
        answer = code.post(
            f"{API}/plans/p-1/confirm", json={"press": True}, headers={"X-Gearshift-Press": "1"}
        )
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "needs_confirmation")
    assert "X-Gearshift-Press" not in control.calls[-1].headers


def test_a_press_needs_the_pages_xsrf_token(lab: LabServer, control: FakeControl) -> None:
    with lab.browser() as page:
        for token in ("", "wrong"):
            headers = {
                "X-Gearshift-Press": "1",
                "X-XSRFToken": token,
                "Authorization": f"token {TOKEN}",
            }
            page.post(f"{API}/plans/p-1/confirm", json={"press": True}, headers=headers)
            assert "X-Gearshift-Press" not in control.calls[-1].headers
        refused = page.post(f"{API}/plans/p-1/confirm", headers={"X-XSRFToken": "wrong"})
    assert refused.status_code == 403


def test_a_press_from_another_site_does_not_count(lab: LabServer, control: FakeControl) -> None:
    with lab.browser() as page:
        headers = {"X-Gearshift-Press": "1", "Sec-Fetch-Site": "cross-site"}
        page.post(f"{API}/plans/p-1/confirm", json={"press": True}, headers=headers)
    assert "X-Gearshift-Press" not in control.calls[-1].headers


def test_a_page_gets_a_ticket_for_its_own_workspace(lab: LabServer, control: FakeControl) -> None:
    answer = lab.http.post("gearshift/ticket")
    assert answer.json()["ticket"] == "t-1"
    assert control.calls[-1].path.endswith("/workspaces/mei/vlm/ticket")


def test_a_bundle_that_is_too_large_is_refused_here(lab: LabServer, control: FakeControl) -> None:
    before = len(control.calls)
    answer = lab.http.post(f"{API}/plans", content=b"x" * (1 << 21))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert len(control.calls) == before
    assert lab.http.post(f"{API}/jobs/bundles", content=b"x" * (1 << 21)).status_code == 200


def test_nothing_in_the_log_is_a_token(lab: LabServer) -> None:
    lab.http.get(f"{API}/me", params={"token": TOKEN})
    assert HUB_TOKEN not in lab.log()
    assert "Traceback" not in lab.log()
