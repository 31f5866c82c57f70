"""The folder of a save: signed, for plain names only, forgotten after seven days."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from gearshift.lab import manifest
from gearshift.lab.manifest import KEPT_S, Manifest, SavedKernel, SavedSession
from gearshift.model.errors import GearshiftError
from hypothesis import given
from hypothesis import strategies as st

KEY = b"k" * 32
SAVED = Manifest(
    "op-1",
    (SavedKernel("k-1", "python3", "kernel-k-1.gsk"),),
    (SavedSession("s-1", "a.ipynb", "a", "notebook", "k-1"),),
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    manifest.write(tmp_path, SAVED, KEY)
    assert manifest.read(tmp_path, KEY) == SAVED
    assert (tmp_path / "manifest.json").stat().st_mode & 0o777 == 0o600


def test_a_changed_list_is_refused(tmp_path: Path) -> None:
    manifest.write(tmp_path, SAVED, KEY)
    file = tmp_path / "manifest.json"
    outer = json.loads(file.read_text())
    file.write_text(json.dumps({**outer, "body": outer["body"].replace("python3", "evil")}))
    with pytest.raises(GearshiftError, match="changed"):
        manifest.read(tmp_path, KEY)
    for broken in ("", "{}", "[]", '{"body": 1}'):
        file.write_text(broken)
        with pytest.raises(GearshiftError):
            manifest.read(tmp_path, KEY)


@given(st.text(max_size=140))
def test_c53_no_name_reaches_beside_the_state_folder(name: str) -> None:
    root = Path("/state")
    try:
        folder = manifest.folder_of(root, name)
    except GearshiftError as error:
        assert error.field == "operation"  # noqa: PT017 - either outcome is fine, each with its own check
        return
    assert folder.parent == root
    assert folder.name == name not in (".", "..")


def test_saves_older_than_seven_days_go_and_nothing_else(tmp_path: Path) -> None:
    for name in ("old", "kept", "in-hand"):
        (tmp_path / name).mkdir()
        manifest.write(tmp_path / name, SAVED, KEY)
    (tmp_path / "not-a-save").mkdir()
    (tmp_path / "key").write_bytes(KEY)
    for name in ("old", "in-hand", "not-a-save"):
        os.utime(tmp_path / name, (1000, 1000))
    os.utime(tmp_path / "kept", (5000, 5000))
    manifest.forget_old(tmp_path, "in-hand", now=1001 + KEPT_S)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in-hand", "kept", "key", "not-a-save"]
