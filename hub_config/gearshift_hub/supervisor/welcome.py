"""What is printed once everything answers: the address, and how to sign in."""

from __future__ import annotations

import os

from gearshift_hub.hub.control import ControlLink
from gearshift_hub.supervisor.preflight import Ready

FIRST_ADMIN = "admin"


async def welcome(ready: Ready) -> list[str]:
    """The lines; at the first start there is nobody yet, so the first admin is made."""
    url = ready.ports.url
    lines = ["", f"Gearshift is ready: {url}"]
    control = ControlLink(ready.home)
    if not await control.accounts():
        code = await control.add_account(FIRST_ADMIN, admin=True)
        lines += [
            f"First sign-in: {url}hub/activate",
            f"  name {FIRST_ADMIN}, one-time code {code}",
        ]
    else:
        lines += [
            f"Sign in: {url}hub/login",
            "  people: `gearshift user ls`, a new one: `gearshift user add NAME`",
        ]
    return [*lines, *_cautions(ready), "Ctrl-C stops everything.", ""]


def _cautions(ready: Ready) -> list[str]:
    cautions = []
    if os.geteuid() != 0 and not ready.deployment.site.trusted_users:
        cautions.append(
            "Not root: all processes share one user, so this is for one person (`gearshift doctor`)."
        )
    if ready.ports.host not in ("127.0.0.1", "localhost", "::1"):
        cautions.append("Other computers can reach this address without encryption: put TLS in front of it.")
    return cautions
