"""The one table of scopes, roles and who holds them; everything else reads it from here."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

READ: Final = "custom:gearshift:read"
PROPOSE: Final = "custom:gearshift:propose"
SPEND: Final = "custom:gearshift:spend"
ADMIN: Final = "custom:gearshift:admin"
HUB: Final = "custom:gearshift:hub"

SCOPES: Final = MappingProxyType(
    {
        READ: "See your workspaces, disks, data sets, jobs and costs.",
        PROPOSE: "Prepare something that spends; it waits until you press.",
        SPEND: "Start and switch machines and jobs without a press, within the caps sent along.",
        ADMIN: "See and manage everybody's workspaces, jobs and ledger entries.",
        HUB: "Hold, start, stop and release servers for an operation of control; no person has it.",
    }
)
"""Scope -> what it lets its holder do, as the hub's consent page says it."""

SERVICE: Final = "gearshift"
OAUTH_CLIENT: Final = "service-gearshift"
ADMIN_GROUP: Final = "gearshift-admins"
ADMIN_ROLE: Final = "gearshift-admin"
CONTROL_ROLE: Final = "gearshift-control"

EVERYBODY: Final = (READ, PROPOSE, SPEND, f"access:services!service={SERVICE}")
"""What each person holds on top of JupyterHub's own `self`."""

BROWSER: Final = (READ, PROPOSE, SPEND, ADMIN)
"""What a signed-in page may do as its person; bounded by what the person holds."""

SERVER: Final = (
    "users:activity!user",
    "access:servers!server",
    "read:users:name!user",
    READ,
    PROPOSE,
)
"""What the token inside a workspace holds: code in a kernel can propose, it cannot spend."""

CONTROL: Final = (
    HUB,
    "admin:users",  # an account of control becomes a user of the hub, and goes with it
)
"""What control's own token holds."""


def custom_scopes() -> dict[str, dict[str, str]]:
    """As JupyterHub wants them declared."""
    return {scope: {"description": sentence} for scope, sentence in SCOPES.items()}


def roles() -> list[dict[str, Any]]:
    """Roles beside JupyterHub's own: control's token, and what admins hold more than others."""
    return [
        {
            "name": CONTROL_ROLE,
            "description": "The control service",
            "scopes": list(CONTROL),
            "services": [SERVICE],
        },
        {
            "name": ADMIN_ROLE,
            "description": "Admins of this deployment",
            "scopes": [ADMIN],
            "groups": [ADMIN_GROUP],
        },
    ]
