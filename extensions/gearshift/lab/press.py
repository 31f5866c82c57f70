"""Tells a press in the page from a call by code: kernels hold tokens, only a browser holds the session.

JupyterLab sends its session's token in a header as well as in the cookie, so the header decides nothing; the cookie
alone must be good. A cookie made from a token (`?token=` in an address) belongs to no sign-in and does not count.
"""

from __future__ import annotations

import hmac
import os
from typing import Any

from jupyter_core.utils import ensure_async

HEADER = "X-Gearshift-Press"
WITHOUT_HUB = "1"


async def proof_of_press(handler: Any) -> str | None:
    """For a request that says so, comes from this origin and carries a browser session with its XSRF token: the token
    of that session, by which control believes it. The server's own token would prove nothing: kernels hold it too.
    """
    if handler.request.headers.get(HEADER) != "1":
        return None
    if handler.request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        return None
    return await _session_token(handler) if _xsrf_is_right(handler) else None


def _xsrf_is_right(handler: Any) -> bool:
    """The hub's token is bound to the session; without a hub, header and cookie must say the same."""
    sent = handler.request.headers.get("X-XSRFToken", "").encode()
    under_hub = getattr(handler.identity_provider, "hub_auth", None) is not None
    expected = handler.xsrf_token if under_hub else (handler.get_cookie("_xsrf") or "").encode()
    return bool(sent) and hmac.compare_digest(sent, expected)


async def _session_token(handler: Any) -> str | None:
    provider = handler.identity_provider
    hub = getattr(provider, "hub_auth", None)
    if hub is None:
        return WITHOUT_HUB if await ensure_async(provider.get_user_cookie(handler)) is not None else None
    token: str | None = hub._get_token_cookie(
        handler
    )  # jupyterhub 6.1 has no public way to read the cookie alone
    if not token or hmac.compare_digest(token, os.environ.get("JUPYTERHUB_API_TOKEN", "")):
        return None
    session = hub.get_session_id(handler)
    user = await ensure_async(hub.user_for_token(token, session_id=session, sync=False))
    return token if user and user.get("session_id") else None
