"""Asks one kernel to plan, save or load, over a client session of our own, leaving no trace in the notebook.

A client made by `km.client()` shares the manager's session identity and steals replies of pages (facts-lab, trap 13),
so ours gets its own. The question is a user expression of an empty silent cell; the answer is a file.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.session import Session

INTERRUPT_GRACE_S = 10.0
_POLL_S = 0.05
_LEAST_S = 0.1
_LOOK_S = 0.5


class KernelError(Exception):
    """Why a kernel gave no report: `code` is `busy`, `left`, `dead`, `not_python`, `unsupported` (its environment lacks
    us), `disk_full`, `refused`, `late` or `failed`."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


async def ask(manager: Any, what: dict[str, Any], folder: Path, seconds: float) -> dict[str, Any]:
    """The report of the kernel, and how many cells it has run; raises KernelError, also when it does not answer in
    time."""
    with tempfile.TemporaryDirectory(prefix="ask-", dir=folder) as place:
        answer = Path(place) / "answer.json"
        request = {**what, "answer": str(answer), "until": time.time() + seconds}
        call = f"__import__('gearshift.state.kernel', fromlist=['answer']).answer({json.dumps(request)!r})"
        async with _client(manager) as client:
            said = await _while_it_lives(manager, _execute(client, call, seconds))
        outcome = said["user_expressions"]["answer"] if said["status"] == "ok" else said
        if outcome["status"] != "ok":
            missing = outcome.get("ename") in ("ModuleNotFoundError", "ImportError")
            code = "unsupported" if missing else "failed"
            raise KernelError(code, f"{outcome.get('ename')}: {outcome.get('evalue')}")
        body: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if "error" in body:
        raise KernelError(body["error"]["code"], body["error"]["text"])
    return {**body["report"], "executions": said.get("execution_count")}


def check_kind(manager: Any) -> None:
    """Only Python kernels hold variables that we know how to carry."""
    spec = manager.kernel_spec
    if spec is None or spec.language.lower() != "python":
        raise KernelError("not_python", f"a kernel of the language {spec.language if spec else 'unknown'}")


async def until_idle(manager: Any, seconds: float) -> None:
    """Returns when the kernel runs nothing; KernelError(`busy`) past the deadline."""
    deadline = time.monotonic() + seconds
    while manager.execution_state == "busy":
        if time.monotonic() > deadline:
            raise KernelError("busy", f"a cell was still running after {seconds:g} s")
        await asyncio.sleep(_POLL_S)


def left_until(end: float) -> float:
    """The seconds until a moment of the steady clock: never none, so that what is ready at once is still taken."""
    return max(end - time.monotonic(), _LEAST_S)


async def started_again(manager: Any, pid: int | None, seconds: float) -> None:
    """Returns when Jupyter has put another kernel in the place of one that died; KernelError(`dead`) past the deadline."""
    deadline = time.monotonic() + seconds
    while getattr(manager.provisioner, "pid", None) in (None, pid) or not await manager.is_alive():
        if time.monotonic() > deadline:
            raise KernelError("dead", "the kernel died and was not started again")
        await asyncio.sleep(_POLL_S)


async def interrupt(manager: Any, seconds: float) -> None:
    """Interrupts the running cell and waits for it to end."""
    await manager.interrupt_kernel()
    await until_idle(manager, min(seconds, INTERRUPT_GRACE_S))


@asynccontextmanager
async def _client(manager: Any) -> AsyncIterator[Any]:
    own = Session(key=manager.session.key, signature_scheme=manager.session.signature_scheme)
    client = manager.client(session=own)
    client.start_channels(iopub=False, stdin=False, hb=False, control=False)
    try:
        yield client
    finally:
        client.stop_channels()


async def _while_it_lives(manager: Any, question: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """A kernel that dies, or is started again by the server, will never answer what the old one was asked."""
    pid = manager.provisioner.pid
    task = asyncio.create_task(question)
    try:
        while True:
            done, _ = await asyncio.wait({task}, timeout=_LOOK_S)
            if done:
                return task.result()
            if manager.provisioner is None or manager.provisioner.pid != pid or not await manager.is_alive():
                raise KernelError("dead", "the kernel died before it answered")
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _execute(client: Any, expression: str, seconds: float) -> dict[str, Any]:
    """The reply to one expression."""
    try:
        reply = await client.execute(
            "",
            silent=True,
            store_history=False,
            allow_stdin=False,
            stop_on_error=False,
            user_expressions={"answer": expression},
            reply=True,
            timeout=seconds,
        )
    except (Empty, TimeoutError) as error:
        raise KernelError("busy", f"the kernel did not answer within {seconds:g} s") from error
    content: dict[str, Any] = reply["content"]
    return content
