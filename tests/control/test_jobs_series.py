"""Curves out of files that only grow: never more than 600 points, the last one always there, no step twice."""

from __future__ import annotations

import json

from gearshift_hub.backends.jobs import Page
from gearshift_hub.control.services.job_series import MOST, Series
from gearshift_hub.control.services.jobs import _whole_characters
from hypothesis import given
from hypothesis import strategies as st


def lines(steps: range, attempt: int = 0) -> bytes:
    points = ({"step": step, "loss": 1 / (step + 1), "attempt": attempt} for step in steps)
    return b"".join(json.dumps(point).encode() + b"\n" for point in points)


def read(data: bytes, cuts: list[int]) -> Series:
    """The file as it grows: at each cut a reader comes by."""
    series = Series()
    for end in [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]:
        series.take(Page(data[series.offset : max(series.offset, end)], series.offset, end))
    return series


@given(st.integers(1, 5000), st.lists(st.integers(0, 10**6), max_size=8), st.integers(1, 2000))
def test_a_curve_is_short_ends_with_the_last_step_and_does_not_depend_on_when_it_was_read(
    steps: int, cuts: list[int], most: int
) -> None:
    data = lines(range(steps))
    points = read(data, cuts).points(most)
    shown = [point["step"] for point in points]
    assert len(shown) <= min(most, MOST)
    assert shown[-1] == steps - 1
    assert shown == sorted(set(shown))
    assert points == read(data, []).points(most)


def test_a_new_attempt_takes_the_place_of_the_steps_that_it_repeats() -> None:
    series = read(lines(range(100)) + lines(range(50, 120), attempt=1), [1000])
    steps = [(point["step"], point["attempt"]) for point in series.points()]
    assert steps == [(step, 0) for step in range(50)] + [(step, 1) for step in range(50, 120)]


def test_lines_that_are_no_points_are_passed_over() -> None:
    junk = b'not json\n[1]\n{"loss": 1}\n{"step": "two"}\n{"step": 9, "checkpoint": 9}\n'
    series = read(junk + lines(range(3)), [])
    assert [point["step"] for point in series.points()] == [0, 1, 2]
    assert Series().points() == []


@given(st.text(max_size=40), st.integers(0, 160))
def test_a_page_of_a_log_never_ends_inside_a_character(text: str, cut: int) -> None:
    data = text.encode()
    page = _whole_characters(data[:cut])
    assert data.startswith(page)
    assert len(data[:cut]) - len(page) < 4
    page.decode()
