"""What is written down of each tree: who leads it, who keeps it, how it ended. No secrets; root's own folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import process_table

TREE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
KEPT_SECONDS = 7 * 24 * 3600.0
_RECORD, _END = "record.json", "end.json"


class TreeExists(Exception):
    """A tree of this name is running."""


@dataclass(frozen=True)
class Record:
    """One tree. `pid` leads it: when that process ends, the tree ends. `keeper` is ours and outlives it."""

    tree: str
    pid: int
    start: int
    keeper: int
    keeper_start: int
    uid: int
    started_at: str
    boot: str = ""
    runtime_dir: str = ""
    port: int = 0
    cores: tuple[int, ...] = ()
    guarded_ports: tuple[int, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, text: str | bytes) -> Record:
        values: dict[str, Any] = json.loads(text)
        values["cores"] = tuple(values.get("cores", ()))
        values["guarded_ports"] = tuple(values.get("guarded_ports", ()))
        return cls(**values)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @property
    def leads(self) -> bool:
        """Whether the leading process still runs."""
        return self._same_boot() and process_table.is_alive(self.pid, self.start)

    @property
    def is_kept(self) -> bool:
        """Whether its keeper still runs."""
        return self._same_boot() and process_table.is_alive(self.keeper, self.keeper_start)

    def _same_boot(self) -> bool:
        return self.boot == process_table.boot_id()


class Records:
    """The records of all trees of a deployment, a folder each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def add(self, record: Record) -> None:
        """Write a new tree down, in place of an ended one of that name; raises TreeExists."""
        check_name(record.tree)
        place = self._folder / record.tree
        old = self.get(record.tree)
        if old is not None:
            if old.is_kept or old.leads:
                raise TreeExists(record.tree)
            shutil.rmtree(place)
        try:
            place.mkdir(mode=0o700)
        except FileExistsError:
            if self.get(record.tree) is not None:
                raise TreeExists(record.tree) from None
        _write(place / _RECORD, record.to_json())

    def change(self, record: Record) -> None:
        """Write down what became of a running tree; its files stay where they are."""
        if (self._folder / record.tree).is_dir():
            _write(self._folder / record.tree / _RECORD, record.to_json())

    def get(self, tree: str) -> Record | None:
        try:
            return Record.from_json((self._folder / tree / _RECORD).read_text())
        except (OSError, ValueError, TypeError):
            return None

    def end(self, tree: str, exit_code: int | None) -> None:
        """Write down that the tree is gone, with its leader's exit code if that is known."""
        if (self._folder / tree).is_dir():
            _write(self._folder / tree / _END, json.dumps({"exit_code": exit_code}))

    def ended(self, tree: str) -> bool:
        return (self._folder / tree / _END).exists()

    def exit_code(self, tree: str) -> int | None:
        try:
            code = json.loads((self._folder / tree / _END).read_text())["exit_code"]
        except (OSError, ValueError, KeyError):
            return None
        return None if code is None else int(code)

    def all(self) -> Iterator[Record]:
        if self._folder.is_dir():
            for name in sorted(os.listdir(self._folder)):
                record = self.get(name)
                if record is not None:
                    yield record

    def open(self) -> Iterator[Record]:
        """Trees that are not known to have ended."""
        return (record for record in self.all() if not self.ended(record.tree))

    def forget(self, tree: str) -> None:
        shutil.rmtree(self._folder / tree, ignore_errors=True)

    def forget_old(self, seconds: float = KEPT_SECONDS) -> list[str]:
        """Drop the records of trees that ended long ago, and tell their names."""
        past = time.time() - seconds
        names = [record.tree for record in self.all() if self.ended(record.tree)]
        old = [tree for tree in names if (self._folder / tree / _END).stat().st_mtime < past]
        for tree in old:
            self.forget(tree)
        return old


def check_name(tree: str) -> None:
    """A tree's name becomes a folder's name in several places."""
    if not TREE_NAME.fullmatch(tree):
        raise ValueError(f"tree {tree!r}: use a-z, 0-9 and hyphens, at most 63")


def _write(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text)
    draft.replace(path)
