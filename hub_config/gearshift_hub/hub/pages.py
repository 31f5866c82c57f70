"""The hub's own pages: sign in, first password, and the doors that lead on to our service's pages."""

from __future__ import annotations

from importlib import resources
from typing import Any

from gearshift.model.errors import GearshiftError
from jupyterhub.handlers.base import BaseHandler
from jupyterhub.handlers.login import LoginHandler
from jupyterhub.handlers.pages import RootHandler
from jupyterhub.utils import url_escape_path, url_path_join
from tornado.httputil import url_concat
from tornado.web import HTTPError, StaticFileHandler, authenticated

from gearshift_hub.control.return_paths import own_path
from gearshift_hub.hub import away
from gearshift_hub.hub.words import (
    LANGUAGE_COOKIE,
    THEME_COOKIE,
    Language,
    message,
    pick_language,
    pick_theme,
    words,
)

FORM_EXPIRED = "Login form invalid or expired. Try again."
"""JupyterHub's own sentence, told in the reader's language."""


class Speaking(BaseHandler):  # type: ignore[misc]
    """What each page of ours is rendered with: words, language, theme."""

    @property
    def language(self) -> Language:
        accepted = self.request.headers.get("Accept-Language", "")
        site = self.settings.get("gearshift_language", "en")
        return pick_language(self.get_cookie(LANGUAGE_COOKIE), accepted, site)

    @property
    def template_namespace(self) -> dict[str, Any]:
        return {
            **super().template_namespace,
            "t": words(self.language),
            "lang": self.language,
            "theme": pick_theme(self.get_cookie(THEME_COOKIE)),
            "service_url": service_url(self),
        }

    def _validate_next_url(self, next_url: str) -> str:
        return own_path(next_url, "")


class SignIn(Speaking, LoginHandler):  # type: ignore[misc]
    """Name and password; a refusal says why in the reader's language."""

    sign_in_error: GearshiftError | None = None

    async def post(self) -> None:
        user = await self.login_user(
            {name: self.get_body_argument(name, "") for name in ("username", "password")}
        )
        if user:
            self._jupyterhub_user = user
            self.redirect(self.get_next_url(user))
            return
        error = self.sign_in_error
        self.set_status(error.status if error else 403)
        said = message(error, self.language) if error else None
        self.finish(
            await self._render(login_error=said, username=self.get_body_argument("username", "")[:80])
        )

    def _render(self, login_error: str | None = None, username: str | None = None, **rest: Any) -> Any:
        here = self.get_argument("next", "")
        if login_error == FORM_EXPIRED:
            login_error = words(self.language)["expired"]
        return super()._render(
            login_error=login_error,
            username=username,
            form_action=_with_next(self.settings["login_url"], here),
            activate_url=_with_next(url_path_join(self.hub.base_url, "activate"), here),
            **rest,
        )


class Activate(Speaking):
    """The one-time code becomes a password. The code is typed, never part of an address."""

    sign_in_error: GearshiftError | None = None

    async def get(self) -> None:
        await self._show()

    async def post(self) -> None:
        name = self.authenticator.normalize_username(self.get_body_argument("username", ""))
        code = self.get_body_argument("code", "").strip()
        password = self.get_body_argument("password", "", strip=False)
        if password != self.get_body_argument("repeat", "", strip=False):
            await self._show(422, words(self.language)["unequal"], name)
            return
        try:
            await self.authenticator.control.activate(name, code, password)
        except GearshiftError as error:
            await self._show(error.status, message(error, self.language), name)
            return
        user = await self.login_user({"username": name, "password": password})
        self.redirect(self.get_next_url(user) if user else self.settings["login_url"])

    async def _show(self, status: int = 200, error: str | None = None, name: str = "") -> None:
        here = self.get_argument("next", "")
        self.set_status(status)
        html = await self.render_template(
            "activate.html",
            login_error=error,
            username=name[:80],
            xsrf=self.xsrf_token.decode("ascii"),
            form_action=_with_next(url_path_join(self.hub.base_url, "activate"), here),
            sign_in_url=_with_next(self.settings["login_url"], here),
        )
        self.finish(html)


class Root(Speaking, RootHandler):  # type: ignore[misc]
    """`/hub/`: on to sign-in or to our pages, never elsewhere."""


class PageFiles(StaticFileHandler):  # type: ignore[misc]
    """The files that our pages share with those of control."""

    def validate_absolute_path(self, root: str, absolute_path: str) -> str | None:
        if "\0" in absolute_path:
            raise HTTPError(404)
        found: str | None = super().validate_absolute_path(root, absolute_path)
        return found


class ToWorkspaces(BaseHandler):  # type: ignore[misc]
    """The hub's own home: our service's page shows the workspaces."""

    @authenticated  # type: ignore[untyped-decorator]
    async def get(self, *_: str) -> None:
        self.redirect(service_url(self))


class ToStart(BaseHandler):  # type: ignore[misc]
    """The hub's own spawn pages: starting is done on our start page."""

    @authenticated  # type: ignore[untyped-decorator]
    async def get(self, *_: str) -> None:
        self.redirect(url_path_join(service_url(self), "start"))


class ToWorkspace(BaseHandler):  # type: ignore[misc]
    """The hub's own progress page of one server: ours follows it."""

    @authenticated  # type: ignore[untyped-decorator]
    async def get(self, user: str, server: str) -> None:
        self.redirect(url_path_join(service_url(self), "workspaces", url_escape_path(user), server))


def handlers() -> list[tuple[Any, ...]]:
    """Routes below the hub's prefix."""
    static = str(resources.files("gearshift_hub.control").joinpath("pages/static"))
    return [
        (r"/", Root),
        (r"/login", SignIn),
        (r"/activate", Activate),
        (r"/home", ToWorkspaces),
        (r"/spawn", ToStart),
        (r"/spawn/[^/]+", ToStart),
        (r"/spawn/[^/]+/", ToStart),
        (r"/spawn/([^/]+)/([^/]+)", ToWorkspace),
        (r"/spawn-pending/([^/]+)/([^/]+)", ToWorkspace),
        (r"/gearshift-static/(.*)", PageFiles, {"path": static}),
        (rf"/{away.ROUTE}/.*", away.Away),
    ]


def service_url(handler: BaseHandler) -> str:
    """Where our service's pages are, below the deployment's base URL."""
    return str(url_path_join(handler.hub.base_url.removesuffix("hub/"), "services/gearshift/"))


def _with_next(url: str, address: str) -> str:
    return str(url_concat(url, {"next": address})) if address else url
