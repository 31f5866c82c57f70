"""JSON from outside: what is read can be kept and sent on, everything else is refused with a reason."""

from __future__ import annotations

import json

import pytest
from gearshift.model import foreign_json
from gearshift.model.foreign_json import ForeignJsonError
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("ab\n测💥"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("ab测"), inner),
    max_leaves=20,
)

REFUSED = {
    b"{": "no JSON at character 1",
    b"": "no JSON at character 0",
    b"\xff\xfe\xff": "it is not UTF-8",
    b'["\\ud800"]': "it holds half of a character",
    b'{"\\udfff": 1}': "it holds half of a character",
    b"[NaN]": "a number is too large or not finite",
    b"[-Infinity]": "a number is too large or not finite",
    b"[1e999]": "a number is too large or not finite",
    b"1" * 5000: "a number is too large or not finite",
    b"[" * 100_000: "it is nested too deeply",
    b"[" * 5000 + b"]" * 5000: "it is nested too deeply",
    b'{"a": {"b": ["x\\u0000"]}}': "it holds a NUL",
}


@pytest.mark.parametrize("raw", REFUSED)
def test_what_could_not_be_kept_is_refused_with_a_reason(raw: bytes) -> None:
    with pytest.raises(ForeignJsonError) as refused:
        foreign_json.read(raw)
    assert str(refused.value) == REFUSED[raw]


def test_a_nul_is_told_with_its_field() -> None:
    with pytest.raises(ForeignJsonError) as refused:
        foreign_json.read(b'{"spec": {"argv": ["a", "b\\u0000"]}}')
    assert refused.value.field == "argv"


def test_a_backslash_before_the_letters_of_a_nul_is_no_nul() -> None:
    assert foreign_json.read(b'["\\\\u0000"]') == ["\\u0000"]


@given(VALUES)
def test_plain_values_come_back_as_they_were(value: object) -> None:
    assert foreign_json.read(json.dumps(value).encode()) == value


@given(st.binary(max_size=60))
def test_whatever_is_read_can_be_sent_on(raw: bytes) -> None:
    try:
        found = foreign_json.read(raw)
    except ForeignJsonError:
        return
    json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
