"""Segments of memory: never overlapping, always holding what was asked for."""

from __future__ import annotations

import itertools

from gearshift.state.memory import Memory, Segment
from hypothesis import given
from hypothesis import strategies as st

ranges = st.lists(st.tuples(st.integers(0, 200), st.integers(1, 60)), min_size=1, max_size=40)


@given(ranges)
def test_each_range_lies_in_one_segment_and_no_two_segments_overlap(asked: list[tuple[int, int]]) -> None:
    memory = Memory()
    given_out: list[tuple[int, int, Segment]] = []
    for start, length in asked:
        given_out.append((start, length, memory.at(start, length, object())))
    roots = {id(s.root): s.root for _, _, s in given_out}.values()
    for start, length, segment in given_out:
        assert segment.root.start <= start
        assert start + length <= segment.root.stop
    ordered = sorted(roots, key=lambda s: s.start)
    assert all(a.stop <= b.start for a, b in itertools.pairwise(ordered))


@given(ranges)
def test_bytes_are_covered_exactly(asked: list[tuple[int, int]]) -> None:
    memory = Memory()
    found = {id(s.root): s.root for s in [memory.at(a, n, None) for a, n in asked]}
    roots = {id(r.root): r.root for r in found.values()}.values()
    covered = {byte for r in roots for byte in range(r.start, r.stop)}
    assert covered == {byte for a, n in asked for byte in range(a, a + n)}


def test_neighbours_stay_apart() -> None:
    memory = Memory()
    assert memory.at(0, 10, None) is not memory.at(10, 10, None)
    assert memory.at(0, 10, None) is memory.at(2, 3, None)
