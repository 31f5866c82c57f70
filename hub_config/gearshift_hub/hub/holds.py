"""What the hub must know of its servers over a crash: their tokens, the switches in progress, the frozen trees."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from gearshift.model.record import Record
from pydantic import Field

from gearshift_hub.paths import Home, write_private


class Frozen(Record):
    """A stopped tree that can be thawed. Its token stays valid as long as the hold does."""

    tree: str
    pid: int
    port: int
    token: str
    operation: str | None = None
    """The operation that had started it."""


class Hold(Record):
    """One switch in progress; only its operation may start, stop or release the server."""

    operation: str
    frozen: Frozen | None = None


class _Kept(Record):
    holds: dict[str, Hold] = Field(default_factory=dict)
    tokens: dict[str, str] = Field(default_factory=dict)


class Holds:
    """One hub's table, written to a private file at each change: JupyterHub itself keeps tokens as hashes only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        kept = _Kept.model_validate_json(path.read_text()) if path.exists() else _Kept()
        self._holds, self._tokens = dict(kept.holds), dict(kept.tokens)

    def token(self, user: str, server: str) -> str:
        """The token of the running server, or an empty string."""
        return self._tokens.get(_key(user, server), "")

    def put_token(self, user: str, server: str, token: str) -> None:
        self._tokens[_key(user, server)] = token
        self._write()

    def forget(self, user: str, server: str) -> None:
        """Drop all that is known of a server that was removed."""
        self._tokens.pop(_key(user, server), None)
        self._holds.pop(_key(user, server), None)
        self._write()

    def get(self, user: str, server: str) -> Hold | None:
        return self._holds.get(_key(user, server))

    def put(self, user: str, server: str, hold: Hold) -> None:
        self._holds[_key(user, server)] = hold
        self._write()

    def drop(self, user: str, server: str) -> None:
        """Forget a hold; forgetting none is success."""
        if self._holds.pop(_key(user, server), None) is not None:
            self._write()

    def all(self) -> list[tuple[str, str, Hold]]:
        return [(*json.loads(key), hold) for key, hold in self._holds.items()]

    def _write(self) -> None:
        write_private(self._path, _Kept(holds=self._holds, tokens=self._tokens).model_dump_json())


@lru_cache(maxsize=1)
def holds_of(home: Home) -> Holds:
    """The one table that handlers and spawners of this process share."""
    return Holds(home.state / "servers.json")


def _key(user: str, server: str) -> str:
    return json.dumps([user, server])
