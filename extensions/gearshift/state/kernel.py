"""The kernel's end of plan, save and load: called by the server extension, answers through a file.

A request is JSON: `do` (plan, save, load), `answer` (path of the file to write), `until` (epoch seconds after which the
question is stale), and what the call needs: `path`, `key_folder`, `leave_out`; for a load `rerun` (names whose cells may
run again) and `rerun_seconds`. The kernel's namespace and history are left as they are.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gearshift.state import key, namespace, sizes, threads
from gearshift.state.container import DiskFull, Refused, StateError
from gearshift.state.loading import load
from gearshift.state.refusal import told
from gearshift.state.rerunning import RERUN_S
from gearshift.state.saving import plan, save

KEY_ENV = "GEARSHIFT_STATE_KEY"


def answer(request: str, ns: dict[str, Any] | None = None) -> str:
    """Does what is asked of the kernel's namespace, writes the answer, says `done`."""
    asked: dict[str, Any] = json.loads(request)
    _write(Path(asked["answer"]), _answer(asked, namespace.own() if ns is None else ns))
    return "done"


def signing_key(env: Mapping[str, str], folder: Path) -> bytes:
    """The key that control gives a person's workspaces; without one, a key of the state folder."""
    given = env.get(KEY_ENV)
    return bytes.fromhex(given) if given else key.read(key.ensure(folder))


def _answer(asked: dict[str, Any], ns: dict[str, Any]) -> dict[str, Any]:
    if time.time() > asked["until"]:
        return _error("late", "the question came too late to be answered")
    try:
        return {"report": _CALLS[asked["do"]](asked, ns)}
    except DiskFull as error:
        return _error("disk_full", str(error))
    except Refused as error:
        return _error("refused", str(error))
    except StateError as error:
        return _error("failed", str(error))
    except Exception as error:  # a fault of ours must reach the server as an answer, not as silence
        return _error("failed", told(error))


def _plan(asked: dict[str, Any], ns: dict[str, Any]) -> dict[str, Any]:
    return plan(ns, asked.get("leave_out", ())).to_json()


def _save(asked: dict[str, Any], ns: dict[str, Any]) -> dict[str, Any]:
    path = Path(asked["path"])
    secret = signing_key(os.environ, Path(asked["key_folder"]))
    durable = bool(asked.get("durable", True))
    return save(ns, path, secret, asked.get("leave_out", ()), durable=durable).to_json()


def _load(asked: dict[str, Any], ns: dict[str, Any]) -> dict[str, Any]:
    secret = signing_key(os.environ, Path(asked["key_folder"]))
    seconds = float(asked.get("rerun_seconds", RERUN_S))
    return load(asked["path"], ns, secret, asked.get("rerun", ()), seconds).to_json()


def _sizes(asked: dict[str, Any], ns: dict[str, Any]) -> dict[str, Any]:
    return sizes.largest(dict(namespace.variables(ns)), int(asked["most"]))


def _threads(asked: dict[str, Any], _ns: dict[str, Any]) -> dict[str, Any]:
    return threads.follow(asked["environment"])


_CALLS: Mapping[str, Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]] = {
    "plan": _plan,
    "save": _save,
    "load": _load,
    "sizes": _sizes,
    "threads": _threads,
}


def _error(code: str, text: str) -> dict[str, Any]:
    return {"error": {"code": code, "text": text}}


def _write(path: Path, body: dict[str, Any]) -> None:
    aside = path.with_suffix(".part")
    fd = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        json.dump(body, file)
    aside.rename(path)
