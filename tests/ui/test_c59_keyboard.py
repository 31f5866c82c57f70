"""Case C59: the switch, a disk and a job by the keyboard alone; an audit of each view in both themes; a calm live region."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from gearshift_testing.browsing import INERT_MS, SLOW_MS, Lab, Visit, axe_source, settings
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running
from playwright.sync_api import expect

LONG = """%%gearshift --nodes 2 --machine sim-1 --name long
import time
from gearshift import train
for step in range(1, 4):
    train.log(step=step, steps=1000, loss=1.0 / step)
print("here", flush=True)
time.sleep(600)
"""
OURS = ("#gearshift-panel", ".gs-dialog", ".gs-main-host", ".gs-job", ".gs-chip", ".gs-status", ".gs-popup")
ON_TOP = tuple(one for one in OURS if one != "#gearshift-panel")
"""While the popup of the status bar is open it covers a part of the panel, which is looked at by itself."""
LOW = {"width": 1440, "height": 480}
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
AUDIT = """async ([source, selectors, rules]) => {
  if (!window.axe) {
    const script = document.createElement('script');
    script.textContent = source;
    document.head.append(script);
  }
  // Lab's body has no height of its own, so the audit would take all of its text for hidden.
  document.documentElement.style.height = document.body.style.height = '100vh';
  const include = selectors.filter(one => document.querySelector(one));
  const found = await window.axe.run({ include }, { runOnly: { type: 'tag', values: rules } });
  if (!found.passes.some(one => one.id === 'color-contrast')) return ['the audit looked at no text'];
  return found.violations.filter(one => ['serious', 'critical'].includes(one.impact)).map(one =>
    `${one.id}: ${one.nodes.map(node => node.target.join(' ') + ' ' + (node.any[0]?.message ?? '')).join(' | ')}`);
}"""
LISTEN = """() => {
  window.said = [];
  for (const region of document.querySelectorAll('#gearshift-panel [role=status]')) {
    new MutationObserver(() => window.said.push([performance.now(), region.textContent])).observe(
      region, { childList: true, characterData: true, subtree: true });
  }
}"""


def focused(lab: Lab) -> str:
    """The name of what has focus."""
    return str(
        lab.page.evaluate(
            "(document.activeElement.ariaLabel || document.activeElement.textContent || '').trim()"
        )
    )


def tab_to(lab: Lab, name: str) -> None:
    """Press Tab until the control of this name has focus."""
    for _ in range(60):
        if focused(lab) == name:
            return
        lab.page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reached {name!r}; it is at {focused(lab)!r}")


@pytest.fixture
def lab(visit: Visit, running: Running) -> Lab:
    """A person whose workspace is on a simulated chip."""
    tess = visit("tess")
    running.account("tess")
    Driver(running, "tess").start("keys", "sim-1")
    tess.sign_in()
    lab = tess.lab("keys")
    lab.notebook()
    return lab


def test_switch_disk_and_job_by_keyboard_alone(lab: Lab, running: Running) -> None:
    driver = Driver(running, "tess")
    if not any(disk["name"] == "shelf" for disk in driver.get("disks")):
        driver.post("disks", {"name": "shelf", "quota_bytes": 10**9})
    escape_closes_and_gives_focus_back(lab)
    the_machine_is_switched(lab)
    a_disk_is_attached(lab)
    a_job_is_stopped(lab)


def escape_closes_and_gives_focus_back(lab: Lab) -> None:
    lab.page.keyboard.press("Control+Shift+Alt+G")
    expect(lab.page.locator("#gs-head-machine")).to_be_focused()
    tab_to(lab, "Switch machine…")
    lab.page.keyboard.press("Enter")
    expect(lab.dialog.get_by_role("radio").first).to_be_visible()
    lab.page.keyboard.press("Escape")
    expect(lab.dialog).to_have_count(0)
    assert focused(lab) == "Switch machine…"


def the_machine_is_switched(lab: Lab) -> None:
    lab.page.keyboard.press("Enter")
    expect(lab.dialog.locator("input[type=radio]:focus")).to_have_count(1, timeout=SLOW_MS)
    lab.page.keyboard.press("End")
    lab.page.keyboard.press("Home")
    expect(lab.dialog.get_by_role("radio", name=re.compile("CPU, small"))).to_be_checked()
    lab.page.keyboard.press("Enter")
    expect(lab.button("Switch to CPU, small", lab.dialog)).to_be_visible(timeout=SLOW_MS)
    expect(lab.button("Cancel", lab.dialog)).to_be_focused()
    lab.page.wait_for_timeout(INERT_MS)
    lab.page.keyboard.press("Tab")
    assert focused(lab) == "Switch to CPU, small"
    lab.page.keyboard.press("Space")
    expect(lab.dialog.get_by_role("heading", name="Switch report")).to_be_visible(timeout=SLOW_MS)
    expect(lab.button("Done", lab.dialog)).to_be_focused()
    lab.page.keyboard.press("Space")
    expect(lab.dialog).to_have_count(0)
    assert focused(lab) == "Switch machine…"
    expect(lab.section("Machine")).to_contain_text("CPU, small")


def a_disk_is_attached(lab: Lab) -> None:
    lab.command("Open Disks")
    tab_to_row(lab, "shelf")
    lab.page.keyboard.press("Shift+F10")
    choose_in_menu(lab, "Attach")
    row = lab.page.get_by_role("row", name=re.compile("shelf"))
    expect(row).to_contain_text("From the next start or switch", timeout=SLOW_MS)
    assert focused(lab) == "shelf"


def a_job_is_stopped(lab: Lab) -> None:
    lab.tab("Untitled.ipynb")
    lab.run("%load_ext gearshift")
    widget = lab.job(lab.type_cell(LONG))
    widget.get_by_role("button", name="Start job…").click(timeout=SLOW_MS)
    lab.confirm("Start job")
    expect(widget.locator(".gs-log")).to_contain_text("here", timeout=SLOW_MS)
    lab.command("Open Jobs")
    tab_to_row(lab, "long")
    lab.page.keyboard.press("Shift+F10")
    choose_in_menu(lab, "Cancel…")
    expect(lab.button("Cancel job", lab.dialog)).to_be_visible(timeout=SLOW_MS)
    expect(lab.button("Keep running", lab.dialog)).to_be_focused()
    lab.page.wait_for_timeout(INERT_MS)
    lab.page.keyboard.press("Tab")
    lab.page.keyboard.press("Space")
    row = lab.page.locator(".gs-main-host").get_by_role("row", name=re.compile("long"))
    expect(row).to_contain_text("Cancelled", timeout=SLOW_MS)


def tab_to_row(lab: Lab, name: str) -> None:
    """Into the table of the view by Tab, then down to the row."""
    stop = lab.page.locator(".gs-main-host [data-roving][tabindex='0']:visible")
    expect(stop).to_have_count(1, timeout=SLOW_MS)
    first = stop.inner_text()
    tab_to(lab, first)
    for _ in range(20):
        if focused(lab) == name:
            return
        lab.page.keyboard.press("ArrowDown")
    raise AssertionError(f"no row {name!r}")


def choose_in_menu(lab: Lab, name: str) -> None:
    expect(lab.page.get_by_role("menuitem", name=name, exact=True)).to_be_visible()
    for _ in range(6):
        lab.page.keyboard.press("ArrowDown")
        if lab.page.locator(".lm-Menu-item.lm-mod-active").inner_text().strip() == name:
            lab.page.keyboard.press("Enter")
            return
    raise AssertionError(f"the menu has no {name!r}")


def test_in_a_low_window_the_panel_scrolls_to_its_last_line(lab: Lab) -> None:
    lab.page.set_viewport_size(LOW)
    lab.button("Open cost", lab.panel).click()
    expect(lab.page.get_by_role("region", name="Today")).to_be_visible(timeout=SLOW_MS)


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_no_view_of_ours_has_a_serious_finding(lab: Lab, running: Running, theme: str) -> None:
    settings(lab, running, "tess", "keys", "@jupyterlab/apputils-extension:themes", {"theme": theme})
    source = axe_source()
    light = "true" if theme.endswith("Light") else "false"
    assert lab.page.locator("body").get_attribute("data-jp-theme-light") == light

    def audit(view: str, parts: Sequence[str] = OURS) -> None:
        found: list[Any] = lab.page.evaluate(AUDIT, [source, list(parts), list(RULES)])
        assert found == [], f"{view}, {theme}"

    lab.panel  # noqa: B018 -- it is opened by being asked for
    audit("panel")
    dialogs_are_sound(lab, audit)
    views_are_sound(lab, audit)


def dialogs_are_sound(lab: Lab, audit: Any) -> None:
    lab.button("Switch machine…", lab.panel).click()
    expect(lab.dialog.get_by_role("radio").first).to_be_visible(timeout=SLOW_MS)
    audit("choose")
    lab.button("Show plan", lab.dialog).click()
    expect(lab.dialog.get_by_role("heading", name="Switch machine: plan")).to_be_visible(timeout=SLOW_MS)
    expect(lab.button("Back", lab.dialog)).to_be_visible(timeout=SLOW_MS)
    audit("plan")
    lab.page.keyboard.press("Escape")
    lab.button("Stop…", lab.panel).click()
    expect(lab.button("Stop", lab.dialog)).to_be_visible(timeout=SLOW_MS)
    audit("stop")
    lab.page.keyboard.press("Escape")
    lab.button("New disk", lab.panel).click()
    audit("new disk")
    lab.page.keyboard.press("Escape")
    lab.button("Change…", lab.panel).click()
    expect(lab.dialog.get_by_role("heading", name="Idle time and end of work")).to_be_visible()
    audit("idle time")
    lab.page.keyboard.press("Escape")
    lab.page.locator(".gs-status").click()
    audit("status", ON_TOP)
    lab.page.keyboard.press("Escape")
    expect(lab.page.locator(".gs-popup")).to_have_count(0)
    audit("panel below it")


def views_are_sound(lab: Lab, audit: Any) -> None:
    for command, heading in (
        ("Open Disks", "Disks"),
        ("Browse Datasets & Models", "Datasets & models"),
        ("Open Jobs", "Jobs"),
        ("Open Cost", "Cost"),
    ):
        lab.command(command)
        expect(lab.page.get_by_role("heading", level=1, name=heading)).to_be_visible(timeout=SLOW_MS)
        rows = lab.page.locator(".gs-main-host [data-roving]:visible")
        if rows.count():
            rows.first.click()
        lab.page.wait_for_timeout(300)
        audit(heading)


def test_the_live_region_speaks_at_most_once_in_five_seconds(lab: Lab) -> None:
    lab.panel  # noqa: B018
    lab.page.evaluate(LISTEN)
    lab.button("Switch machine…", lab.panel).click()
    lab.dialog.get_by_role("radio", name=re.compile("CPU, large")).check()
    lab.button("Show plan", lab.dialog).click()
    lab.confirm("Switch to CPU, large")
    expect(lab.dialog.get_by_role("heading", name="Switch report")).to_be_visible(timeout=SLOW_MS)
    lab.page.wait_for_timeout(5500)
    said = lab.page.evaluate("window.said")
    times = [at for at, _ in said]
    assert all(after - before >= 4900 for before, after in pairwise(times)), said
    assert said[-1][1] == "You are on CPU, large."


def test_machine_use_price_and_balance_are_read_aloud(lab: Lab) -> None:
    expect(lab.section("Machine")).to_contain_text("¥1.00/h")
    lab.page.keyboard.press("Control+Shift+Alt+I")
    spoken = lab.page.locator("body > .gs-hidden[role=status]")
    expect(spoken).to_have_text(re.compile(r"Simulated chip\. Running\..*¥1\.00 per hour\. balance ¥"))
