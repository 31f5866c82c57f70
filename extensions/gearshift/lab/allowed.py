"""What of control's API a page may reach through this server, and how its path is read."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from gearshift.model.errors import fail

ANY = "*"
ALLOWED: tuple[tuple[str, str], ...] = (
    ("GET", "me"),
    ("GET", "catalog"),
    ("GET", "workspaces"),
    ("GET", "workspaces/*/*"),
    ("GET", "workspaces/*/*/switch-times"),
    ("GET", "workspaces/*/*/cost"),
    ("GET", "workspaces/*/*/idle"),
    ("PUT", "workspaces/*/*/idle"),
    ("DELETE", "workspaces/*/*/idle"),
    ("POST", "workspaces/*/*/idle/keep"),
    ("PUT", "workspaces/*/*/idle/end"),
    ("POST", "workspaces/*/*/disks"),
    ("DELETE", "workspaces/*/*/disks/*"),
    ("POST", "workspaces/*/*/datasets"),
    ("DELETE", "workspaces/*/*/datasets/*"),
    ("GET", "states"),
    ("GET", "workspaces/*/*/states"),
    ("GET", "workspaces/*/*/notices"),
    ("POST", "workspaces/*/*/states"),
    ("POST", "plans"),
    ("POST", "plans/*/confirm"),
    ("GET", "operations"),
    ("GET", "operations/*"),
    ("POST", "operations/*/cancel"),
    ("GET", "ledger"),
    ("GET", "ledger/verify"),
    ("GET", "costs/today"),
    ("GET", "disks"),
    ("POST", "disks"),
    ("GET", "disks/*"),
    ("PATCH", "disks/*"),
    ("POST", "disks/*/restore"),
    ("PUT", "disks/*/members/*"),
    ("GET", "datasets"),
    ("GET", "datasets/*"),
    ("GET", "waitlist"),
    ("GET", "waitlist/outlook"),
    ("GET", "waitlist/*"),
    ("POST", "waitlist"),
    ("POST", "waitlist/*/keep"),
    ("DELETE", "waitlist/*"),
    ("GET", "jobs"),
    ("GET", "jobs/*"),
    ("GET", "jobs/*/logs"),
    ("GET", "jobs/*/metrics"),
    ("GET", "jobs/*/result"),
    ("POST", "jobs/bundles"),
)
METHODS = tuple(sorted({method for method, _ in ALLOWED}))
_ROWS = tuple((method, tuple(pattern.split("/"))) for method, pattern in ALLOWED)
_BAD = re.compile(r"[\x00-\x1f\x7f\\/%]")


def upstream_path(method: str, raw: str) -> str:
    """The path below control's API for a path as it came over the wire; `bad_path` or `not_found` for any other.

    Compared part by part after decoding once; what would need decoding twice, or leaves a folder, is refused.
    """
    parts = tuple(unquote(part) for part in raw.split("/"))
    if any(part in ("", ".", "..") or _BAD.search(part) for part in parts):
        raise fail("bad_path", field="path", value=raw, root="the API")
    if not any(method == known and _matches(parts, pattern) for known, pattern in _ROWS):
        raise fail("not_found", field="path", value=f"{method} {raw}")
    return "/".join(quote(part, safe="@~") for part in parts)


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    return len(parts) == len(pattern) and all(
        want in (ANY, part) for part, want in zip(parts, pattern, strict=True)
    )
