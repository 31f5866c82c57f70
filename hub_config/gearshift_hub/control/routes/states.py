"""Routes of kept kernel states: list them, take a snapshot; bringing one back and deleting one go through plans."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Depends
from gearshift.model.kept_state import KeptState
from gearshift.model.operation import Operation
from gearshift.model.record import Input

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import snapshots
from gearshift_hub.control.services import states, workspaces

router = APIRouter(tags=["states"])


class NewSnapshot(Input):
    """`busy`: wait for the end of a running cell, or leave that kernel out."""

    note: str = ""
    busy: Literal["wait", "leave"] = "wait"


@router.get("/states")
async def list_states(actor: Actor = Depends(may.read), ctx: Context = Depends(context)) -> list[KeptState]:
    """The caller's kept kernel states of all workspaces, the newest first."""
    with ctx.db.transaction() as session:
        return states.listed(session, actor.name)


@router.get("/workspaces/{owner}/{name}/states")
async def list_states_of_workspace(
    owner: str, name: str, actor: Actor = Depends(may.read), ctx: Context = Depends(context)
) -> list[KeptState]:
    """Those of one workspace: of its stops, of its switches, and the snapshots that were asked for."""
    actor.check_owner(owner)
    with ctx.db.transaction() as session:
        workspaces.get(session, owner, name)
        return states.listed(session, owner, name)


@router.post("/workspaces/{owner}/{name}/states", status_code=202)
async def take_snapshot(
    owner: str,
    name: str,
    asked: NewSnapshot,
    actor: Actor = Depends(may.propose),
    ctx: Context = Depends(context),
) -> Operation:
    """Save the variables of all kernels, which go on; free, and kept as long as the deployment says."""
    actor.check_owner(owner)
    return await snapshots.take(ctx, actor, owner, name, note=asked.note, busy_way=asked.busy)
