"""What the parts write to their logs: no secret, no token, no code, no password; and no traceback."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from gearshift import signin
from gearshift_testing.driving import Driver
from gearshift_testing.evidence import server_token
from gearshift_testing.running import PASSWORD, Running

SESSION = "jupyterhub-session-id"
"""The cookie that is no credential, only a name."""
PARTS = ("hub", "control", "traefik", "forkserver")


def logs(running: Running) -> dict[str, str]:
    found = {part: (running.home.logs / f"{part}.log").read_text(errors="replace") for part in PARTS}
    servers = running.home.logs / "workspaces"
    return found | {file.name: file.read_text(errors="replace") for file in servers.glob("*.log")}


def test_no_log_holds_a_secret(person: Callable[[str], Driver], running: Running) -> None:
    name, code = running.invite("lou")
    signin.activate(running.url, name, code, PASSWORD)
    lou = person(name)
    lou.start("work")
    page = lou.browser("work")
    signed_in = {cookie.name: cookie.value for cookie in page.cookies.jar if cookie.name != SESSION}
    assert {"jupyterhub-hub-login", f"jupyterhub-user-{name}-work"} <= signed_in.keys()
    page.close()
    secrets = vars(running.home.secrets()).values()
    own = (code, PASSWORD, running.sign_in(name), running.admin, server_token(lou, "work"))
    lou.stop("work")
    for log, text in logs(running).items():
        for secret in (*secrets, *own, *signed_in.values()):
            assert secret is not None
            assert secret not in text, log


def test_the_hub_logs_no_traceback_in_ordinary_use(person: Callable[[str], Driver], running: Running) -> None:
    before = len(logs(running)["hub"])
    lou = person("lou")
    lou.start("work")
    lou.switch("work", "sim-1")
    lou.stop("work")
    assert httpx.get(f"{running.url}hub/login").status_code == 200
    assert "Traceback" not in logs(running)["hub"][before:]
