"""Says that shared memory was too small, with its figures, where an error names a disk or a signal instead (case C22)."""

from __future__ import annotations

import os
import re

FOLDER = "/dev/shm"  # noqa: S108 - every Linux program finds it there
SIGNS = re.compile(
    r"unable to (write to file </torch_|(open|allocate|mmap|resize) shared memory)"
    r"|(insufficient|out of|could not allocate) shared memory|killed by signal: Bus error|No space left.*'/dev/shm/"
)
NAMELESS = re.compile(r"No space left on device\W*$")
"""What a lock between processes says, which lies in shared memory too: only this folder's state tells which was full."""
NEARLY_ALL = 0.95


def sentence(said: str, folder: str = FOLDER) -> str | None:
    """What to add to an error of these words; None for an error of another kind, and where there is no such folder."""
    sure, nameless = SIGNS.search(said), NAMELESS.search(said)
    if not sure and not nameless:
        return None
    try:
        there = os.statvfs(folder)
    except OSError:
        return None
    size = there.f_blocks * there.f_frsize
    used = size - there.f_bfree * there.f_frsize
    if not sure and used < NEARLY_ALL * size:
        return None
    return (
        f"Shared memory ({folder}, not a disk) was too small for this: {used / 1e9:.2f} / {size / 1e9:.2f} GB are used"
        " now. It is half of the machine's memory and counts as memory. Fewer data-loader workers, a smaller"
        " prefetch_factor or smaller batches need less of it; a larger machine has more."
    )
