"""What the hub answers in control's place while that is down: the proxy leads its requests here (see `proxy`).

Anybody may see it, nothing is read or changed: a page in the frame of the others that asks again by itself, or the
error `control_unavailable` for a program.
"""

from __future__ import annotations

import json

from gearshift.model.errors import fail
from tornado.web import RequestHandler

from gearshift_hub.hub.words import LANGUAGE_COOKIE, THEME_COOKIE, message, pick_language, pick_theme, words

ROUTE = "gearshift-away"
AGAIN_S = 3


class Away(RequestHandler):  # type: ignore[misc]
    """Every method of every path that is control's."""

    def check_xsrf_cookie(self) -> None:
        """Nothing is changed here, and no cookie is set."""

    async def prepare(self) -> None:
        self.set_status(503)
        self.set_header("Retry-After", str(AGAIN_S))
        self.set_header("Cache-Control", "no-store")
        if self._wants_page():
            self.finish(await self._page())
        else:
            self.set_header("Content-Type", "application/json")
            self.finish(json.dumps(fail("control_unavailable").body()))

    def _wants_page(self) -> bool:
        """A browser that goes somewhere; what a script or a program asks for gets JSON."""
        is_api = "/services/gearshift/api/" in self.request.path
        return not is_api and "text/html" in self.request.headers.get("Accept", "")

    async def _page(self) -> str:
        settings = self.settings
        language = pick_language(
            self.get_cookie(LANGUAGE_COOKIE),
            self.request.headers.get("Accept-Language", ""),
            settings.get("gearshift_language", "en"),
        )
        template = settings["jinja2_env"].get_template("away.html")
        page: str = await template.render_async(
            t=words(language),
            lang=language,
            theme=pick_theme(self.get_cookie(THEME_COOKIE)),
            site_name=settings["template_vars"]["site_name"],
            base_url=settings["hub"].base_url,
            static_url=self.static_url,
            sentence=message(fail("control_unavailable"), language),
            again_s=AGAIN_S,
            reloads=self.request.method == "GET",
            user=None,
        )
        return page
