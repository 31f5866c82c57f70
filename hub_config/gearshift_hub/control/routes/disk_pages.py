"""The page of disks: what there is, a new one, and sharing; plain forms."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from gearshift.model.disk import Disk, Mode
from gearshift.model.errors import GearshiftError, fail

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.pages import start_view
from gearshift_hub.control.pages.answers import PageRoute, known, sent
from gearshift_hub.control.pages.figures import Voice
from gearshift_hub.control.pages.frame import render, voice
from gearshift_hub.control.services import disk_records, disks

router = APIRouter(route_class=PageRoute)

GB = 1_000_000_000


@router.get("/disks")
async def disk_list(request: Request, actor: Actor = Depends(may.page)) -> Response:
    """All disks that this person may use."""
    known(request, actor)
    return _page(request, actor)


@router.post("/disks")
async def make_disk(request: Request, actor: Actor = Depends(may.page)) -> Response:
    """A new disk; a fault stays beside its field."""
    known(request, actor)
    ctx, given = context(request), await sent(request)
    kept = {"name": str(given.get("name", "")).strip(), "size_gb": str(given.get("size_gb", "")).strip()}
    try:
        await disks.create(ctx, actor, kept["name"], _size(kept["size_gb"]))
    except GearshiftError as error:
        return _page(request, actor, error, kept)
    return RedirectResponse(f"{ctx.prefix}/disks", status_code=303)


@router.post("/disks/share")
async def share_disk(request: Request, actor: Actor = Depends(may.page)) -> Response:
    """Give somebody a disk."""
    known(request, actor)
    ctx, given = context(request), await sent(request)
    kept = {key: str(given.get(key, "")).strip() for key in ("disk", "user", "mode")}
    try:
        if kept["mode"] not in list(Mode):
            raise fail("bad_request", field="mode", value=kept["mode"], allowed=list(Mode), problem="unknown")
        await disks.share(ctx, actor, kept["disk"], kept["user"], Mode(kept["mode"]))
    except GearshiftError as error:
        return _page(request, actor, error, kept)
    return RedirectResponse(f"{ctx.prefix}/disks", status_code=303)


def _size(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise fail(
            "bad_request", field="quota_bytes", value=text, allowed=["1, 2, 3 …"], problem="not a number"
        )
    return int(text) * GB


def _page(
    request: Request, actor: Actor, error: GearshiftError | None = None, kept: dict[str, str] | None = None
) -> Response:
    ctx, v = context(request), voice(request)
    found = disks.listed(ctx, actor.name)
    default = {
        "name": "",
        "size_gb": str(ctx.deployment.disks.default_quota_bytes // GB),
        "user": "",
        "disk": "",
        "mode": "ro",
    }
    faults: dict[str, str | None] = dict.fromkeys(("name", "quota_bytes", "user"))
    message = v.error(error) if error else None
    if error and error.field in faults:
        faults, message = {**faults, str(error.field): message}, None
    return render(
        request,
        "disks.html",
        actor=actor,
        here="disks",
        status=error.status if error else 200,
        rows=[_row(disk, actor, v) for disk in found],
        owned=[disk for disk in found if disk.owner == actor.name and disk.id != disk_records.HOME],
        form=default | (kept or {}),
        faults=faults,
        fault_message=message,
    )


def _row(disk: Disk, actor: Actor, v: Voice) -> dict[str, Any]:
    return {
        "name": disk.name,
        "path": disk.path_hint,
        "owner": disk.owner,
        "mine": disk.owner == actor.name,
        "mode": v.say(f"start.{disk.mode_for_me}") if disk.mode_for_me else v.say("start.unknown"),
        "members": [{"user": m.user, "mode": v.say(f"start.{m.mode}")} for m in disk.members],
        **start_view.disk_figures(disk, v),
    }
