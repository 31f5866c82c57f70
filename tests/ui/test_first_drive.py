"""The whole line in a browser, below `/` and below `/team/`: sign in, start, attach, switch, job, cancel, bill, stop."""

from __future__ import annotations

import re

from gearshift_testing.browsing import SLOW_MS, Lab, Visit
from playwright.sync_api import expect

TRAIN = """%%gearshift --nodes 2 --machine sim-1 --name drive
import os, time
from gearshift import train
for step in range(1, 6):
    train.log(step=step, steps=5, loss=2.0 / step)
    print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}: step {step}", flush=True)
    time.sleep(0.2)
"""
ENDLESS = """%%gearshift --nodes 2 --machine sim-1 --name endless
import time
print("here", flush=True)
time.sleep(600)
"""


def test_first_drive(visit_site: Visit) -> None:
    mei = visit_site("mei")
    lab = mei.start(mei.sign_in(), "drive")
    the_machine_is_told(lab)
    disk_and_data_are_attached(lab)
    a_switch_keeps_the_page_the_kernel_and_its_variables(lab)
    a_job_runs_to_its_end(lab)
    a_job_is_cancelled(lab)
    the_bill_is_told(lab)
    the_machine_is_stopped(lab)


def the_machine_is_told(lab: Lab) -> None:
    machine = lab.section("Machine")
    expect(machine).to_contain_text("CPU, small")
    expect(machine).to_contain_text("¥0.10/h")
    expect(machine).to_contain_text("No GPU on this machine. CPU and memory work as usual.")
    expect(machine.get_by_role("meter", name="RAM")).to_have_attribute(
        "aria-valuetext", re.compile(r"RAM .* GB")
    )


def disk_and_data_are_attached(lab: Lab) -> None:
    lab.notebook()
    lab.button("New disk", lab.panel).click()
    lab.dialog.get_by_label("Name").fill("papers")
    lab.button("Make disk", lab.dialog).click()
    expect(lab.dialog).to_have_count(0)
    lab.command("Open Disks")
    lab.button("Attach papers").click()
    row = lab.page.get_by_role("row", name=re.compile("papers"))
    expect(row).to_contain_text("From the next start or switch")
    lab.button("Browse", lab.panel).click()
    lab.page.get_by_role("searchbox", name=re.compile("Search")).fill("digits")
    lab.button("Attach digits").click()
    expect(lab.section("Datasets & models")).to_contain_text("Attached", timeout=SLOW_MS)
    lab.tab("Untitled.ipynb")
    assert "digits" in lab.run("import os; os.listdir(os.path.expanduser('~/datasets'))")


def a_switch_keeps_the_page_the_kernel_and_its_variables(lab: Lab) -> None:
    lab.run("kept = {'answer': 41}; import os; pid = os.getpid()")
    lab.page.evaluate("window.neverReloaded = true")
    lab.button("Switch machine…", lab.panel).click()
    lab.dialog.get_by_role("radio", name=re.compile("Simulated chip simulated")).check()
    lab.button("Show plan", lab.dialog).click()
    expect(lab.dialog).to_contain_text("kept", timeout=SLOW_MS)
    expect(lab.dialog).to_contain_text("¥0.10 → ¥1.00/h")
    lab.confirm("Switch to Simulated chip")
    expect(lab.dialog.get_by_role("heading", name="Switching machine")).to_be_visible(timeout=SLOW_MS)
    lab.page.keyboard.press(
        "Escape"
    )  # what "Continue in background" does, or closing the report if it has ended
    expect(lab.dialog).to_have_count(0)
    meanwhile = lab.type_cell("kept['answer'] + 1, os.getpid() != pid, os.environ['GEARSHIFT_MACHINE']")
    assert lab.output(meanwhile) == "(42, True, 'sim-1')"
    expect(lab.section("Machine")).to_contain_text("¥1.00/h")
    expect(lab.section("Disks")).to_contain_text("papers")
    assert "papers" in lab.run("os.listdir(os.path.expanduser('~/disks'))")
    assert lab.page.evaluate("window.neverReloaded") is True
    lab.button("History", lab.panel).click()
    lab.button("Report", lab.dialog).first.click()
    expect(lab.dialog).to_contain_text("You are on Simulated chip.")
    expect(lab.dialog.locator(".gs-facts")).to_contain_text(re.compile(r"Cost of this switch\s*< ¥0.01"))
    lab.page.keyboard.press("Escape")


def a_job_runs_to_its_end(lab: Lab) -> None:
    at = lab.type_cell(TRAIN)
    widget = lab.job(at)
    widget.get_by_role("button", name="Start job…").click(timeout=SLOW_MS)
    lab.confirm("Start job")
    expect(widget).to_contain_text("Finished", timeout=SLOW_MS)
    expect(widget).to_contain_text("2 of 2 ranks ended with code 0")
    expect(widget.locator(".gs-log")).to_contain_text("rank 0 of 2: step 5")
    widget.get_by_role("radio", name=re.compile("Rank 1")).click()
    expect(widget.locator(".gs-log")).to_contain_text("rank 1 of 2: step 5")
    expect(widget.get_by_role("img", name=re.compile("^loss"))).to_be_visible()
    lefts = widget.locator("dl dt").evaluate_all(
        "all => [...new Set(all.map(one => one.getBoundingClientRect().x))]"
    )
    assert len(lefts) == 1, "each fact begins a row of its own"
    assert lab.run("job").startswith("drive"), "the variable knows what was confirmed in the dialog"
    expect(lab.section("Jobs")).to_contain_text("drive")


def a_job_is_cancelled(lab: Lab) -> None:
    at = lab.type_cell(ENDLESS)
    widget = lab.job(at)
    widget.get_by_role("button", name="Start job…").click(timeout=SLOW_MS)
    lab.confirm("Start job")
    expect(widget.locator(".gs-log")).to_contain_text("here", timeout=SLOW_MS)
    now = re.compile(r"Use\s*[\d.]+ of [\d.]+ cores\s*Memory\s*[\d.]+ / [\d.]+ GB")
    expect(widget.locator(".gs-facts")).to_contain_text(now, timeout=SLOW_MS)
    widget.get_by_role("button", name="Cancel…").click()
    lab.confirm("Cancel job")
    expect(widget.locator("header")).to_contain_text("Cancelled", timeout=SLOW_MS)


def the_bill_is_told(lab: Lab) -> None:
    lab.button("Open cost", lab.panel).click()
    today = lab.page.get_by_role("region", name="Today")
    for line in ("Workspace drive", "Job drive", "Job endless"):
        expect(today).to_contain_text(line)
    expect(lab.page.get_by_role("region", name="Ledger")).to_contain_text(re.compile(r"Intact: \d+ entries"))


def the_machine_is_stopped(lab: Lab) -> None:
    lab.button("Stop…", lab.panel).click()
    expect(lab.dialog).to_contain_text("The kernel is saved first and the file is kept for 7 days.")
    lab.confirm("Stop")
    expect(lab.section("Machine")).to_contain_text("Stopped", timeout=SLOW_MS)
    expect(lab.section("Machine").get_by_role("link", name="Start…")).to_have_attribute(
        "href", re.compile(r"/services/gearshift/$")
    )
