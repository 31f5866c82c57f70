"""The operators that DeepSpeed would compile in every home: compiled once for the environment, in the background."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

from gearshift.train import operators

from gearshift_hub.backends.jobs import JobNotStartedError
from gearshift_hub.paths import Home

BUILDING = "Compiling DeepSpeed's communication operator, once for this environment: about a minute."


class Operators:
    """One compilation at a time; jobs that need it wait in the queue meanwhile, free of charge."""

    def __init__(self, home: Home) -> None:
        self._folder = operators.folder(fallback=home.jobs / "operators")
        self._log = home.logs / "operators.log"
        self._building: subprocess.Popen[bytes] | None = None

    @property
    def where(self) -> str | None:
        return str(self._folder) if operators.ready(self._folder) else None

    def ensure(self) -> str | None:
        """None when it is there; else what is going on. Raises JobNotStartedError when it cannot be compiled."""
        if operators.ready(self._folder):
            return None
        if self._building is None:
            if tools := operators.missing_tools():
                raise JobNotStartedError(
                    f"DeepSpeed needs {' and '.join(tools)} on this box to compile its operator"
                )
            self._building = self._start()
        code = self._building.poll()
        if code is not None and not operators.ready(self._folder):
            self._building = None
            raise JobNotStartedError(f"DeepSpeed's operator did not compile (exit {code}); see {self._log}")
        return BUILDING

    def close(self) -> None:
        """End a compilation that runs; the next start begins it again."""
        if self._building is not None and self._building.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._building.pid, signal.SIGKILL)
            self._building.wait()
        self._building = None

    def _start(self) -> subprocess.Popen[bytes]:
        """The compiler makes all its folders itself: everybody may read there, whatever our umask."""
        with self._log.open("wb") as log:
            argv = ["nice", sys.executable, "-P", "-m", "gearshift.train.operators", str(self._folder)]
            return subprocess.Popen(
                argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )
