"""Names that people give become names of things: valid, short, different, never a path."""

from __future__ import annotations

import re

import pytest
from gearshift.model.errors import GearshiftError
from gearshift.model.slug import check_workspace_name, is_workspace_name, slug, workspace_name
from hypothesis import given
from hypothesis import strategies as st

LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
C09 = [
    "_x@example.com",
    "-a",
    "A.C",
    "a.b",
    "a-b",
    "a_b",
    "a--b",
    "test1",
    "test11",
    "x" * 78 + "@example.com",
]
HOSTILE = [
    "../x",
    "测试 a@b",
    "n" * 300,
    "",
    ".",
    "..",
    "/",
    "a/b",
    "a\0b",
    "\ud800",
    "A",
    "a\n",
    "-",
    "é",
    "xn--a",
]
NAMES = (
    st.text() | st.text("aAbB01-_.@ ", max_size=70) | st.from_regex(r"[a-z]{1,5}-[0-9a-f]{8}", fullmatch=True)
)


def test_c09_ten_users_get_ten_different_valid_names() -> None:
    assert len(C09[-1]) == 90
    names = [slug(user) for user in C09]
    assert len(set(names)) == 10
    assert all(LABEL.match(name) and len(name) <= 63 for name in names)


@pytest.mark.parametrize("name", C09 + HOSTILE)
def test_c09_every_name_is_a_dns_label_at_every_limit(name: str) -> None:
    for limit in (10, 30, 63):
        made = slug(name, limit)
        assert LABEL.match(made)
        assert len(made) <= limit


def test_c09_a_name_that_was_changed_carries_a_hash_and_others_do_not() -> None:
    assert slug("test1") == "test1"
    assert slug("a-b") == "a-b"
    assert re.fullmatch(r"a-c-[0-9a-f]{8}", slug("A.C"))
    assert re.fullmatch(r"x-example-com-[0-9a-f]{8}", slug("_x@example.com"))


@given(NAMES)
def test_any_text_becomes_a_label(name: str) -> None:
    assert LABEL.match(slug(name))
    assert len(slug(name)) <= 63


@given(NAMES, NAMES, st.sampled_from([20, 63]))
def test_different_names_stay_different(one: str, other: str, limit: int) -> None:
    assert (slug(one, limit) == slug(other, limit)) == (one == other)


@given(NAMES)
def test_nobody_can_take_the_slug_of_somebody_else(name: str) -> None:
    taken = slug(name)
    assert taken == name or slug(taken) != taken


def test_a_limit_without_room_for_the_hash_is_refused() -> None:
    with pytest.raises(ValueError, match="at least"):
        slug("a", 9)


@given(NAMES)
def test_a_display_name_becomes_a_workspace_name(display: str) -> None:
    name = workspace_name(display)
    assert is_workspace_name(name)
    assert re.fullmatch(r"[a-z]([a-z0-9]|-(?!-))*", name)
    assert check_workspace_name(name) == name


@given(NAMES, NAMES)
def test_different_display_names_give_different_workspaces(one: str, other: str) -> None:
    assert (workspace_name(one) == workspace_name(other)) == (one == other)


@pytest.mark.parametrize("name", ["work", "a", "a-b", "a1", "x" * 30])
def test_a_good_workspace_name_is_kept(name: str) -> None:
    assert check_workspace_name(name) == workspace_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["../x", "测试 a@b", "n" * 300, "x" * 31, "", "1a", "-a", "a-", "a--b", "A", "a_b", "a\n", "a/b", " a"],
)
def test_a_bad_workspace_name_says_what_is_allowed(name: str) -> None:
    with pytest.raises(GearshiftError) as caught:
        check_workspace_name(name)
    error = caught.value
    assert (error.code, error.status, error.field, error.value) == ("bad_name", 422, "name", name)
    assert "1–30" in error.message
    assert "1–30" in error.message_zh
    assert error.allowed
    assert len(error.message) < 250
