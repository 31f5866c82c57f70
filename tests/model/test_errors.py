"""Each error has a code, a status and two sentences that name what was sent and what is allowed."""

from __future__ import annotations

import json
import re
from string import Formatter

import pytest
from gearshift.model.errors import (
    ERRORS,
    BadInput,
    Conflict,
    GearshiftError,
    Missing,
    NotAllowed,
    NotSignedIn,
    Unavailable,
    fail,
    from_body,
)
from hypothesis import given
from hypothesis import strategies as st

AGREED = [
    "bad_name",
    "unknown_machine",
    "unknown_image",
    "unknown_disk",
    "unknown_dataset",
    "unknown_workspace",
    "unknown_job",
    "unknown_user",
    "forbidden",
    "unauthenticated",
    "csrf",
    "sold_out",
    "limit_reached",
    "budget_over",
    "balance_low",
    "image_mismatch",
    "start_failed",
    "start_timeout",
    "busy",
    "plan_stale",
    "plan_used",
    "plan_unknown",
    "needs_confirmation",
    "over_cap",
    "bad_request",
    "bad_nodes",
    "syntax_error",
    "control_unavailable",
    "disk_in_use",
    "disk_not_yours",
    "not_running",
    "already_running",
    "too_large",
    "bad_path",
    "save_failed",
    "restore_failed",
    "disk_full",
    "ledger_broken",
    "wrong_sign_in",
    "wrong_code",
    "disabled_user",
    "user_exists",
]
FACTS = st.dictionaries(
    st.sampled_from(["machine", "free", "total", "position", "alternatives", "cause", "amount", "what"]),
    st.none() | st.text() | st.integers() | st.lists(st.text(max_size=5), max_size=3) | st.floats(),
)


def placeholders(sentence: str) -> set[str]:
    return {name.removesuffix("_zh") for _, name, _, _ in Formatter().parse(sentence) if name}


@pytest.mark.parametrize("code", AGREED)
def test_every_agreed_code_is_there(code: str) -> None:
    assert code in ERRORS


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_both_languages_tell_the_same_facts(code: str) -> None:
    kind = ERRORS[code]
    english, chinese = placeholders(kind.en), placeholders(kind.zh)
    assert chinese <= english
    assert english - chinese <= {"kind"}


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_every_sentence_keeps_the_style(code: str) -> None:
    kind = ERRORS[code]
    assert 400 <= kind.status < 600
    assert re.search(r"[一-鿿]", kind.zh)
    assert kind.zh.replace("]]", "").endswith("。")
    assert kind.en.replace("]]", "").endswith(".")
    told = f"{kind.en} {kind.zh}"
    assert "!" not in told.replace("!r}", "}")
    assert not re.search(r"\b(please|successfully|instance|pod|server|oops)\b", told, re.IGNORECASE)


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_an_error_can_be_told_without_its_facts(code: str) -> None:
    error = fail(code)
    for sentence in (error.message, error.message_zh):
        assert sentence
        assert not re.search(r"[{}\[\]]", sentence)


@given(st.sampled_from(sorted(ERRORS)), st.text() | st.integers() | st.none(), FACTS)
def test_an_error_never_fails_while_it_is_told(code: str, value: object, facts: dict[str, object]) -> None:
    error = fail(code, field="name", value=value, allowed=["a", "b"], **facts)
    assert error.facts == facts
    assert len(error.message) < 1000


@given(
    st.sampled_from(sorted(ERRORS)),
    st.text(),
    st.none() | st.lists(st.text()),
    st.dictionaries(st.text(), st.text()),
)
def test_an_error_survives_its_http_answer(
    code: str, value: str, allowed: list[str] | None, facts: dict[str, str]
) -> None:
    reserved = {"code", "field", "value", "allowed"}
    facts = {name: fact for name, fact in facts.items() if name not in reserved}
    error = fail(code, field="f", value=value, allowed=allowed, **facts)
    again = from_body(json.loads(json.dumps(error.body())), error.status)
    assert type(again) is type(error)
    assert again.__dict__ == error.__dict__


def test_an_answer_that_is_not_ours_means_that_control_is_away() -> None:
    assert from_body({"detail": "Bad Gateway"}, 502).code == "control_unavailable"
    assert from_body({"error": "no"}, 500).code == "control_unavailable"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("bad_name", BadInput),
        ("too_large", BadInput),
        ("unauthenticated", NotSignedIn),
        ("forbidden", NotAllowed),
        ("balance_low", NotAllowed),
        ("unknown_job", Missing),
        ("sold_out", Conflict),
        ("start_failed", Unavailable),
        ("control_unavailable", Unavailable),
    ],
)
def test_the_kind_of_an_error_follows_its_status(code: str, kind: type[GearshiftError]) -> None:
    assert type(fail(code)) is kind


def test_a_message_names_the_value_and_what_is_allowed() -> None:
    error = fail("unknown_machine", field="machine", value="gpu-9", allowed=["cpu-small", "gpu-1"])
    assert error.message == "There is no machine 'gpu-9'. Allowed: cpu-small, gpu-1."
    assert error.message_zh == "没有机器 'gpu-9'。可选：cpu-small、gpu-1。"


def test_a_clause_without_facts_is_left_out() -> None:
    assert fail("bad_request", field="nodes", value=0).message == "nodes = 0 was refused."
    told = fail("bad_request", field="nodes", value=0, problem="it is too small", allowed=["1-4"])
    assert told.message == "nodes = 0 was refused: it is too small. Allowed: 1-4."


def test_an_unknown_fact_is_shown_as_unknown_and_never_as_zero() -> None:
    assert (
        fail("start_failed", machine="gpu-1").message
        == "gpu-1 was reserved but did not start: exit –. Not charged."
    )


def test_a_code_that_is_not_in_the_table_is_our_own_bug() -> None:
    with pytest.raises(KeyError):
        fail("no_such_code")
