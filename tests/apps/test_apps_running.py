"""Apps from one click, on the running product: chosen on the start page, used in a browser below the workspace's address."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest
from gearshift_hub.images.catalog import Catalog
from gearshift_testing.app_uses import USES
from gearshift_testing.browsing import SLOW_MS, Surfer
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running
from playwright.sync_api import Page, expect

MAKING_MS = 180_000
"""Its packages come over the network."""
IN_TURN = 3
"""Apps of one run; which, the number of commits says. GEARSHIFT_ALL_APPS=1 takes all."""
NOBODY = 65534
KNOCK = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)"


def in_turn() -> list[str]:
    """The apps of this run."""
    names = sorted(USES)
    if os.environ.get("GEARSHIFT_ALL_APPS"):
        return names
    count = ["git", "rev-list", "--count", "HEAD"]
    done = subprocess.run(count, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    first = int(done.stdout or 0) * IN_TURN
    return sorted({names[(first + place) % len(names)] for place in range(IN_TURN)})


def started(surfer: Surfer, name: str, title: str) -> Page:
    """Choose the app on the start page and press; its page opens by itself."""
    page = surfer.sign_in()
    page.goto(f"{surfer.product.url}services/gearshift/start")
    page.get_by_role("textbox", name="Name", exact=True).fill(name)
    page.get_by_role("radio", name=re.compile(f"^{re.escape(title)}")).check()
    page.get_by_role("radio", name=re.compile("CPU, large")).check()
    page.get_by_role("button", name=re.compile(r"^Start · ")).click()
    page.wait_for_url(re.compile(f"/user/{surfer.user}/{name}/app/"), timeout=MAKING_MS)
    return page


def process_of(command: str) -> psutil.Process:
    """The one process with this in its command line."""
    found = [
        one for one in psutil.process_iter(["cmdline"]) if command in " ".join(one.info["cmdline"] or ())
    ]
    assert len(found) == 1, found
    return found[0]


def test_an_app_is_there_for_its_owner_alone_and_one_that_ended_says_its_last_lines(
    shop: Running, surfer: Surfer
) -> None:
    page = started(surfer, "marimo", "marimo")
    expect(page.get_by_text("Create a new notebook").first).to_be_visible(timeout=SLOW_MS)
    address = f"{shop.server(surfer.user, 'marimo')}app/"

    assert httpx.get(f"{address}health").status_code in (302, 403)
    shop.account("stranger")
    other = httpx.get(f"{address}health", headers={"Authorization": f"token {shop.sign_in('stranger')}"})
    assert other.status_code in (302, 403)

    for path in ("proxy/1/", "proxy/absolute/1/", "server-proxy/servers-info"):
        assert page.request.get(f"{shop.server(surfer.user, 'marimo')}{path}").status == 404

    command = f"--base-url /user/{surfer.user}/marimo/app"
    app = process_of(command)
    port = app.net_connections(kind="tcp4")[0].laddr.port
    knock = subprocess.run(
        [sys.executable, "-c", KNOCK, str(port)], user=NOBODY, capture_output=True, text=True, check=False
    )
    assert "ConnectionRefusedError" in knock.stderr

    app.kill()
    app.wait(10)
    page.goto(address)
    expect(page.get_by_role("heading", name="marimo has ended")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("It ended with status -9. These are its last lines.")
    expect(page.locator("pre")).to_contain_text(f"/user/{surfer.user}/marimo/app")
    page.get_by_role("button", name="Start it again").click()
    expect(page.get_by_text("Create a new notebook").first).to_be_visible(timeout=SLOW_MS)


def test_a_switch_takes_the_app_to_the_other_machine_and_using_it_is_use(
    shop: Running, surfer: Surfer
) -> None:
    page = started(surfer, "datasette", "Datasette")
    page.get_by_role("link", name="data", exact=True).wait_for()
    driver = Driver(shop, surfer.user)
    key = {"Authorization": f"token {shop.sign_in(surfer.user)}"}
    activity = httpx.get(f"{shop.server(surfer.user, 'datasette')}gearshift/activity", headers=key)
    assert activity.json()["used_at"] is not None
    before = process_of(f"/user/{surfer.user}/datasette/app")
    driver.switch("datasette", "cpu-small")
    assert before.is_running(), "only its limits changed"
    driver.switch("datasette", "sim-1")
    page.goto(f"{shop.server(surfer.user, 'datasette')}app/")
    page.get_by_role("link", name="data", exact=True).wait_for()
    after = process_of(f"/user/{surfer.user}/datasette/app")
    assert after.pid != before.pid
    assert not before.is_running()
    driver.stop("datasette")
    assert not after.is_running()


@pytest.mark.parametrize("id", in_turn())
def test_an_app_is_started_by_one_press_and_used(shop: Running, surfer: Surfer, id: str) -> None:
    page = started(surfer, f"{id}-used", Catalog().apps[id].title.en)
    USES[id](page)
