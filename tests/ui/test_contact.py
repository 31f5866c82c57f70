"""Contact with control: gone and back, seven tabs on one stream, a part that fails alone, and the other language."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from gearshift_testing.browsing import SLOW_MS, Lab, Surfer, Visit, settings
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running
from playwright.sync_api import Route, expect

TABS = 7


@pytest.fixture
def nora(visit: Visit, running: Running) -> Surfer:
    """A person whose workspace runs."""
    nora = visit("nora")
    running.account("nora")
    Driver(running, "nora").start("desk")
    nora.sign_in()
    return nora


@contextmanager
def control_silent(running: Running) -> Iterator[None]:
    """Control neither answers nor ends."""
    pid = json.loads((running.home.run / "control.pid.json").read_text())["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_contact_is_lost_and_comes_back_while_cells_run_on(nora: Surfer, running: Running) -> None:
    lab = nora.lab("desk")
    lab.notebook()
    with control_silent(running):
        expect(lab.panel).to_contain_text("No contact with Gearshift since", timeout=SLOW_MS)
        expect(lab.panel).to_contain_text("Your kernel and jobs keep running.")
        press = lab.button("Switch machine…", lab.panel)
        expect(press).to_have_attribute("aria-disabled", "true")
        expect(press).to_have_attribute("title", "Switch and stop are available again when online.")
        expect(lab.page.get_by_role("button", name=re.compile("CPU, small.*offline since"))).to_have_count(2)
        assert lab.run("6 * 7") == "42"
        lab.button("Try now", lab.panel).click()  # afterwards the page might have come back by itself
    expect(lab.panel).not_to_contain_text("No contact with Gearshift", timeout=SLOW_MS)
    expect(lab.page.locator(".Toastify")).to_contain_text("Back online. Nothing was missed.")
    expect(press).not_to_have_attribute("aria-disabled", "true")


def test_seven_tabs_follow_one_workspace(nora: Surfer, running: Running) -> None:
    streams: list[str] = []
    nora.context.on(
        "request", lambda request: streams.append(request.url) if request.url.endswith("/events") else None
    )
    tabs = [nora.lab("desk") for _ in range(TABS)]
    Driver(running, "nora").switch("desk", "cpu-large")
    for tab in tabs:
        tab.page.bring_to_front()
        expect(tab.section("Machine")).to_contain_text("CPU, large", timeout=SLOW_MS)
    assert len(streams) == 1


def test_one_part_that_fails_says_so_alone(nora: Surfer) -> None:
    page = nora.page()
    refusal = {
        "error": {"code": "internal", "message": "A fault of ours, reference 1f.", "message_zh": "故障"}
    }

    def refuse(route: Route) -> None:
        route.fulfill(status=500, json=refusal)

    page.route("**/gearshift/api/disks*", refuse)
    lab = Lab(page, nora.faults)
    lab.open(f"{nora.product.server('nora', 'desk')}lab?reset")
    disks = lab.section("Disks")
    expect(disks).to_contain_text("A fault of ours, reference 1f.", timeout=SLOW_MS)
    expect(lab.section("Machine")).to_contain_text("CPU, small")
    page.unroute("**/gearshift/api/disks*")
    lab.button("Try again", disks).click()
    expect(disks).to_contain_text("home")
    expect(disks).not_to_contain_text("A fault of ours")


def test_memory_that_is_nearly_full_is_said_in_a_word_as_is_that_nothing_stops(nora: Surfer) -> None:
    lab = nora.lab("desk")
    read = {"cpu_percent": 34.0, "cpus": 1.0, "gpus": None, "devices": [], "incident": None}
    memory = {"memory_bytes": 1_900_000_000, "memory_limit_bytes": 2_000_000_000, "memory_warn_share": 0.85}
    lab.page.route("**/gearshift/metrics*", lambda route: route.fulfill(json={**read, **memory}))
    machine = lab.section("Machine")
    meter = machine.get_by_role("meter", name="RAM")
    expect(meter).to_have_attribute("aria-valuetext", "RAM 1.9 / 2 GB 95% full", timeout=SLOW_MS)
    expect(machine).to_contain_text("95% full")
    expect(machine).to_contain_text("Does not stop when it is idle. Change…")
    memory["memory_bytes"] = 1_000_000_000
    expect(meter).to_have_attribute("aria-valuetext", "RAM 1 / 2 GB", timeout=SLOW_MS)
    expect(machine).not_to_contain_text("full")
    lab.page.unroute("**/gearshift/metrics*")


def test_everything_is_said_in_chinese(nora: Surfer, running: Running) -> None:
    lab = nora.lab("desk")
    plugin = "@jupyterlab/translation-extension:plugin"
    settings(lab, running, "nora", "desk", plugin, {"locale": "zh_CN"})
    machine = lab.section("机器")
    expect(machine).to_contain_text("这台机器没有 GPU。CPU 与内存照常可用。")
    lab.button("切换机器…", lab.panel).click()
    expect(lab.dialog).to_contain_text("下一步：逐个变量的计划。此时不会执行任何操作。")
    lab.button("查看计划", lab.dialog).click()
    expect(lab.dialog).to_contain_text("些数字在", timeout=SLOW_MS)
    latin = re.compile(r"[A-Za-z]{4,}")
    rest = set(latin.findall(lab.dialog.inner_text())) - {"vCPU", "Simulated"}
    assert rest == set()
    lab.page.keyboard.press("Escape")
