"""`python -P -m gearshift.train.template FD SECONDS`: torch imported once; ranks are forked from it.

It runs nobody's code itself, starts no thread and touches no device: a rank forked from it is what a new process would
be that has imported torch. What it was asked for comes as packets through the socket FD; SECONDS is the timeout of
process groups, which torch takes over while it is imported.
"""

from __future__ import annotations

import array
import gc
import importlib
import json
import multiprocessing
import os
import resource
import site
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any, NoReturn

from gearshift.train import group_timeout, runner
from gearshift.train.gang import privileges
from gearshift.train.gang.enclosure import CLONE_NEWNET, die_with_parent, libc

MODULES = ("torch", "torch._dynamo", "torch.optim", "torch.nn.parallel", "torch.distributed")
DRIVERS = ("torch_npu", "torch_xla", "habana_frameworks")
"""They start on import what no fork survives."""
PACKET = 1 << 17
GO = b"g"
PR_SET_NAME = 15


def main(argv: list[str]) -> int:
    connection = socket.socket(fileno=int(argv[0]))
    connection.set_inheritable(False)
    group_timeout.apply(float(argv[1]))
    why = _warm_up()
    known = _files()
    connection.send(json.dumps({"ready": why is None, "why": why}).encode())
    if why is not None:
        return 1
    while True:
        packet, descriptors = _receive(connection)
        if not packet:
            return 0
        answer = _fork(connection, json.loads(packet), descriptors) if _files() == known else None
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(json.dumps({"pid": answer}).encode())


def _warm_up() -> str | None:
    """Import; a text where ranks may not be forked from what came of it."""
    try:
        for name in MODULES:
            importlib.import_module(name)
    except Exception as error:  # whatever is wrong with this torch, the cold way tells it to its person
        return f"{type(error).__name__}: {error}"
    if found := [name for name in DRIVERS if name in sys.modules]:
        return f"{found[0]} was loaded"
    if sys.modules["torch"].cuda.is_initialized():
        return "a device was initialised"
    if (
        child := os.fork()
    ) == 0:  # OpenBLAS ends its threads at a fork, and starts them again when it needs them
        os._exit(0)
    os.waitpid(child, 0)
    if len(os.listdir("/proc/self/task")) > 1:
        return "a thread was started"
    gc.collect()
    gc.freeze()
    return None


def _files() -> dict[str, int]:
    """What was imported from where, with its time: a package that changed since is not the one we hold."""
    paths = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    times: dict[str, int] = {}
    for path in {*filter(None, paths), *sys.path, site.getusersitepackages()}:
        with suppress(OSError):
            times[path] = os.stat(path).st_mtime_ns
    return times


def _receive(connection: socket.socket) -> tuple[bytes, list[int]]:
    """A packet and the files that came with it."""
    held = array.array("i")
    packet, more, _flags, _from = connection.recvmsg(PACKET, socket.CMSG_LEN(4 * held.itemsize))
    for level, kind, data in more:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            held.frombytes(data[: len(data) - len(data) % held.itemsize])
    return packet, list(held)


def _fork(connection: socket.socket, wanted: dict[str, Any], descriptors: list[int]) -> int | None:
    """A rank whose parent is not us but our supervisor: by the time this returns, it has inherited it."""
    reader, writer = os.pipe()
    between = os.fork()
    if between == 0:
        try:
            if (pid := os.fork()) == 0:
                os.close(reader)
                os.close(writer)
                connection.close()
                _become(wanted, *descriptors)
            os.write(writer, str(pid).encode())
        finally:
            os._exit(0)
    os.waitpid(between, 0)
    os.close(writer)
    told = os.read(reader, 32)
    os.close(reader)
    return int(told) if told else None


def _become(wanted: dict[str, Any], go: int, log: int, metrics: int, network: int | None = None) -> NoReturn:
    """Be what an exec of the runner with this environment would have made; nothing before the word is given."""
    try:
        os.setsid()
        if os.read(go, 1) != GO:
            os._exit(1)
        if wanted["parent"]:
            die_with_parent()
            if os.getppid() != wanted["parent"]:
                os._exit(1)
        if network is not None and libc.setns(network, CLONE_NEWNET) != 0:
            os._exit(126)
        privileges.drop()
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted["data_limit"], hard))
        os.dup2(log, 1)
        os.dup2(log, 2)
        for descriptor in filter(None, (go, log, network)):
            os.close(descriptor)
        os.set_inheritable(metrics, True)
        os.chdir(wanted["cwd"])
        os.environ.clear()
        os.environ.update(wanted["env"] | {"GS_METRICS_FD": str(metrics)})
        _be_unlike_siblings()
        sys.argv = [runner.__file__, *wanted["argv"]]
        sys.orig_argv = [sys.executable, "-P", "-m", runner.__name__, *wanted["argv"]]
        libc.prctl(PR_SET_NAME, f"gs-rank-{wanted['env']['RANK']}".encode(), 0, 0, 0)
        runner.main()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _be_unlike_siblings() -> None:
    """What a fork leaves equal in all ranks; `random` sees to itself."""
    importlib.invalidate_caches()
    multiprocessing.current_process().authkey = os.urandom(32)
    if (numpy_random := sys.modules.get("numpy.random")) is not None:
        numpy_random.seed()
    sys.modules["torch"].default_generator.seed()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
