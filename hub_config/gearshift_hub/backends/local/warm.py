"""What the fork server imports once, so that a server's start costs a fork, and the fixes that go with it."""

from __future__ import annotations

import asyncio
import gc
import importlib
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

MODULES = (
    "jupyterhub.singleuser",
    "jupyterhub.singleuser.extension",
    "jupyter_server.serverapp",
    "jupyter_server.services.kernels.websocket",
    "jupyter_server_terminals",
    "jupyterlab.labapp",
    "jupyterlab.extensions.pypi",
    "notebook_shim.nbserver",
    "jupyter_client.provisioning.local_provisioner",
    "zmq.eventloop.future",
    "gearshift.lab",
    "jupyter_server_fileid.extension",
    "jupyter_server_ydoc",
    "gearshift.lab.documents.executor",
    "gearshift.lab.documents.routes",
    "gearshift.lab.documents.update_store",
)
"""jupyter_server_ydoc draws a per-process id on import: each server takes its own (gearshift.lab.documents.session_id)."""

KERNEL_OOM_SCORE = 300
"""Above the server's 0: when a tree runs into its memory limit a kernel dies, not the server."""

MARK_TRIES = 1000


def block_slow_import() -> None:
    """jsonschema tolerates the absence of this module, whose import builds a grammar for 1.2 s."""
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]


def load() -> list[str]:
    """Import everything and apply the fixes; returns what could not be imported (a start then pays for it)."""
    block_slow_import()
    missing = []
    for name in MODULES:
        try:
            importlib.import_module(name)
        except Exception as error:  # one broken extension must not keep everybody from starting
            missing.append(f"{name} ({error!r})")
    with suppress(ImportError):
        send_kernel_answers_at_once()
    with suppress(ImportError):
        let_kernels_die_first()
    gc.collect()
    gc.freeze()
    return missing


def send_kernel_answers_at_once() -> None:
    """TCP_NODELAY on kernel websockets: a round trip of 13 ms instead of 55 (facts-hub 1.4)."""
    from jupyter_server.services.kernels.websocket import KernelWebsocketHandler  # noqa: PLC0415

    opened = KernelWebsocketHandler.open

    async def open_without_delay(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.set_nodelay(True)
        return await opened(self, *args, **kwargs)

    KernelWebsocketHandler.open = open_without_delay


def let_kernels_die_first() -> None:
    """Give each kernel a higher OOM score than its server has."""
    from jupyter_client.provisioning.local_provisioner import LocalProvisioner  # noqa: PLC0415

    launch = LocalProvisioner.launch_kernel

    async def launch_and_mark(self: Any, *args: Any, **kwargs: Any) -> Any:
        connection = await launch(self, *args, **kwargs)
        await _set_oom_score(self.pid)
        return connection

    LocalProvisioner.launch_kernel = launch_and_mark


async def _set_oom_score(pid: int) -> None:
    """A process that has just left ours by exec is hidden from its own uid for a moment (hidepid, not dumpable)."""
    for _ in range(MARK_TRIES):
        if _marked(pid):
            return
        await asyncio.sleep(0.001)


def _marked(pid: int) -> bool:
    try:
        Path(f"/proc/{pid}/oom_score_adj").write_text(str(KERNEL_OOM_SCORE))
    except OSError:
        return False
    return True
