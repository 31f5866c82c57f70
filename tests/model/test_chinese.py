"""Chinese sentences: no cause that is written in our sources is told in English there."""

from __future__ import annotations

import ast
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from gearshift.model.chinese import has, in_chinese
from gearshift.model.errors import fail
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("extensions/gearshift", "hub_config/gearshift_hub")
TOLD = {"cause", "problem"}
BARE = {"{}", "{}: {}", ": {}"}
"""What holds no word of ours."""


def causes() -> Iterator[tuple[str, str]]:
    """Every literal that is handed to `fail` as a cause or problem, and every note of a job."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                for value in told(node):
                    if (phrase := literal(value)) is not None and phrase not in BARE:
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", phrase  # type: ignore[attr-defined]


def told(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "fail":
        return [one for word in node.keywords if word.arg in TOLD for one in branches(word.value)]
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "JobNotStartedError":
        return [one for value in node.args for one in branches(value)]
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "attr", "") == "note":
        return branches(node.value)
    return []


def branches(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.IfExp):
        return [*branches(value.body), *branches(value.orelse)]
    return value.values if isinstance(value, ast.BoolOp) else [value]


def literal(value: ast.expr) -> str | None:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value or None
    if isinstance(value, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in value.values)
    return None


def test_every_cause_in_our_sources_is_said_in_chinese() -> None:
    found = list(causes())
    assert len(found) > 50
    missing = [f"{where}: {phrase}" for where, phrase in found if not has(phrase)]
    assert not missing, "give each a line in extensions/gearshift/model/chinese.py"


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("it took over 30 s", "用时超过 30 秒"),
        ("a.ipynb: the kernel did not answer within 5 s", "a.ipynb：内核在 5 秒内没有响应"),
        ("kernel state cannot be written: No space left on device", "无法写入内核状态：设备上没有剩余空间"),
        (str(OSError(errno.EROFS, os.strerror(errno.EROFS))), "文件系统只读"),
        ("x.csv, y.csv missing from sklearn", "sklearn 中缺少 x.csv, y.csv"),
        ("Input should be greater than or equal to 1", "应不小于 1"),
        ("KeyError: 'lr'", "KeyError：'lr'"),
        ("", ""),
    ],
)
def test_a_cause_with_figures_and_a_place_is_said_in_chinese(english: str, chinese: str) -> None:
    assert in_chinese(english) == chinese


def test_a_sentence_is_chinese_throughout_and_names_stay_names() -> None:
    error = fail("save_failed", cause="the server is gone")
    assert error.message == "Kernel state was not saved: the server is gone. Nothing was stopped."
    assert error.message_zh == "内核状态未保存：服务器已不在。没有停止任何东西。"
    busy = fail("busy", workspace="mei/start", kind="switch", operation="op-1")
    assert busy.message_zh == "mei/start 正忙：操作 op-1（切换）正在进行。请等待结束或取消它。"
    named = fail("bad_request", field="x", value="unknown", problem="too small")
    assert named.message_zh == "x = 'unknown' 不被接受：太小。"


@given(st.text(max_size=60))
def test_whatever_a_cause_says_it_can_be_told(cause: str) -> None:
    assert isinstance(fail("step_failed", step="save", cause=cause).message_zh, str)
