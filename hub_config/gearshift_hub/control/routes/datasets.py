"""Routes of data sets and models: search, attach at once, detach."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Query
from gearshift.model.dataset import DatasetStatus
from gearshift.model.record import Input

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.context import Context
from gearshift_hub.control.services import datasets

router = APIRouter(tags=["datasets"])


class AttachDataset(Input):
    """A data set or model by id."""

    dataset: str


@router.get("/datasets")
async def search_datasets(
    q: str = Query("", max_length=200),
    workspace: str | None = None,
    actor: Actor = Depends(may.read),
    ctx: Context = Depends(context),
) -> list[DatasetStatus]:
    """What is offered and holds every word of `q`; states are those for `workspace`, or for the caller's own."""
    return datasets.search(ctx, actor, q, workspace)


@router.get("/datasets/{dataset}")
async def get_dataset(
    dataset: str,
    workspace: str | None = None,
    actor: Actor = Depends(may.read),
    ctx: Context = Depends(context),
) -> DatasetStatus:
    """One card with its state."""
    return datasets.one(ctx, actor, dataset, workspace)


@router.post("/workspaces/{owner}/{name}/datasets")
async def attach_dataset(
    owner: str,
    name: str,
    asked: AttachDataset,
    actor: Actor = Depends(may.propose),
    ctx: Context = Depends(context),
) -> DatasetStatus:
    """Attach at once, also while the workspace runs; `preparing` when the files take longer than two seconds."""
    return await datasets.attach(ctx, actor, f"{owner}/{name}", asked.dataset)


@router.delete("/workspaces/{owner}/{name}/datasets/{dataset}")
async def detach_dataset(
    owner: str, name: str, dataset: str, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> DatasetStatus:
    """Take the link away; the files stay in the store."""
    return datasets.detach(ctx, actor, f"{owner}/{name}", dataset)
