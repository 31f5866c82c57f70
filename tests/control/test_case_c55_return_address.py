"""Case C55: after signing in, a browser is only ever sent to a path of our own host."""

from __future__ import annotations

from urllib.parse import parse_qs, quote, urljoin, urlsplit

from gearshift_hub.control.return_paths import own_path
from gearshift_testing.controls import ON_SQLITE, Control
from hypothesis import given
from hypothesis import strategies as st

FOREIGN = [
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\/evil.example",
    "https:evil.example",
    "https:///evil.example",
    "%2f%2fevil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "javascript:1",
    "http://control@evil.example",
]


@ON_SQLITE
async def test_c55_no_return_address_leads_to_another_host(control: Control) -> None:
    await control.add_person("alice")
    sent = {address: await _sent_to(control, address) for address in FOREIGN}
    assert set(sent.values()) == {"/services/gearshift/"}, sent


@ON_SQLITE
async def test_c55_a_path_of_our_own_is_kept_as_it_is(control: Control) -> None:
    await control.add_person("alice")
    assert await _sent_to(control, "/hub/home?x=1#y") == "/hub/home?x=1#y"


@given(st.text(max_size=40))
def test_whatever_is_accepted_resolves_to_our_own_host(address: str) -> None:
    accepted = own_path(address, "/")
    as_browsers_do = accepted.replace("\\", "/").translate({9: None, 10: None, 13: None}).strip()
    assert urlsplit(urljoin("http://ours.example/x", as_browsers_do)).netloc == "ours.example"


async def _sent_to(control: Control, address: str) -> str:
    """Where a whole sign-in ends that began with this return address."""
    async with control.outside() as client:
        first = await client.get(f"/login?next={quote(address, safe='')}")
        assert first.status_code == 302
        state = parse_qs(urlsplit(first.headers["location"]).query)["state"][0]
        control.hub.codes["code-1"] = control.hub.give_token("oauth-token", "alice", [])
        back = await client.get(f"/oauth_callback?code=code-1&state={state}")
    assert back.status_code == 302, back.text
    return str(back.headers["location"])
