"""How fast the state folder takes a state and gives it back: measured with a small one, written and read as the real
one will be (checksums, fsync). Control asks for it as long as no switch has been measured yet."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from gearshift.state.container import Reader, StateError, Writer

MATTERS = 64 << 20
"""Below this the answer is "at once", whatever the disk."""
PROBE = 32 << 20


def measured(folder: Path, key: bytes) -> dict[str, float] | None:
    """Bytes a second by stage; None where nothing can be written: the save will say why."""
    data = memoryview(os.urandom(1 << 20) * (PROBE >> 20))
    try:
        with tempfile.TemporaryDirectory(prefix="probe-", dir=folder) as place:
            file = Path(place) / "probe.gsk"
            started = time.perf_counter()
            with Writer(file, key) as writer:
                writer.put(data)
                writer.finish({})
            saved = time.perf_counter()
            Reader(file, key)
            restored = time.perf_counter()
    except (OSError, StateError):
        return None
    return {"save": PROBE / (saved - started), "restore": PROBE / (restored - saved)}
