"""Logs that grow too long: their beginning and end stay, the disk gets the rest back, and a reader is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gearshift.train.gang.log_limit import shorten
from gearshift_hub.backends.local import job_files

LIMIT = 1 << 20
LINE = 1000

TALKS = """
    import os
    print("the first words", flush=True)
    for number in range(6000):
        os.write(1, f"{number:06}{'字' * 331}\\n".encode())
    print("the last words", flush=True)
"""


def on_disk(log: Path) -> int:
    return log.stat().st_blocks * 512


def test_a_rank_that_talks_without_end_keeps_the_first_and_the_last_of_it(gang: Callable[..., Any]) -> None:
    job = gang(TALKS, nodes=2, log_bytes=LIMIT).run()
    assert job.status["state"] == "succeeded", job.said
    for rank in (0, 1):
        log = job.order.attempt_dir(0) / f"rank-{rank}.log"
        assert log.stat().st_size > 6 * LIMIT - 6 * 2**16
        assert on_disk(log) <= LIMIT + 2**17
        text = log.read_text(errors="replace")
        assert text.startswith("the first words\n000000")
        assert text.endswith("the last words\n")


def test_a_reader_goes_over_the_gap_by_offsets_and_learns_how_much_is_not_there(tmp_path: Path) -> None:
    log = tmp_path / "out" / "rank-0.log"
    log.parent.mkdir()
    whole = b"".join(b"%06d" % number + b"x" * (LINE - 7) + b"\n" for number in range(5000))
    log.write_bytes(whole)
    shorten(log, LIMIT)
    got, gaps, offset = b"", [], 0
    while (page := job_files.log_page(tmp_path, "rank-0.log", offset, 1 << 16)) and page.data:
        assert page.data == whole[page.offset : page.offset + len(page.data)]
        gaps += [page.left_out] if page.left_out else []
        got, offset = got + page.data, page.offset + len(page.data)
    assert offset == len(whole)
    assert gaps == [len(whole) - len(got)]
    assert LIMIT // 2 < len(got) <= LIMIT + 2**16


def test_the_end_is_read_from_the_end_and_inside_the_gap_a_reader_lands_behind_it(tmp_path: Path) -> None:
    log = tmp_path / "out" / "rank-0.log"
    log.parent.mkdir()
    log.write_bytes(os.urandom(5 * LIMIT) + b"the end")
    shorten(log, LIMIT)
    last = job_files.log_page(tmp_path, "rank-0.log", -7, 1 << 16)
    assert last is not None
    assert (last.data, last.left_out) == (b"the end", 0)
    inside = job_files.log_page(tmp_path, "rank-0.log", 2 * LIMIT, 1 << 16)
    assert inside is not None
    assert inside.offset > 2 * LIMIT
    assert inside.left_out > 2 * LIMIT


def test_a_log_within_its_limit_and_a_link_to_another_file_are_left_alone(tmp_path: Path) -> None:
    small, other = tmp_path / "rank-0.log", tmp_path / "precious"
    small.write_bytes(b"x" * LIMIT)
    other.write_bytes(b"x" * 4 * LIMIT)
    shorten(small, LIMIT)
    assert on_disk(small) >= LIMIT
    (tmp_path / "rank-1.log").symlink_to(other)
    try:
        shorten(tmp_path / "rank-1.log", LIMIT)
    except OSError:
        assert on_disk(other) >= 4 * LIMIT
    else:
        raise AssertionError("a link was followed")
