"""How long a stage takes, learned from runs: lines that single bad runs do not bend."""

from __future__ import annotations

import pytest
from gearshift.model.pace import APART, Line, Measured, line, usual
from hypothesis import given
from hypothesis import strategies as st

GUESS = Line(0.5, 1e-9)
GB = 10**9


def runs(*pairs: tuple[float, float]) -> list[Measured]:
    return [Measured(int(size * GB), seconds) for size, seconds in pairs]


def test_without_runs_it_is_the_guess() -> None:
    assert line([], GUESS) == GUESS
    assert usual([], 3.0) == 3.0


def test_runs_on_a_line_give_that_line() -> None:
    found = line(runs((0, 1), (1, 3), (2, 5), (4, 9)), GUESS)
    assert found.fixed == pytest.approx(1)
    assert found.at(3 * GB) == pytest.approx(7)


def test_one_bad_run_bends_nothing() -> None:
    found = line(runs((0, 1), (1, 3), (2, 50), (3, 7), (4, 9)), GUESS)
    assert found.at(3 * GB) == pytest.approx(7, rel=0.25)


def test_runs_of_one_small_size_say_nothing_of_what_a_byte_costs() -> None:
    assert line(runs((0, 1), (0.001, 9), (0.002, 1)), GUESS).per_byte == GUESS.per_byte


def test_runs_of_one_large_size_do() -> None:
    assert line(runs((2, 4.5), (2, 4.5)), GUESS).at(GB) == pytest.approx(2.5)


@given(
    st.lists(st.builds(Measured, st.integers(0, 1 << 40), st.floats(0, 1e5, allow_nan=False)), max_size=12),
    st.integers(0, 1 << 40),
)
def test_no_prediction_is_ever_negative_and_more_bytes_never_take_less(
    measured: list[Measured], size: int
) -> None:
    found = line(measured, GUESS)
    assert 0 <= found.at(size) <= found.at(size + APART)
