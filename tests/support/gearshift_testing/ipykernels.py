"""Real kernels for tests: started over ipc in a folder of their own, driven by one blocking client each."""

from __future__ import annotations

import ast
import shutil
import tempfile
from pathlib import Path
from typing import Any, Self

from jupyter_client.manager import KernelManager

TIMEOUT_S = 180


class CellError(AssertionError):
    """A cell raised; the text is the kernel's traceback."""


class Kernel:
    """One ipykernel."""

    def __init__(self, **env: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="gs-"))
        self._manager = KernelManager(
            kernel_name="python3", transport="ipc", ip=str(self._folder / "k"),
            connection_file=str(self._folder / "k.json"),
        )  # fmt: skip
        self._env = env

    def __enter__(self) -> Self:
        import os

        self._manager.start_kernel(env={**os.environ, **self._env})
        self._client = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=TIMEOUT_S)
        return self

    def __exit__(self, *error: object) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.context.destroy(linger=0)
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, code: str, history: bool = True) -> None:
        """A cell as a person runs it."""
        self._finish(self._client.execute(code, store_history=history))

    def value(self, expression: str) -> Any:
        """A literal value of an expression, leaving no trace in the namespace or the history."""
        message = self._client.execute("", silent=True, user_expressions={"value": f"repr({expression})"})
        found = self._finish(message)["user_expressions"]["value"]
        if found["status"] != "ok":
            raise CellError(f"{expression}\n" + "\n".join(found["traceback"]))
        return ast.literal_eval(ast.literal_eval(found["data"]["text/plain"]))

    def _finish(self, message: str) -> dict[str, Any]:
        reply = self._client._recv_reply(message, timeout=TIMEOUT_S)["content"]
        if reply["status"] != "ok":
            raise CellError("\n".join(reply.get("traceback", [str(reply)])))
        return dict(reply)


def state(call: str) -> str:
    """An expression that calls gearshift.state on the kernel's namespace and gives the report as JSON text."""
    return f"__import__('json').dumps(__import__('gearshift.state').state.{call}.to_json())"
