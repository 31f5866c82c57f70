"""Leases: taken, exchanged and given back; every change tells what is free now."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from gearshift.model.lease import Grant, Lease, Pool, Purpose, availability
from gearshift.model.machine import Amount
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.leases import LeaseRow


def pools(ctx: Context) -> tuple[Pool, ...]:
    """What there is: declared capacity together with the cards that were found."""
    return tuple(ctx.backend.box.pools())


def all_leases(session: Session) -> tuple[Lease, ...]:
    return tuple(
        _lease(row) for row in session.scalars(select(LeaseRow).order_by(LeaseRow.created_at, LeaseRow.id))
    )


def of_workspace(session: Session, workspace: str, purpose: Purpose | None = None) -> list[Lease]:
    query = select(LeaseRow).where(LeaseRow.workspace == workspace)
    if purpose is not None:
        query = query.where(LeaseRow.purpose == purpose)
    return [_lease(row) for row in session.scalars(query)]


def of_operation(session: Session, operation: str) -> list[Lease]:
    return [_lease(row) for row in session.scalars(select(LeaseRow).where(LeaseRow.operation == operation))]


def take(
    ctx: Context,
    session: Session,
    grant: Grant,
    *,
    owner: str,
    purpose: Purpose,
    workspace: str | None = None,
    job: str | None = None,
    operation: str | None = None,
    expires_at: datetime | None = None,
    whole: bool = False,
) -> Lease:
    """Hold what was granted: the reservation, or with `whole` all that the machine has in the end."""
    amount = grant.amount if whole else grant.reserve
    row = LeaseRow(
        id=f"ls-{secrets.token_hex(8)}",
        pool=grant.pool,
        machine=grant.machine,
        amount=amount.model_dump(mode="json"),
        device_ids=list(grant.device_ids if whole else grant.reserve_device_ids),
        owner=owner,
        purpose=purpose,
        workspace=workspace,
        job=job,
        operation=operation,
        expires_at=expires_at,
        created_at=ctx.clock.now(),
    )
    session.add(row)
    session.flush()
    tell(ctx, session)
    return _lease(row)


def give_back(
    ctx: Context,
    session: Session,
    *,
    workspace: str | None = None,
    job: str | None = None,
    operation: str | None = None,
    lease: str | None = None,
) -> int:
    """Free all that is held by this workspace, job, operation or lease; giving back nothing is success."""
    wanted: list[ColumnElement[bool]] = []
    for column, value in (
        (LeaseRow.workspace, workspace),
        (LeaseRow.job, job),
        (LeaseRow.operation, operation),
        (LeaseRow.id, lease),
    ):
        if value is not None:
            wanted.append(column == value)
    assert wanted, "say whose leases"
    rows = session.scalars(select(LeaseRow).where(*wanted)).all()
    for row in rows:
        session.delete(row)
    session.flush()
    if rows:
        tell(ctx, session)
        for ring in ctx.hooks.room:
            ring()
    return len(rows)


def expired(session: Session, now: datetime) -> list[Lease]:
    query = select(LeaseRow).where(LeaseRow.expires_at.is_not(None), LeaseRow.expires_at <= now)
    return [_lease(row) for row in session.scalars(query)]


def tell(ctx: Context, session: Session) -> None:
    """How many of each machine are free now, for every page that shows it."""
    ctx.events.add(session, "inventory", {"machines": inventory(ctx, session)})


def inventory(ctx: Context, session: Session) -> dict[str, dict[str, int]]:
    """Machine id -> free and total."""
    held, have = all_leases(session), pools(ctx)
    found = (availability(machine, have, held) for machine in ctx.deployment.machines)
    return {one.machine: {"free": one.free, "total": one.total} for one in found}


def _lease(row: LeaseRow) -> Lease:
    values: dict[str, Any] = {name: getattr(row, name) for name in Lease.model_fields}
    return Lease(**{**values, "amount": Amount(**row.amount), "device_ids": tuple(row.device_ids)})
