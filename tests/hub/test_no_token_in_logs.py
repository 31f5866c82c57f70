"""After a life of sign-ins, presses, jobs, refusals and faults, no secret is in a log, a command line or an environment."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import pytest
from gearshift import signin
from gearshift.kernel import Kernel
from gearshift_hub.control import keys
from gearshift_testing import submitting
from gearshift_testing.driving import Driver
from gearshift_testing.evidence import home_of, server_token
from gearshift_testing.running import PASSWORD, Running

WHO, NAME = "lena-logs", "work"
MISTYPED = "mistyped-password-91c2"
OF_A_JOB = "key-of-a-service-77aa1"


@dataclass
class Secrets:
    """What must not be found, by what it is."""

    found: dict[str, str] = field(default_factory=dict)

    def add(self, what: str, value: str) -> str:
        assert len(value) >= 12, what
        self.found[what] = value
        return value

    def told_in(self, text: str) -> list[str]:
        return [what for what, value in self.found.items() if value in text]


@pytest.fixture(scope="module")
def secrets(running: Running) -> Iterator[Secrets]:
    """A life of one person, and all secrets that had a part in it."""
    made = Secrets()
    for what, value in vars(running.home.secrets()).items():
        made.add(what, value)
    _sign_in(running, made)
    driver = Driver(running, WHO)
    driver.start(NAME)
    made.add("server token", server_token(driver, NAME))
    made.add("state key", keys.state_key(running.home.secrets().state_secret, WHO))
    made.add("door key", keys.door_key(running.home.secrets().state_secret, WHO, NAME))
    _work(driver, made)
    _browse(driver, made)
    yield made
    driver.stop(NAME)


def _sign_in(running: Running, secrets: Secrets) -> None:
    code = running.internal("POST", "accounts", {"name": WHO})["code"]
    secrets.add("one-time code", code)
    secrets.add("password", PASSWORD)
    secrets.add("mistyped password", MISTYPED)
    signin.activate(running.url, WHO, code, PASSWORD)
    with httpx.Client(base_url=running.url) as browser:
        browser.get("hub/login")
        form = {"username": WHO, "password": MISTYPED, "_xsrf": browser.cookies["_xsrf"]}
        assert browser.post("hub/login", data=form).status_code == 401
    secrets.add("personal token", running.sign_in(WHO))


def _work(driver: Driver, secrets: Secrets) -> None:
    ticket = secrets.add("ticket", driver.post(f"workspaces/{WHO}/{NAME}/ticket")["ticket"])
    url = f"{driver.product.api}/events"
    with httpx.stream("GET", url, headers={"Authorization": f"Ticket {ticket}"}) as events:
        assert events.status_code == 200
    server, token = driver.product.server(WHO, NAME), driver.product.sign_in(WHO)
    with closing(Kernel(server, token)) as kernel:
        assert kernel.run("print(6 * 7)").text == "42\n"
    secrets.add("secret of a job", OF_A_JOB)
    submitting.ended(driver, submitting.submit(driver, "1", env={"API_KEY": OF_A_JOB}))
    for address in (f"{server}api/status", f"{server}nothing", f"{driver.product.url}hub/api/user"):
        httpx.get(address, params={"token": token})
    driver.call("POST", "plans", {"kind": "start", "name": token, "spec": {"image": token, "machine": token}})


def _browse(driver: Driver, secrets: Secrets) -> None:
    """In Lab and on our pages, up to a fault of the server that prints the request."""
    home = home_of(driver.product, WHO)
    (home / "closed.txt").symlink_to(driver.product.home.state / "secrets.json")
    with closing(driver.browser(NAME)) as browser:
        pages = browser.get(f"{driver.product.url}services/gearshift/disks")
        fault = browser.get(f"{driver.product.server(WHO, NAME)}api/contents/closed.txt")
        assert (pages.status_code, fault.status_code) == (200, 500)
        form_token = re.search(r'name="_xsrf" value="([0-9a-f]+)"', pages.text)
        secrets.add("token of a form", form_token[1] if form_token else "")
        for cookie in browser.cookies.jar:
            # the session's id opens nothing by itself; JupyterHub logs it
            if cookie.value and cookie.name != "jupyterhub-session-id":
                secrets.add(f"cookie {cookie.name} of {cookie.path}", cookie.value.strip('"'))


def test_no_secret_is_in_a_log(running: Running, secrets: Secrets) -> None:
    folders = (running.home.logs.rglob("*"), running.home.jobs.rglob("*.log"))
    logs = [path for found in folders for path in found if _is_a_log(path)]
    logs.append(running.output)
    assert {"hub.log", "control.log", "traefik.log", "forkserver.log"} <= {path.name for path in logs}
    told = {str(path): secrets.told_in(path.read_text(errors="replace")) for path in logs}
    assert {path: found for path, found in told.items() if found} == {}


def test_no_secret_is_on_a_command_line(running: Running, secrets: Secrets) -> None:
    for process in psutil.process_iter():
        words = " ".join(_ask(process, "cmdline"))
        assert secrets.told_in(words) == [], process


def test_no_secret_is_in_the_environment_of_our_own_processes(running: Running, secrets: Secrets) -> None:
    parts = [json.loads(path.read_text()) for path in running.home.run.glob("*.pid.json")]
    assert {part["part"] for part in parts} == {"control", "forkserver", "hub", "traefik"}
    for part in parts:
        environment = Path(f"/proc/{part['pid']}/environ").read_text(errors="replace")
        assert secrets.told_in(environment) == [], part["part"]


def test_no_secret_is_in_a_page_of_lab(running: Running, secrets: Secrets) -> None:
    """But the token of the page's own sign-in, which Lab itself puts there."""
    with closing(Driver(running, WHO).browser(NAME)) as browser:
        page = browser.get(f"{running.server(WHO, NAME)}lab").text
    hidden = {what for what in secrets.told_in(page) if not what.startswith("cookie")}
    assert hidden == set()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: another uid")
def test_logs_and_state_are_closed_to_everybody_else(running: Running) -> None:
    for folder in (running.home.logs, running.home.state):
        assert folder.stat().st_mode & 0o777 == 0o700
    for path in running.home.root.rglob("*"):
        status = path.lstat()
        private = path.is_relative_to(running.home.logs) or path.is_relative_to(running.home.state)
        if private and path.is_file() and not path.is_symlink():
            assert status.st_mode & 0o077 == 0, path


def _is_a_log(path: Path) -> bool:
    """Not a link: people put them where their jobs' logs were (C53), and root would read through them."""
    return path.is_file() and not path.is_symlink()


def _ask(process: psutil.Process, what: str) -> list[str]:
    try:
        found: list[str] = getattr(process, what)()
    except psutil.Error:
        return []
    return found
