"""Routes about the caller and the catalog: who am I, what is there, what does it cost me."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends
from gearshift.model.admission import Limits
from gearshift.model.image import Image
from gearshift.model.record import Record

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.context import Context
from gearshift_hub.control.services import catalog, ledger
from gearshift_hub.control.services.catalog import Listed

router = APIRouter(tags=["me"])


class Me(Record):
    """The caller, with their money."""

    name: str
    kind: str
    admin: bool
    workspace: str | None
    can_propose: bool
    can_spend: bool
    balance_nano: int
    rate_per_hour_nano: int
    today_nano: int
    month_nano: int
    currency: str
    currency_symbol: str
    language: str
    time_zone: str
    site: str
    limits: Limits


class Catalog(Record):
    """Machines with what is free of them now, and images."""

    machines: list[Listed]
    images: list[Image]
    currency: str
    currency_symbol: str


@router.get("/me")
async def get_me(actor: Actor = Depends(may.read), ctx: Context = Depends(context)) -> Me:
    """Who is calling."""
    site = ctx.deployment.site
    return Me(
        name=actor.name,
        kind=actor.kind,
        admin=actor.admin,
        workspace=actor.workspace,
        can_propose=actor.has("propose"),
        can_spend=actor.has("spend"),
        **_money(ctx, actor.name),
        currency=site.currency,
        currency_symbol=site.currency_symbol,
        language=site.language,
        time_zone=site.time_zone,
        site=site.name,
        limits=ctx.deployment.limits,
    )


@router.get("/catalog")
async def get_catalog(
    workspace: str | None = None, actor: Actor = Depends(may.read), ctx: Context = Depends(context)
) -> Catalog:
    """What there is; with `workspace` also what a switch of it would change."""
    return Catalog(
        machines=catalog.listed(ctx, actor, workspace),
        images=list(ctx.deployment.images),
        currency=ctx.deployment.site.currency,
        currency_symbol=ctx.deployment.site.currency_symbol,
    )


def _money(ctx: Context, name: str) -> dict[str, Any]:
    with ctx.db.transaction() as session:
        return {
            "balance_nano": ledger.balance(session, name, ctx.clock.now()),
            "rate_per_hour_nano": ledger.rate(session, name),
            "today_nano": ledger.spent_since(ctx, session, name, ledger.today_begins(ctx)),
            "month_nano": ledger.spent_since(ctx, session, name, ledger.month_begins(ctx)),
        }
