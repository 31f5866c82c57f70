"""What cells print follows the language that its reader chose: in Lab, else the deployment's."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from gearshift.language import language
from gearshift.magics import MagicError, phrases
from gearshift.magics.phrases import PHRASES

CAPS = "--max-price 5 --max-cost 2.50"
HAN = re.compile("[\u4e00-\u9fff]")
SETTING = ".jupyter/lab/user-settings/@jupyterlab/translation-extension/plugin.jupyterlab-settings"
SAME = {"plan.done", "first.cause"}


@pytest.fixture
def chinese(spender: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The notebook of somebody in a Chinese deployment."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GEARSHIFT_LANGUAGE", "zh")
    return spender


def choose(home: Path, text: str) -> None:
    (home / SETTING).parent.mkdir(parents=True, exist_ok=True)
    (home / SETTING).write_text(text)


@pytest.mark.parametrize(
    ("site", "chosen", "expected"),
    [
        (None, None, "en"),
        ("zh", None, "zh"),
        ("zh", '{\n    // Language\n    // "locale": "zh_CN"\n    "locale": "en"\n}', "en"),
        ("en", '{"locale": "zh_CN"}', "zh"),
        ("zh", '{"locale": "default"}', "zh"),
        ("zh", '{"locale": "fr_FR"}', "zh"),
        ("de", "no JSON", "en"),
    ],
)
def test_the_choice_in_lab_comes_before_the_deployments(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, site: str | None, chosen: str | None, expected: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GEARSHIFT_LANGUAGE", raising=False)
    if site is not None:
        monkeypatch.setenv("GEARSHIFT_LANGUAGE", site)
    if chosen is not None:
        choose(tmp_path, chosen)
    assert language() == expected


def test_each_phrase_is_there_in_both_languages_with_the_same_facts() -> None:
    for key, (english, chinese) in PHRASES.items():
        fields = [
            sorted(name for _, name, _, _ in Formatter().parse(text) if name) for text in (english, chinese)
        ]
        assert fields[0] == fields[1], key
        assert HAN.search(chinese) or key in SAME, key
        assert not HAN.search(english), key


def test_no_text_of_a_line_stands_beside_the_phrases() -> None:
    folder = Path(phrases.__file__).parent
    beside = re.compile(r'help="|ArgumentTypeError\(f?"|MagicError\([^)]*, f?"|print\(f?"')
    found = [path.name for path in folder.glob("*.py") if beside.search(path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "机器    cpu-small，每小时 ¥0.10"),
        ("mount digits", "digits：~/datasets/digits  只读，1 MB，许可 CC BY 4.0，无流量费"),
        ("unmount digits", "digits：已卸载"),
        ("disks", "磁盘  权限"),
        ("datasets", "数字"),
        ("jobs", "已完成"),
        ("cost", "今日"),
        ("help", "提议换一台机器"),
        (f"cancel job-0badcafe {CAPS}", "cancel：job-0badcafe 排队中"),
    ],
)
def test_reports_are_in_chinese(chinese: Any, line: str, said: str) -> None:
    assert said in chinese.run(f"%gearshift {line}")


def test_a_job_and_its_failure_are_told_in_chinese(chinese: Any, stand_in: Any) -> None:
    first = {"rank": 3, "node": 1, "exit_code": None, "signal": 9, "message": "killed", "lines": ["boom"]}
    stand_in.job |= {
        "reason": "signal",
        "first_failure": first,
        "note": "attempt 2",
        "note_zh": "第 2 次尝试",
    }
    stand_in.job["state"] = "failed"
    said = chinese.run("%gearshift jobs")
    assert "节点 1 的 rank 3 最先失败，信号 9：killed" in said
    chinese.run("%gearshift show job-0badcafe")
    shown = chinese.displayed[0]["text/plain"]
    assert "备注   第 2 次尝试" in shown
    assert "每小时 ¥2.00" in shown


def test_a_refusal_is_told_in_chinese_with_its_code(chinese: Any, stand_in: Any) -> None:
    stand_in.refuse["plans"] = (409, {"code": "sold_out", "message": "gone", "message_zh": "已售罄"})
    for cell, said in (
        ("%gearshift switch sim-1", "sold_out: 已售罄"),
        ("%%gearshift --nodes x\npass", "bad_request: 参数 --nodes：'x' 不是整数"),
        ("%%gearshift --max-cost lots\npass", "参数 --max-cost：'lots' 不是金额"),
        ("%gearshift logs 'job", "引号没有闭合"),
        ("%gearshift mount", "缺少参数：names"),
    ):
        with pytest.raises(MagicError) as caught:
            chinese.run(cell)
        assert said in str(caught.value)


def test_who_changes_the_language_in_lab_reads_the_next_answer_in_it(chinese: Any, tmp_path: Path) -> None:
    assert "余额" in chinese.run("%gearshift")
    choose(tmp_path, '{"locale": "en"}')
    assert "balance" in chinese.run("%gearshift")
