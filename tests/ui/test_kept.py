"""Kept kernel state in the browser: a snapshot taken and brought back in Lab, and the choice at a start."""

from __future__ import annotations

import re

from gearshift_testing.browsing import SLOW_MS, Lab, Visit
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running
from playwright.sync_api import expect


def test_a_snapshot_comes_back_and_a_start_offers_the_workspace_as_it_was(
    visit: Visit, running: Running
) -> None:
    gwen, driver = visit("gwen"), Driver(running, "gwen")
    running.account("gwen")
    driver.start("bench")
    page = gwen.sign_in()
    lab = gwen.lab("bench")
    lab.notebook()
    lab.run("epoch = 1")

    lab.button("History", lab.panel).click()
    lab.button("Take a snapshot", lab.dialog).click()
    expect(lab.dialog).to_contain_text("The snapshot is kept. Nothing was stopped.", timeout=SLOW_MS)
    row = lab.dialog.get_by_role("row").filter(has_text="Snapshot")
    expect(row).to_contain_text("1 variable")
    lab.button("Done", lab.dialog).click()
    lab.run("epoch = 2")
    lab.button("History", lab.panel).click()
    row.get_by_role("button", name=re.compile("^Bring back")).click()
    expect(lab.dialog).to_contain_text("overwritten: epoch", timeout=SLOW_MS)
    lab.confirm("Bring back")
    expect(lab.dialog).to_contain_text("What was kept is back in your kernels.", timeout=SLOW_MS)
    lab.button("Done", lab.dialog).click()
    assert lab.run("epoch") == "1"
    lab.run("conn = __import__('sqlite3').connect(':memory:')")
    lab.page.close()

    driver.stop("bench")
    page.goto(f"{running.url}services/gearshift/start")
    strip = page.locator(".gs-strip")
    expect(strip).to_contain_text(re.compile(r"Start bench as it was \(with 1 variable of \d\d:\d\d\)"))
    expect(strip.get_by_role("button", name="Start fresh bench")).to_be_visible()
    strip.get_by_role("button", name="Start bench", exact=True).click()
    page.wait_for_url(re.compile("/lab"), timeout=SLOW_MS)
    again = Lab(page)
    again.ready()
    toast = again.page.locator(".Toastify__toast", has_text="1 variable did not come back with this start.")
    again.button("Report", toast).click(timeout=SLOW_MS)
    expect(again.dialog.get_by_role("heading", name="Start report")).to_be_visible()
    expect(again.dialog.get_by_role("row", name=re.compile("^Not moved"))).to_contain_text("conn")
    again.button("Done", again.dialog).click()
    again.button("Done", again.dialog).click()
    again.button("History", again.panel).click()
    expect(again.dialog).to_contain_text("Started as it was", timeout=SLOW_MS)
    row = again.dialog.get_by_role("row").filter(has_text="Started as it was")
    row.get_by_role("button", name="Report").click()
    expect(again.dialog.get_by_role("heading", name="Start report")).to_be_visible()
    expect(again.dialog).to_contain_text("Copied")
    assert gwen.faults == []


def test_a_copy_on_a_disk_comes_into_another_workspace_by_a_press(visit: Visit, running: Running) -> None:
    hana, driver = visit("hana"), Driver(running, "hana")
    running.account("hana")
    disk = driver.post("/disks", {"name": "pool", "quota_bytes": 10**9})["id"]
    driver.start("first", disks=[{"disk": disk, "mode": "rw"}])
    hana.sign_in()
    lab = hana.lab("first")
    lab.notebook()
    lab.run("epoch = 41")
    lab.button("History", lab.panel).click()
    lab.button("Take a snapshot", lab.dialog).click()
    expect(lab.dialog).to_contain_text("The snapshot is kept. Nothing was stopped.", timeout=SLOW_MS)
    lab.dialog.get_by_label(re.compile("^Copy .* to a disk$")).select_option("pool")
    expect(lab.dialog).to_contain_text("Copied to pool.", timeout=SLOW_MS)
    lab.page.close()
    driver.stop("first")

    driver.start("second", disks=[{"disk": disk, "mode": "rw"}])
    lab = hana.lab("second")
    lab.ready()
    lab.button("History", lab.panel).click()
    lab.dialog.get_by_role("button", name=re.compile("^Bring in op-")).click()
    expect(lab.dialog).to_contain_text("Bring in kernel state from pool?", timeout=SLOW_MS)
    expect(lab.dialog).to_contain_text("hana/first")
    lab.confirm("Bring in")
    expect(lab.dialog).to_contain_text("What was kept is back in your kernels.", timeout=SLOW_MS)
    row = lab.dialog.get_by_role("row").filter(has_text="pool: op-")
    expect(row).to_contain_text("1 variable")
    assert hana.faults == []
