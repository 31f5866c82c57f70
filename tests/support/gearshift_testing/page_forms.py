"""Pages without a script: their fields, what a person reads on them, and forms as a browser sends them."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

import httpx

from gearshift_testing.controls import Browser


class Inputs(HTMLParser):
    """The fields of a page: name -> values that would be sent."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sent: dict[str, list[str]] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        field = dict(attrs)
        if tag != "input" or not field.get("name") or "disabled" in field:
            return
        if field.get("type") in ("radio", "checkbox") and "checked" not in field:
            return
        self.sent.setdefault(str(field["name"]), []).append(field.get("value") or "")


def read(page: httpx.Response) -> str:
    """What a person reads."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.text)).split())


async def press(browser: Browser, path: str, **fields: Any) -> httpx.Response:
    """Send a form with the page's token in it."""
    return await browser.request("POST", path, data={"_xsrf": browser.xsrf, **fields})


async def press_start(browser: Browser, **changes: Any) -> httpx.Response:
    """Fill the start form as it is drawn, change some fields, press Start."""
    page = await browser.request("GET", "/start")
    fields = Inputs(page.text).sent
    shown = {"cpu-small": 100_000_000, "gpu-1": 1_000_000_000, "gpu-4": 4_000_000_000}
    machine = changes.get("machine", "cpu-small")
    wanted: dict[str, Any] = {
        "name": "work",
        "image": fields["image"][0],
        "machine": machine,
        "seen_price": str(shown.get(machine, 0)),
        **changes,
    }
    return await press(browser, "/start", **wanted)
