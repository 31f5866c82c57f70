"""A job that prints more than is kept, from its cell to whoever reads its log."""

from __future__ import annotations

from collections.abc import Callable

from gearshift_testing import submitting
from gearshift_testing.driving import Driver

TALKS = """
import os
print("the first words", flush=True)
for number in range(40):
    os.write(1, (b"%06d " % number + b"x" * 100_000 + b"\\n"))
print("the last words", flush=True)
"""
KEPT_BYTES = 1_000_000
"""`jobs.log_size` of the tests' deployment."""


def test_of_a_long_log_beginning_and_end_are_read_and_the_gap_is_told(
    person: Callable[[str], Driver],
) -> None:
    lou = person("lou")
    job = submitting.submit(lou, TALKS)
    assert submitting.ended(lou, job)["state"] == "succeeded"
    text, offset, done = "", 0, False
    while not done:
        page = lou.get(f"jobs/{job}/logs?offset={offset}")
        text, offset, done = text + page["text"], page["offset"], page["done"]
    assert text.startswith("the first words\n000000 x")
    assert text.endswith("the last words\n")
    assert offset == page["size_bytes"] > 4_000_000
    assert len(text) < KEPT_BYTES + 200_000
    assert text.count("MB of this log were not kept") == 1
    assert lou.get(f"jobs/{job}")["files_until"] is not None
