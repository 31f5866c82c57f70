"""Signing in: the one-time code, the form, both languages, and where one lands."""

from __future__ import annotations

import httpx
import pytest
from gearshift import signin
from gearshift.model.errors import GearshiftError
from gearshift_testing.driving import until
from gearshift_testing.running import PASSWORD, Running


def browser(running: Running, language: str = "en") -> httpx.Client:
    return httpx.Client(base_url=running.url, headers={"Accept-Language": language}, timeout=30)


def test_the_first_sign_in_turns_a_code_into_a_password_and_lands_on_our_page(running: Running) -> None:
    name, code = running.invite("nora")
    with browser(running) as page:
        page.get("hub/activate")
        form = {"username": name, "code": code, "password": PASSWORD, "repeat": PASSWORD}
        answer = page.post("hub/activate", data={**form, "_xsrf": page.cookies["_xsrf"]})
        assert answer.status_code == 302
        assert answer.headers["location"] == "/services/gearshift/"
    assert signin.sign_in(running.url, name, PASSWORD)


def test_nobody_makes_an_account_by_themselves(running: Running) -> None:
    with browser(running) as page:
        form = page.get("hub/login").text
        assert "signup" not in form
        assert page.get("hub/signup").status_code == 404
        sent = {"username": "nobody-knows-me", "password": PASSWORD, "_xsrf": page.cookies["_xsrf"]}
        assert page.post("hub/login", data=sent).status_code in (401, 403)
        made = {**sent, "code": "AAAA-BBBB-CCCC-DDDD", "repeat": PASSWORD}
        assert page.post("hub/activate", data=made).status_code in (401, 403, 422)
    known = {row["name"] for row in running.internal("GET", "accounts")}
    assert "nobody-knows-me" not in known


def test_a_code_works_once(running: Running) -> None:
    name, code = running.invite("once")
    signin.activate(running.url, name, code, PASSWORD)
    with pytest.raises(GearshiftError) as refused:
        signin.activate(running.url, name, code, PASSWORD + "2")
    assert refused.value.code == "wrong_code"


def test_a_wrong_password_stays_on_the_form_and_says_so(running: Running) -> None:
    running.account("wim")
    with pytest.raises(GearshiftError) as refused:
        signin.sign_in(running.url, "wim", "not this one")
    assert refused.value.code == "wrong_sign_in"


def test_the_sign_in_page_speaks_chinese_and_keeps_the_name_after_a_mistake(running: Running) -> None:
    with browser(running, "zh-CN") as page:
        shown = page.get("hub/login")
        assert "<h1>登录</h1>" in shown.text
        assert 'lang="zh-CN"' in shown.text
        form = {"username": "nobody", "password": "x", "_xsrf": page.cookies["_xsrf"]}
        again = page.post("hub/login", data=form)
    assert 400 <= again.status_code < 500
    assert 'value="nobody"' in again.text
    assert 'role="alert"' in again.text


def test_a_form_without_its_token_is_refused(running: Running) -> None:
    with browser(running) as page:
        answer = page.post("hub/login", data={"username": "wim", "password": PASSWORD})
    assert answer.status_code == 403


def test_the_form_follows_what_browser_says_of_the_theme(running: Running) -> None:
    with browser(running) as page:
        assert 'data-theme="auto"' in page.get("hub/login").text
        page.cookies.set("gearshift-theme", "dark")
        assert 'data-jp-theme-light="false"' in page.get("hub/login").text


def test_the_home_of_the_hub_leads_to_our_page(running: Running) -> None:
    with browser(running) as page:
        page.get("hub/login")
        running.account("wim")
        form = {"username": "wim", "password": PASSWORD, "_xsrf": page.cookies["_xsrf"]}
        page.post("hub/login", data=form)
        for door in ("hub/home", "hub/", "hub/spawn"):
            assert page.get(door).headers["location"].startswith("/services/gearshift/"), door


def test_the_default_server_cannot_be_started(running: Running) -> None:
    token = running.sign_in("wim")
    answer = httpx.post(f"{running.url}hub/api/users/wim/server", headers={"Authorization": f"token {token}"})
    assert answer.status_code == 422


def test_a_person_cannot_move_servers_past_control(running: Running) -> None:
    headers = {"Authorization": f"token {running.sign_in('wim')}"}
    url = f"{running.url}hub/api/gearshift/workspaces/wim/one/start"
    assert httpx.post(url, json={"operation": "x"}, headers=headers).status_code == 403
    admin = {"Authorization": f"token {running.admin}"}
    assert httpx.post(url, json={"operation": "x"}, headers=admin).status_code == 403


def test_an_admin_holds_the_admin_scope_and_nobody_else(running: Running) -> None:
    def scopes(token: str) -> list[str]:
        found = httpx.get(f"{running.url}hub/api/user", headers={"Authorization": f"token {token}"})
        held: list[str] = found.json()["scopes"]
        return held

    assert "custom:gearshift:admin" in scopes(running.admin)
    assert "custom:gearshift:admin" not in scopes(running.sign_in("wim"))
    assert "custom:gearshift:spend" in scopes(running.sign_in("wim"))


def test_a_disabled_person_is_out_with_every_token(running: Running) -> None:
    name, code = running.invite("dora")
    signin.activate(running.url, name, code, PASSWORD)
    token = signin.sign_in(running.url, name, PASSWORD)
    running.internal("POST", f"accounts/{name}/disable")
    with pytest.raises(GearshiftError):
        signin.sign_in(running.url, name, PASSWORD)
    headers = {"Authorization": f"token {token}"}
    out = lambda: httpx.get(f"{running.url}hub/api/user", headers=headers).status_code == 403  # noqa: E731
    until(out, 30, "the token is refused")
    assert httpx.get(f"{running.api}/me", headers=headers).status_code == 401
