"""C20 in the page: the sentence stands where the work was, the cell runs no more, a larger machine is one press away."""

from __future__ import annotations

import os
import re

import pytest
from gearshift_testing.browsing import SLOW_MS, Lab, Visit
from gearshift_testing.driving import Driver, until
from playwright.sync_api import expect

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root: cgroups")]

NAME = "tight"
FILL = "x = bytearray(1024**3)\nfor i in range(0, len(x), 4096): x[i] = 1"


def test_c20_the_page_says_why_the_kernel_ended_and_offers_a_larger_machine(visit: Visit) -> None:
    surfer = visit("mei-sees-memory")
    surfer.product.account(surfer.user)
    driver = Driver(surfer.product, surfer.user)
    driver.start(NAME, "sim-tiny")
    surfer.sign_in()
    page = surfer.page()
    lab = Lab(page)
    lab.open(f"{surfer.product.server(surfer.user, NAME)}lab")
    lab.notebook()
    assert lab.run("1 + 1") == "2"
    at = lab.type_cell(FILL)
    note = page.get_by_role("alert").filter(has_text="was ended: out of memory")
    expect(note).to_be_visible(timeout=SLOW_MS)
    expect(note).to_contain_text("Untitled.ipynb")
    expect(note).to_contain_text("536.9 MB")
    prompt = page.locator(".jp-Notebook-cell").nth(at).locator(".jp-InputPrompt")
    expect(prompt).not_to_have_text(re.compile(r"\*"), timeout=SLOW_MS)
    expect(page.get_by_text("appears to have died")).to_have_count(0)
    lab.button("Larger machine…", note).click()
    expect(lab.dialog).to_contain_text("Simulated chip", timeout=SLOW_MS)
    page.keyboard.press("Escape")
    page.reload()
    lab.ready()
    expect(note).to_be_visible(timeout=SLOW_MS)
    lab.button("Dismiss", note).click()
    expect(note).to_have_count(0)
    told = until(lambda: driver.get(f"workspaces/{surfer.user}/{NAME}/notices"), 60, "control is told")
    assert {one["code"] for one in told if one["text"] == "memory"} >= {"kernel_oom"}
    lab.button("History", lab.panel).click()
    expect(lab.dialog.get_by_role("table", name="What was told")).to_contain_text(
        "out of memory", timeout=SLOW_MS
    )
