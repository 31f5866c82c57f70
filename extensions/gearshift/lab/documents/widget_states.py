"""The last state of each widget of a kernel, gathered from what it says to all, in the form that a notebook file keeps.

It is there at any moment, also while the kernel is busy and after it died.
"""

from __future__ import annotations

import base64
from typing import Any

TARGET = "jupyter.widget"
FILE_KEY = "application/vnd.jupyter.widget-state+json"
MOST_WIDGETS = 2_000


class WidgetStates:
    """`changed` since it was last put into a document."""

    def __init__(self) -> None:
        self._states: dict[str, dict[str, Any]] = {}
        self._buffers: dict[str, dict[tuple[Any, ...], bytes]] = {}
        self.changed = False

    def hear(self, message: dict[str, Any]) -> None:
        """Openings, updates and closings of widgets' channels; everything else is not for us."""
        kind, content = message["msg_type"], message["content"]
        comm = content.get("comm_id")
        data = content.get("data") or {}
        if kind == "comm_open" and content.get("target_name") == TARGET and len(self._states) < MOST_WIDGETS:
            self._states[comm], self._buffers[comm] = {}, {}
        elif kind == "comm_close":
            self.changed |= self._states.pop(comm, None) is not None
            self._buffers.pop(comm, None)
        elif kind != "comm_msg" or data.get("method") not in ("update", "echo_update"):
            return
        if comm in self._states:
            self._states[comm].update(data.get("state") or {})
            paths = data.get("buffer_paths") or []
            for path, buffer in zip(paths, message.get("buffers") or [], strict=False):
                self._buffers[comm][tuple(path)] = bytes(buffer)
            self.changed = True

    def for_file(self) -> dict[str, Any]:
        """The notebook's `widgets` metadata."""
        found = {
            comm: self._one(comm, state) for comm, state in self._states.items() if "_model_name" in state
        }
        return {FILE_KEY: {"version_major": 2, "version_minor": 0, "state": found}}

    def _one(self, comm: str, state: dict[str, Any]) -> dict[str, Any]:
        buffers = [
            {"path": list(path), "encoding": "base64", "data": base64.b64encode(data).decode()}
            for path, data in self._buffers[comm].items()
        ]
        hidden = ("_model_name", "_model_module", "_model_module_version")
        return {
            "model_name": state["_model_name"],
            "model_module": state.get("_model_module"),
            "model_module_version": state.get("_model_module_version"),
            "state": {key: value for key, value in state.items() if key not in hidden},
            **({"buffers": buffers} if buffers else {}),
        }
