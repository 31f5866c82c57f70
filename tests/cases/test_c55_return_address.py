"""C55: after signing in one lands on a path of our own host, whatever the return address says."""

from __future__ import annotations

from urllib.parse import quote, urljoin, urlsplit

import httpx
import pytest
from gearshift_testing.running import PASSWORD, Running

FOREIGN = (
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\/evil.example",
    "https:evil.example",
    "https:///evil.example",
    "%2f%2fevil.example",
    "/\t/evil.example",
    "javascript:1",
    "{own}@evil.example",
)


def sign_in(running: Running, address: str) -> str:
    """The location that the sign-in answers with."""
    running.account("eve")
    with httpx.Client(base_url=running.url, timeout=30) as browser:
        page = f"hub/login?next={quote(address, safe='')}"
        browser.get(page)
        form = {"username": "eve", "password": PASSWORD, "_xsrf": browser.cookies["_xsrf"]}
        answer = browser.post(page, data=form)
    assert answer.status_code == 302
    return answer.headers["location"]


def as_a_browser_reads(location: str, base: str) -> str:
    """The host a browser goes to: it drops tabs and line ends and takes a backslash for a slash."""
    repaired = "".join(letter for letter in location if letter not in "\t\n\r").strip().replace("\\", "/")
    if repaired.startswith("//"):
        repaired = "//" + repaired.lstrip("/")
    return urlsplit(urljoin(base, repaired)).netloc


@pytest.mark.parametrize("address", FOREIGN)
def test_c55_signing_in_never_leads_to_another_host(running: Running, address: str) -> None:
    own = running.url.rstrip("/")
    location = sign_in(running, address.format(own=own))
    assert as_a_browser_reads(location, running.url) == urlsplit(running.url).netloc
    assert "evil.example" not in location


def test_c55_a_path_of_our_own_is_kept_as_it_is(running: Running) -> None:
    assert sign_in(running, "/hub/home?x=1#y") == "/hub/home?x=1#y"


@pytest.mark.parametrize("address", FOREIGN)
def test_c55_a_person_who_is_signed_in_is_not_sent_away_either(running: Running, address: str) -> None:
    running.account("eve")
    own = running.url.rstrip("/")
    with httpx.Client(base_url=running.url, timeout=30) as browser:
        browser.get("hub/login")
        form = {"username": "eve", "password": PASSWORD, "_xsrf": browser.cookies["_xsrf"]}
        browser.post("hub/login", data=form)
        for door in ("hub/login", "hub/", "hub/home"):
            answer = browser.get(f"{door}?next={quote(address.format(own=own), safe='')}")
            location = answer.headers["location"]
            assert as_a_browser_reads(location, running.url) == urlsplit(running.url).netloc, door
            assert urlsplit(location).netloc == ""
