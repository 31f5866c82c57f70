"""Whatever is sent, the answer is one of ours and never a 500."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from gearshift_hub.control.app import plug
from gearshift_testing.controls import ON_SQLITE, Control, Person
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = ON_SQLITE

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.sampled_from(
    ["alice/work", "alice/none", "bob/x", "/", "work", "", "cpu-small", "sim-1", "pytorch", "\x00"]
)
VALUE = WORDS | JSON
SPEC_FIELDS = ("image", "machine", "plan", "disks", "datasets")
SPEC = st.fixed_dictionaries({}, optional=dict.fromkeys(SPEC_FIELDS, VALUE))
KINDS = ["start", "stop", "switch", "job", "cancel_job", "delete_disk", "remove_member"]
KINDS += ["restore_state", "delete_state", "delete_workspace"]
FIELDS = (
    "name",
    "display_name",
    "workspace",
    "spec",
    "machine",
    "image",
    "disks",
    "busy",
    "leave_out",
    "state",
    "snapshot",
    "disk",
    "job",
)
BODY = st.fixed_dictionaries(
    {"kind": st.sampled_from(KINDS) | JSON}, optional=dict.fromkeys(FIELDS, SPEC | VALUE)
)
MANY = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture
async def running(control: Control) -> Person:
    """Somebody with a workspace, on a control with all parts."""
    plug(control.ctx)
    alice = await control.add_person("alice")
    await alice.start()
    return alice


@MANY
@given(body=BODY | JSON)
async def test_no_plan_body_is_a_bug(running: Person, body: Any) -> None:
    answer = await running.post("/plans", body)
    assert answer.status_code < 500, (body, answer.text)
    if answer.status_code >= 400:
        error = answer.json()["error"]
        assert error["code"]
        assert error["message"]


@MANY
@given(
    path=st.sampled_from(
        ["/workspaces/{}/{}", "/operations/{}{}", "/disks/{}{}", "/jobs/{}{}", "/datasets/{}{}"]
    ),
    one=st.text(max_size=12),
    two=st.text(max_size=12),
    query=st.dictionaries(
        st.sampled_from(["workspace", "limit", "from", "to", "account", "q", "owner"]),
        st.text(max_size=12),
        max_size=3,
    ),
)
async def test_no_address_is_a_bug(
    running: Person, path: str, one: str, two: str, query: dict[str, str]
) -> None:
    answer = await running.get(path.format(quote(one, safe=""), quote(two, safe="")), **query)
    assert answer.status_code < 500, (path, one, two, query, answer.text)


@MANY
@given(header=st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=30))
async def test_no_credential_is_a_bug(running: Person, header: str) -> None:
    async with running.control.outside() as client:
        given = [(b"authorization", header.strip().encode("latin-1"))]
        answer = await client.get("/api/v1/me", headers=given)
    assert answer.status_code == 401, answer.text
