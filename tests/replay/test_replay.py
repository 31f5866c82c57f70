"""The replay: the very rule that control applies, over a trace of use; who computes is never hit, whatever the trace."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from gearshift.cli.main import main
from gearshift.model.idle import IdleAction, Policy
from gearshift.model.units import to_iso
from gearshift.replay import rules, sample
from gearshift.replay.trace import COLUMNS, Row, TraceError, read
from hypothesis import given
from hypothesis import strategies as st

TRACE = Path(__file__).resolve().parents[2] / "docs/data/idle-trace.csv"
BEGIN = datetime(2026, 11, 23, 9, tzinfo=UTC)
POLICY = Policy(action=IdleAction.DROP, after_s=1800, warn_s=600, stuck_s=24 * 3600)


def row(minutes: float, **what: float) -> Row:
    values = dict.fromkeys(("kernel", "terminal", "job", "page", "used", "output", "cpu", "chip"), 0) | what
    return Row(workspace="w", at=BEGIN + timedelta(minutes=minutes), accelerators=2, **values)  # type: ignore[arg-type]


def test_a_silent_cell_is_hit_by_the_other_rule_and_not_by_ours() -> None:
    rows = [row(0, used=1), row(10, kernel=1, chip=0.9), row(130), row(610)]
    kept, killed, ruled = (
        rules.keep_until_stopped(rows),
        rules.kill_after(rows, 30),
        rules.ours(rows, POLICY, 60),
    )
    assert kept.accelerator_hours == pytest.approx(2 * 610 / 60)
    assert (killed.ended, killed.hits) == (1, 1)
    assert (ruled.ended, ruled.hits) == (1, 0)
    assert ruled.accelerator_hours == pytest.approx(2 * 160 / 60, abs=0.1)


def test_who_comes_back_takes_the_accelerators_again() -> None:
    rows = [row(0, used=1), row(10), row(300, used=1), row(310)]
    ruled = rules.ours(rows, POLICY, 60)
    assert (ruled.ended, ruled.returns, ruled.hits) == (1, 1, 0)
    assert ruled.accelerator_hours == pytest.approx(2 * 50 / 60, abs=0.1)


def test_what_only_looks_busy_for_longer_than_the_announced_bound_is_counted_apart() -> None:
    ruled = rules.ours([row(0, kernel=1), row(60 * 40)], POLICY, 60)
    assert (ruled.ended, ruled.hits, ruled.stuck) == (1, 0, 1)


def test_the_sample_that_is_shipped_is_what_the_simulation_makes() -> None:
    assert TRACE.read_text().splitlines() == list(sample.lines(1))


def test_over_the_sample_nobody_who_computes_is_hit_and_most_is_saved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["policy", "replay", str(TRACE)]) == 0
    told = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    figures = {line[0]: [word.strip() for word in line if word.strip()] for line in told}
    assert int(figures["gearshift, 30 min idle"][4]) == 0
    assert int(figures["kill after 30 min"][4]) > 0
    assert float(figures["gearshift, 30 min idle"][1]) < 0.5 * float(figures["keep until stopped"][1])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("workspace,at\n", "line 1: missing columns"),
        (f"{','.join(COLUMNS)}\nw,yesterday,1,0,0,0,0,0,0,0,0\n", "line 2"),
        (
            f"{','.join(COLUMNS)}\nw,{to_iso(BEGIN)},1,0,0,0,0,0,0,2,0\n",
            "line 2: a count is negative or a share",
        ),
        (f"{','.join(COLUMNS)}\nw,{to_iso(BEGIN)},1\n", "line 2"),
        (
            f"{','.join(COLUMNS)}\n" + f"w,{to_iso(BEGIN)},1,0,0,0,0,0,0,0,0\n" * 2,
            "line 3: w goes back in time",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(TraceError, match=problem):
        read(text.splitlines())


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "replay", str(tmp_path / "none.csv")]) == 2
    assert "none.csv" in capsys.readouterr().err


STRETCHES = st.lists(
    st.tuples(
        st.integers(1, 400),
        st.fixed_dictionaries(
            {},
            optional={
                "kernel": st.integers(0, 1),
                "terminal": st.integers(0, 1),
                "job": st.integers(0, 1),
                "page": st.integers(0, 1),
                "used": st.booleans(),
                "chip": st.sampled_from([0.0, 0.5]),
                "cpu": st.sampled_from([0.0, 0.5]),
            },
        ),
    ),
    min_size=2,
    max_size=12,
)


@given(STRETCHES)
def test_whatever_the_trace_nothing_that_runs_is_hit_and_nothing_costs_more(
    stretches: list[tuple[int, dict[str, float]]],
) -> None:
    rows, at = [], 0
    for minutes, what in stretches:
        rows.append(row(at, **what))
        at += minutes
    kept, ruled = rules.keep_until_stopped(rows), rules.ours(rows, POLICY, 300)
    assert ruled.hits == 0
    assert ruled.accelerator_hours <= kept.accelerator_hours + 1e-6
