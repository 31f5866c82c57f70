"""`python -m gearshift.train.runner`: one rank. Runs the bundle as `__main__` and records how it failed.

Chunks are compiled under their cell's name with their line kept, so a traceback says `Cell In[4], line 3` and
shows the source line.
"""

from __future__ import annotations

import atexit
import builtins
import faulthandler
import json
import linecache
import os
import re
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, NoReturn

from gearshift import shared_memory
from gearshift.train import bundle as bundles
from gearshift.train import group_timeout, metrics, rendezvous
from gearshift.train.place import Place, here

CELL_LINE = re.compile(r'File "(In\[\d+\])", line (\d+)')


def main() -> NoReturn:
    """Run the bundle of this job; never returns."""
    place = here()
    _own_streams(place)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR2)
    rendezvous.settle(place)
    group_timeout.apply(place.group_timeout_seconds)
    sys.path[:0] = [str(path) for path in (_code(place), Path.cwd()) if path is not None]
    try:
        _execute(place)
        _leave_group()
        code = 0
    except SystemExit as error:
        code = _exit_code(error)
        if code:
            _record(place, error, code)
    except BaseException as error:
        code = 1
        _record(place, error, code)
        with suppress(OSError):
            print(describe(error), file=sys.stderr, flush=True)
    _end(code)


def describe(error: BaseException) -> str:
    """The traceback without our own frames, cells named as in the notebook."""
    lines = traceback.format_exception(type(error), error, _users_part(error.__traceback__))
    return CELL_LINE.sub(r"Cell \1, line \2", "".join(lines)).rstrip()


def _execute(place: Place) -> None:
    if place.bundle is None:
        raise SystemExit("gearshift.train.runner runs inside a job: GS_BUNDLE is not set")
    bundle = bundles.read(place.bundle)
    for name, source in bundle.cells.items():
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    builtins.__dict__.setdefault("display", print)
    sys.argv[0] = "gearshift"
    values = bundles.values(bundle)
    for chunk in bundle.chunks:
        if isinstance(chunk, bundles.Value):
            module.__dict__[chunk.name] = next(values)
        else:
            source = "\n" * (chunk.line - 1) + chunk.source
            exec(compile(source, chunk.file, "exec"), module.__dict__)  # noqa: S102 - that is the job


def _leave_group() -> None:
    """Ended well: leave the process group, if there is one, so that torch does not warn."""
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def _own_streams(place: Place) -> None:
    """Under torchrun the log and the metrics pipe of a rank are found by name; else they are inherited."""
    if place.metrics_fd is not None or place.attempt_dir is None:
        return
    log = os.open(place.attempt_dir / f"rank-{place.rank}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    pipe = place.attempt_dir / f"rank-{place.rank}.fifo"
    if pipe.exists():
        os.environ["GS_METRICS_FD"] = str(os.open(pipe, os.O_WRONLY))


def _code(place: Place) -> Path | None:
    folder = place.out / "code" if place.out is not None else None
    return folder if folder is not None and folder.is_dir() and any(folder.iterdir()) else None


def _exit_code(error: SystemExit) -> int:
    """What Python itself would end with; a text is printed and means 1."""
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr, flush=True)
    return 1


def _users_part(trace: TracebackType | None) -> TracebackType | None:
    """Leave out what lies before the first frame of the bundle's own code."""
    part = trace
    while part is not None and not _is_own(part.tb_frame.f_code.co_filename):
        part = part.tb_next
    return part if part is not None else trace


def _is_own(filename: str) -> bool:
    """Whether it is a cell or script of the bundle: those are in the line cache under a name that is no file."""
    entry = linecache.cache.get(filename)
    return entry is not None and len(entry) == 4 and entry[1] is None


def _record(place: Place, error: BaseException, code: int) -> None:
    """What torch's `@record` would write, and ours: the time in nanoseconds, the exit code, the cell's line."""
    if place.attempt_dir is None:
        return
    message = f"{type(error).__name__}: {error}" if not isinstance(error, SystemExit) else f"exit code {code}"
    text = describe(error) if not isinstance(error, SystemExit) else ""
    if (why := shared_memory.sentence(message)) is not None:
        message = f"{why} {message}"
    now = time.time_ns()
    record: dict[str, Any] = {
        "message": {
            "message": message[:2000],
            "extraInfo": {"py_callstack": text[-8000:], "timestamp": str(now // 10**9)},
        },
        "gearshift": {
            "type": type(error).__name__,
            "time_ns": now,
            "exit_code": code,
            "where": _where(error),
        },
    }
    target = place.attempt_dir / f"rank-{place.rank}.error.json"
    aside = target.with_suffix(".new")
    try:
        aside.write_text(json.dumps(record))
        aside.replace(target)
    except OSError:
        _tell(record)


def _tell(record: dict[str, Any]) -> None:
    """Send what fits on the pipe to the supervisor: a full disk must not keep the error from being told."""
    message, stack = record["message"]["message"], record["message"]["extraInfo"]["py_callstack"]
    for chars in (2000, 1000, 500, 200):
        short = {"message": message[:chars], "extraInfo": {"py_callstack": stack[-chars:]}}
        if metrics.sign(error=record | {"message": short}):
            return


def _where(error: BaseException) -> str:
    """The last line of a cell that the error passed through."""
    cells = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own(frame.filename)]
    return f"{cells[-1].filename}, line {cells[-1].lineno}" if cells else ""


def _end(code: int) -> NoReturn:
    """Leave at once: tearing down torch costs up to 0.8 s, and there is nothing in it that we need."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
