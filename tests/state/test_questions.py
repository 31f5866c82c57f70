"""What the server asks a kernel, and what comes back when it cannot be done."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from gearshift.state import key
from gearshift.state.kernel import KEY_ENV, answer, signing_key


def ask(folder: Path, ns: dict[str, Any], **asked: Any) -> dict[str, Any]:
    path = folder / f"answer-{time.monotonic_ns()}.json"
    request = {"until": time.time() + 60, "key_folder": str(folder), "answer": str(path), **asked}
    assert answer(json.dumps(request), ns) == "done"
    assert path.stat().st_mode & 0o777 == 0o600
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_plan_save_and_load_answer_with_their_reports(tmp_path: Path) -> None:
    ns = {"a": [1], "b": 2}
    path = str(tmp_path / "k.gsk")
    assert ask(tmp_path, ns, do="plan")["report"]["moved"] == 2
    assert ask(tmp_path, ns, do="save", path=path, leave_out=["b"])["report"]["file"] == path
    new: dict[str, Any] = {}
    assert ask(tmp_path, new, do="load", path=path)["report"]["moved"] == 1
    assert new["a"] == [1]


def test_a_question_that_comes_too_late_does_nothing(tmp_path: Path) -> None:
    found = ask(tmp_path, {"a": 1}, do="save", path=str(tmp_path / "k.gsk"), until=time.time() - 1)
    assert found["error"]["code"] == "late"
    assert not (tmp_path / "k.gsk").exists()


def test_what_cannot_be_done_is_an_answer_too(tmp_path: Path) -> None:
    assert ask(tmp_path, {}, do="load", path=str(tmp_path / "none.gsk"))["error"]["code"] == "refused"
    assert ask(tmp_path, {}, do="dance")["error"]["code"] == "failed"
    found = ask(tmp_path, {"a": 1}, do="save", path=str(tmp_path / "no folder" / "k.gsk"))
    assert found["error"]["code"] == "failed"


def test_the_key_is_the_persons_where_control_gave_one(tmp_path: Path) -> None:
    assert signing_key({KEY_ENV: "ab" * 32}, tmp_path) == b"\xab" * 32
    assert signing_key({}, tmp_path) == key.read(tmp_path / "key")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder away needs root")
def test_a_state_folder_of_somebody_else_gives_no_key(tmp_path: Path) -> None:
    key.ensure(tmp_path)
    os.chown(tmp_path / "key", 20001, 20001)
    assert ask(tmp_path, {"a": 1}, do="save", path=str(tmp_path / "k.gsk"))["error"]["code"] == "refused"
