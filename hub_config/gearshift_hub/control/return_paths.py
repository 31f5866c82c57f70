"""Where a browser may be sent after signing in: a path of our own host, read as browsers read it (case C55)."""

from __future__ import annotations

from urllib.parse import urlsplit


def own_path(address: str, fallback: str) -> str:
    """The address if it is a path of our own host, else the fallback.

    Browsers drop tabs and line ends, take a backslash for a slash, and read two leading slashes as a host:
    an address that uses any of these is not repaired but refused.
    """
    if not address.startswith("/") or address[1:2] in ("/", "\\"):
        return fallback
    if "\\" in address or any(ord(sign) <= 32 or ord(sign) == 127 for sign in address):
        return fallback
    try:
        parts = urlsplit(address)
    except ValueError:
        return fallback
    return fallback if parts.scheme or parts.netloc else address
