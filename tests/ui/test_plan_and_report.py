"""The plan of a switch tells the truth before, its report after: verdicts, choices, consent, refresh, seconds."""

from __future__ import annotations

import itertools
import re

import pytest
from gearshift_testing.browsing import SLOW_MS, Lab, Surfer, Visit, settings
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running
from playwright.sync_api import Locator, expect

STEPPER = "stepper = (n for n in range(9)); next(stepper)"
WORKER = (
    "class Worker:\n    def __reduce__(self):\n        raise TypeError('not to be moved')\nworker = Worker()"
)
CONNECTION = "import sqlite3; conn = sqlite3.connect(':memory:')"


NUMBERS = itertools.count(1)


@pytest.fixture
def workspace() -> str:
    """One that no test before has left kernels in: a plain start brings those back."""
    return f"plan-{next(NUMBERS)}"


@pytest.fixture
def ida(visit: Visit, running: Running, workspace: str) -> Surfer:
    """A person whose workspace runs on `cpu-small`."""
    ida = visit("ida")
    Driver(running, "ida").start(workspace)
    ida.sign_in()
    return ida


@pytest.fixture
def lab(ida: Surfer, workspace: str) -> Lab:
    lab = ida.lab(workspace)
    lab.notebook()
    lab.run("x = 1; big = bytes(30_000_000)")
    return lab


def plan(lab: Lab, machine: str = "^Simulated chip simulated", begin: str = "Switch machine…") -> None:
    lab.button(begin, lab.panel).click()
    lab.dialog.get_by_role("radio", name=re.compile(machine)).check()
    lab.button("Show plan", lab.dialog).click()
    expect(row(lab, "big")).to_be_visible(timeout=SLOW_MS)


def row(lab: Lab, name: str) -> Locator:
    return lab.dialog.get_by_role("row").filter(has=lab.page.get_by_role("rowheader", name=name, exact=True))


def tab(lab: Lab, name: str) -> None:
    lab.dialog.get_by_role("tab", name=re.compile(name)).click()


def test_a_plan_shows_verdicts_takes_choices_and_asks_consent_for_what_is_lost(lab: Lab) -> None:
    for cell in (STEPPER, WORKER, CONNECTION):
        lab.run(cell)
    lab.button("Switch machine…", lab.panel).click()
    times = lab.dialog.get_by_role("row", name=re.compile("^Simulated chip simulated"))
    expect(times).to_contain_text(re.compile(r"Fits: .* of .* of memory"), timeout=SLOW_MS)
    expect(times.get_by_role("cell").nth(3)).to_have_text(re.compile(r"^[\d.]+ s$"), timeout=SLOW_MS)
    lab.page.keyboard.press("Escape")
    plan(lab)
    expect(row(lab, "big")).to_contain_text("30 MB")
    expect(row(lab, "big")).to_contain_text("Copy")
    expect(row(lab, "worker")).to_contain_text("Re-run")
    expect(row(lab, "worker")).to_contain_text("cell [3]")
    expect(row(lab, "stepper")).to_contain_text("Cannot move")
    expect(lab.dialog).to_contain_text(re.compile(r"Fits[\d. /]+GB ?memory, measured"))
    press = lab.button("Switch to Simulated chip", lab.dialog)
    expect(lab.dialog).to_contain_text("stepper will be lost: no cell can rebuild it.")
    expect(press).to_have_attribute("aria-disabled", "true")
    lab.dialog.get_by_role("checkbox", name="I can do without stepper").check()
    expect(press).not_to_have_attribute("aria-disabled", "true")
    tab(lab, "^Cannot move 2")
    expect(row(lab, "big")).to_have_count(0)
    lab.button("conn", row(lab, "conn")).click()
    choices = lab.dialog.get_by_role("radiogroup", name="What becomes of conn")
    expect(choices.get_by_role("radio", name="Leave it out; I will handle it")).to_be_checked()
    expect(choices).to_contain_text("reaches outside the kernel")
    choices.get_by_role("radio", name=re.compile("then run cell .4. again after the switch")).check()
    again = lab.dialog.get_by_role("checkbox", name="Make conn again by running its cells")
    expect(again).to_be_checked()
    tab(lab, "^Copy")
    lab.dialog.get_by_role("checkbox", name="Take big along").uncheck()
    expect(row(lab, "big")).to_contain_text("Left out")
    expect(lab.dialog.get_by_role("tab", name=re.compile("^Copy"))).not_to_contain_text("30")
    lab.page.keyboard.press("Escape")


def test_a_plan_is_refreshed_in_place_when_the_kernel_has_run(ida: Surfer, lab: Lab) -> None:
    other = Lab(ida.page(), ida.faults)
    other.open(lab.page.url)
    other.kernel_is_idle()
    plan(lab)
    other.run("fresh = 2")
    expect(lab.dialog.get_by_role("alert")).to_have_text(
        "Plan updated: fresh changed. Check and press again.", timeout=SLOW_MS
    )
    expect(row(lab, "fresh")).to_be_visible()
    lab.confirm("Switch to Simulated chip")
    report = lab.dialog.get_by_role("heading", name="Switch report")
    expect(report).to_be_visible(timeout=SLOW_MS)
    lab.button("Done", lab.dialog).click()
    assert other.run("fresh, x") == "(2, 1)"


def test_the_report_says_what_was_expected_and_names_each_loss_with_its_way_back(lab: Lab) -> None:
    for cell in (WORKER, CONNECTION):
        lab.run(cell)
    plan(lab)
    lab.dialog.get_by_role("checkbox", name="Take big along").uncheck()
    lab.confirm("Switch to Simulated chip")
    expect(lab.dialog.get_by_role("heading", name="Switch report")).to_be_visible(timeout=SLOW_MS)
    expect(lab.dialog).to_contain_text(re.compile(r"It took [\d.]+ s, expected [\d.]+ s\."))
    result = lab.dialog.get_by_role("table")
    expect(result.get_by_role("row", name=re.compile("^Run again"))).to_contain_text("worker: cell [2]")
    expect(result.get_by_role("row", name=re.compile("^Left out"))).to_contain_text("big")
    lost = result.get_by_role("row", name=re.compile("^Not moved"))
    expect(lost).to_contain_text("conn")
    expect(lost).to_contain_text("run cell [3] again")
    lab.button("Run cell [3]", lost).click()
    expect(lab.dialog).to_have_count(0)
    assert "Worker" in lab.run("type(worker), conn.execute('select 1').fetchone(), 'big' in dir()")


def test_plan_and_report_are_told_in_chinese(lab: Lab, running: Running, workspace: str) -> None:
    lab.run(STEPPER)
    plugin = "@jupyterlab/translation-extension:plugin"
    settings(lab, running, "ida", workspace, plugin, {"locale": "zh_CN"})
    lab.button("切换机器…", lab.panel).click()
    expect(lab.dialog.get_by_role("columnheader", name="切换耗时")).to_be_visible(timeout=SLOW_MS)
    lab.dialog.get_by_role("radio", name=re.compile("^模拟芯片 模拟")).check()
    lab.button("查看计划", lab.dialog).click()
    expect(row(lab, "stepper")).to_contain_text("无法迁移", timeout=SLOW_MS)
    expect(lab.dialog).to_contain_text("stepper 将会丢失：没有单元能重建它。")
    expect(lab.dialog).to_contain_text("内存，实测")
    lab.dialog.get_by_role("checkbox", name=re.compile("我可以不要")).check()
    lab.confirm("切换到 模拟芯片")
    expect(lab.dialog).to_contain_text(re.compile(r"用时 [\d.]+ 秒，预计 [\d.]+ 秒。"), timeout=SLOW_MS)
    expect(lab.dialog.get_by_role("row", name=re.compile("^未迁移"))).to_contain_text("stepper")
