"""Before a machine stops by itself the page says so, one press keeps it, and the end of a cell decides what comes then."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from gearshift.model.units import from_iso
from gearshift_testing.browsing import SLOW_MS, Surfer, Visit
from gearshift_testing.driving import Driver, until
from gearshift_testing.running import Running
from playwright.sync_api import expect

IDLE_S = 62
"""A minute of warning, so that nobody has to hurry: it comes two seconds after the last touch."""
WAITS = "import pathlib, time\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.1)"


@pytest.fixture
def ivy(visit_team: Visit, team: Running) -> Surfer:
    ivy = visit_team("ivy")
    team.account("ivy")
    driver = Driver(team, "ivy")
    driver.start("desk")
    assert driver.call("DELETE", "workspaces/ivy/desk/idle").is_success
    ivy.sign_in()
    return ivy


def test_a_warning_is_shown_and_one_press_keeps_the_machine(ivy: Surfer, team: Running) -> None:
    driver = Driver(team, "ivy")
    lab = ivy.lab("desk")
    machine = lab.section("Machine")
    policy = {"action": "stop", "after_hours": IDLE_S / 3600}
    assert driver.call("PUT", "workspaces/ivy/desk/idle", policy).is_success
    toast = lab.page.locator(".Toastify__toast", has_text="Nothing runs and nobody works here: stops at")
    expect(toast).to_contain_text("Kernel state is saved first.", timeout=SLOW_MS)
    expect(machine).to_contain_text(re.compile(r"Stops in \d+ s\. Kernel state is saved first\."))
    toast.get_by_role("button", name="Keep 1 h more").click()
    expect(toast).to_have_count(0, timeout=SLOW_MS)
    expect(machine).to_contain_text(re.compile(r"Stops in (1 h|[56]\d min)"), timeout=SLOW_MS)
    kept = driver.get("workspaces/ivy/desk/idle")
    assert from_iso(kept["keep_until"]) > datetime.now(UTC) + timedelta(minutes=55)
    assert driver.workspace("desk")["state"] == "ready"


def test_what_a_cells_end_brings_is_chosen_and_called_off_by_the_keyboard(ivy: Surfer, team: Running) -> None:
    driver = Driver(team, "ivy")
    lab = ivy.lab("desk")
    lab.notebook()
    lab.type_cell(WAITS)
    machine = lab.section("Machine")
    lab.command("When This Cell Ends: Stop")
    expect(machine).to_contain_text("When what runs has ended: stops.", timeout=SLOW_MS)
    lab.command("Idle Time and End of Work")
    dialog = lab.dialog
    expect(dialog).to_contain_text("Everything is announced")
    expect(dialog.get_by_role("radio", name="Stop; kernel state is saved first").first).to_be_checked()
    lab.page.keyboard.press("ArrowUp")
    expect(dialog.get_by_role("radio", name="Keep the machine")).to_be_checked()
    lab.page.keyboard.press("Enter")
    expect(dialog).to_have_count(0, timeout=SLOW_MS)
    until(lambda: driver.get("workspaces/ivy/desk/idle")["end"] is None, 60, "the end of work is called off")
    expect(machine).not_to_contain_text("When what runs has ended", timeout=SLOW_MS)
