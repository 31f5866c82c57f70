"""The frame around each page: language, theme, navigation, templates, and the headers that keep scripts out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gearshift_hub.control.auth import Actor, context, xsrf
from gearshift_hub.control.context import Context
from gearshift_hub.control.pages import static_files
from gearshift_hub.control.pages.figures import Voice
from gearshift_hub.control.pages.words import LANGUAGES, Language, preferred, words

HERE = Path(__file__).parent

Theme = Literal["light", "dark", "auto"]
LANGUAGE_COOKIE, THEME_COOKIE = "gearshift-language", "gearshift-theme"
COOKIE_AGE_S = 365 * 24 * 3600

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def voice(request: Request) -> Voice:
    """The language of this request: query, cookie, browser, site."""
    return Voice(words(_language(request)), context(request).deployment)


def render(
    request: Request,
    template: str,
    *,
    actor: Actor | None = None,
    here: str = "",
    status: int = 200,
    page_data: Mapping[str, Any] | None = None,
    **view: Any,
) -> HTMLResponse:
    """A whole page; `page_data` is what its script may read, `here` the navigation entry it belongs to."""
    speaking = voice(request)
    html = (
        _templates()
        .get_template(template)
        .render(
            v=speaking,
            say=speaking.say,
            frame=_frame(request, speaking, actor, here),
            xsrf=xsrf(request),
            page_data=json_block(page_data) if page_data is not None else None,
            **view,
        )
    )
    answer = HTMLResponse(
        html, status_code=status, headers={**HEADERS, "Content-Language": speaking.words.tag}
    )
    _remember(request, answer)
    return answer


def stream(ctx: Context, workspace: str | None = None) -> dict[str, Any]:
    """Where a page's script follows events, from the one on that was the last before the page was drawn.

    To be called before the page's figures are read: nothing falls between the two.
    """
    query = f"?{urlencode({'workspace': workspace})}" if workspace else ""
    return {"events": f"{ctx.prefix}/api/v1/events{query}", "after": ctx.events.last_id()}


def json_block(data: Mapping[str, Any]) -> Markup:
    """JSON that cannot end its script element."""
    text = json.dumps(data, ensure_ascii=False).replace("&", "\\u0026")
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e"))  # noqa: S704 - escaped above


def _frame(request: Request, speaking: Voice, actor: Actor | None, here: str) -> dict[str, Any]:
    ctx, theme = context(request), _theme(request)
    other: Language = "en" if speaking.words.language == "zh" else "zh"
    return {
        "prefix": ctx.prefix,
        "static": f"{ctx.prefix}/static/{static_files.version()}",
        "hub": f"{ctx.base_url}hub",
        "site": ctx.deployment.site.name,
        "here": here,
        "user": actor.name if actor else None,
        "admin": bool(actor and actor.admin),
        "theme": theme,
        "light": theme != "dark",
        "other": words(other),
        "to_other": _with(request, lang=other),
        "to_dark": _with(request, theme="dark"),
        "to_light": _with(request, theme="light"),
    }


def _with(request: Request, **changes: str) -> str:
    """This page's address with a query changed; a form's answer leads to the page itself."""
    kept = {k: v for k, v in request.query_params.multi_items() if k not in changes}
    return f"?{urlencode({**kept, **changes})}"


def _language(request: Request) -> Language:
    default = context(request).deployment.site.language
    for asked in (request.query_params.get("lang"), request.cookies.get(LANGUAGE_COOKIE)):
        for language in LANGUAGES:
            if asked in (language, words(language).tag):
                return language
    return preferred(request.headers.get("Accept-Language", ""), default)


def _theme(request: Request) -> Theme:
    for asked in (request.query_params.get("theme"), request.cookies.get(THEME_COOKIE)):
        if asked in ("light", "dark", "auto"):
            return asked  # type: ignore[return-value]  # mypy does not narrow a str by `in`
    return "auto"


def _remember(request: Request, answer: HTMLResponse) -> None:
    """A choice made in the header holds for the pages after it, the hub's own included."""
    path = context(request).base_url
    if "lang" in request.query_params:
        tag = words(_language(request)).tag
        answer.set_cookie(LANGUAGE_COOKIE, tag, COOKIE_AGE_S, path=path, samesite="lax")
    if "theme" in request.query_params:
        answer.set_cookie(THEME_COOKIE, _theme(request), COOKIE_AGE_S, path=path, samesite="lax")


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
