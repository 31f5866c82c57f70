"""Under a cell that ran stands how long, on what and for how much: as the ledger has it, in the saved notebook too."""

from __future__ import annotations

import re
from typing import Any

import pytest
from gearshift.model.units import cost_nano
from gearshift_testing.browsing import SLOW_MS, Lab, Surfer, Visit, settings
from gearshift_testing.driving import Driver, until
from gearshift_testing.running import Running
from playwright.sync_api import Locator, expect

NAME, DESK = "costs.ipynb", "till"
PRICE_NANO = 1_000_000_000
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
EMPTY = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": KERNEL}, "cells": []}
LINE = re.compile(r"^(\d+(\.\d)?) sSimulated chip((< )?¥0\.\d\d)$")
SLEEP = "import time; time.sleep(1.5)"


@pytest.fixture
def otto(visit: Visit, running: Running) -> Surfer:
    otto = visit("otto")
    running.account("otto")
    driver = Driver(running, "otto")
    driver.start(DESK, "sim-1")
    empty = {"type": "notebook", "format": "json", "content": EMPTY}
    assert driver.server(DESK, f"api/contents/{NAME}", "PUT", empty).is_success
    otto.sign_in()
    return otto


def opened(otto: Surfer) -> Lab:
    lab = otto.lab(DESK)
    lab.page.locator(".jp-DirListing-item", has_text=NAME).dblclick()
    lab.kernel_is_idle()
    return lab


def footer(lab: Lab, at: int, name: str = "Time and cost of this cell") -> Locator:
    return lab.page.locator(".jp-Notebook-cell").nth(at).get_by_role("note", name=name)


def saved(driver: Driver) -> list[dict[str, Any]]:
    answer = driver.server(DESK, f"api/contents/{NAME}?type=notebook")
    cells: list[dict[str, Any]] = answer.json()["content"]["cells"]
    return cells


def test_a_cell_says_what_it_cost_and_the_notebook_keeps_it(otto: Surfer, running: Running) -> None:
    driver = Driver(running, "otto")
    lab = opened(otto)
    at = lab.type_cell(SLEEP)
    expect(footer(lab, at)).to_have_text(LINE, timeout=SLOW_MS)
    failed = lab.type_cell("time.sleep(0.2); 1 / 0")
    expect(footer(lab, failed)).to_contain_text("Simulated chip", timeout=SLOW_MS)
    expect(footer(lab, failed + 1)).to_have_count(0)

    lab.page.keyboard.press("Control+s")
    until(lambda: len(saved(driver)) > at, 60, "the notebook is saved")
    kept = saved(driver)[at]["metadata"]["gearshift"]
    timing = saved(driver)[at]["metadata"]["execution"]
    (part,) = kept["on"]
    assert (part["machine"], part["price_per_hour_nano"], part["chip"]["count"]) == ("sim-1", PRICE_NANO, 1)
    assert kept["seconds"] == part["seconds"] >= 1.5
    assert abs(kept["amount_nano"] - cost_nano(PRICE_NANO, round(kept["seconds"] * 1_000_000))) <= 1
    span = f"from={timing['iopub.execute_input']}&to={timing['shell.execute_reply']}"
    assert driver.get(f"workspaces/otto/{DESK}/cost?{span}") == kept
    assert kept["image"] == driver.get("catalog")["images"][0]["digest"]

    plugin, chinese = "@jupyterlab/translation-extension:plugin", "此单元的用时与费用"
    said = LINE.match(footer(lab, at).text_content() or "")
    assert said is not None
    settings(lab, running, "otto", DESK, plugin, {"locale": "zh_CN"})
    expect(footer(lab, at, chinese)).to_have_text(f"{said[1]} 秒模拟芯片{said[3]}", timeout=SLOW_MS)
    expect(footer(lab, failed, chinese)).to_be_visible()
    expect(lab.page.locator(".jp-mod-dirty")).to_have_count(0)
    settings(lab, running, "otto", DESK, "jupyterlab-gearshift:plugin", {"footer": False})
    expect(lab.page.locator(".jp-Notebook-cell").nth(at)).to_be_visible(timeout=SLOW_MS)
    expect(footer(lab, at, chinese)).to_have_count(0)
