"""Signing in without a browser: the steps a person takes on the sign-in page, ending in a personal token."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import httpx

from gearshift.model.errors import fail, from_body

PATIENCE_S = 30.0


def sign_in(
    url: str,
    name: str,
    password: str,
    scopes: Sequence[str] | None = None,
    note: str = "",
    transport: httpx.BaseTransport | None = None,
) -> str:
    """A personal hub token of this person; without scopes it may do what they may.

    Raises `wrong_sign_in` where the page stays on the form.
    """
    with _browser(url, transport) as browser:
        _submit(browser, "login", {"username": name, "password": password}, refused="wrong_sign_in")
        return _token(browser, name, scopes, note)


def activate(
    url: str, name: str, code: str, password: str, transport: httpx.BaseTransport | None = None
) -> None:
    """Set the first password with the one-time code; raises `wrong_code`."""
    with _browser(url, transport) as browser:
        form = {"username": name, "code": code, "password": password, "repeat": password}
        _submit(browser, "activate", form, refused="wrong_code")


def _browser(url: str, transport: httpx.BaseTransport | None) -> httpx.Client:
    base = url.rstrip("/") + "/hub/"
    return httpx.Client(base_url=base, timeout=PATIENCE_S, transport=transport)


def _submit(browser: httpx.Client, page: str, form: dict[str, str], refused: str) -> None:
    """Get the page for its cookie, send the form with the token of that cookie."""
    browser.get(page).raise_for_status()
    answer = browser.post(page, data={**form, "_xsrf": _xsrf(browser)})
    if answer.status_code != httpx.codes.FOUND:
        raise fail(refused)


def _token(browser: httpx.Client, name: str, scopes: Sequence[str] | None, note: str) -> str:
    browser.get("token").raise_for_status()
    body: dict[str, object] = {"note": note or "gearshift sign_in"}
    if scopes is not None:
        body["scopes"] = list(scopes)
    answer = browser.post(
        f"api/users/{quote(name, safe='')}/tokens", json=body, headers={"X-XSRFToken": _xsrf(browser)}
    )
    if answer.is_error:
        raise from_body(answer.json(), answer.status_code)
    return str(answer.json()["token"])


def _xsrf(browser: httpx.Client) -> str:
    """The newest: signing in replaces the cookie of the visitor by that of the person."""
    found = [cookie.value for cookie in browser.cookies.jar if cookie.name == "_xsrf"]
    return found[-1] or "" if found else ""
