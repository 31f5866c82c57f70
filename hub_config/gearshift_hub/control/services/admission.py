"""The world that an admission looks at, read from the database in one transaction; the judgement is the model's."""

from __future__ import annotations

from gearshift.model.admission import Admission, Request, World, admit
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.lease import Lease, Purpose
from gearshift.model.workspace import Mode, WorkspaceSpec, WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.accounts import AccountRow
from gearshift_hub.control.services import images, job_line, leases, ledger, workspaces


def world(
    ctx: Context, session: Session, user: str, *, without: str | None = None, workspace: str | None = None
) -> World:
    """Everything of this instant. `without` leaves out the leases of one workspace, which is about to give them back;
    what the waitlist holds for `workspace` is room for it."""
    account = session.get(AccountRow, user)
    if account is None or account.deleted_at is not None:
        raise fail("unknown_user", field="user", value=user)
    if account.disabled:
        raise fail("disabled_user", field="user", value=user)
    held = leases.all_leases(session)
    return World(
        machines=ctx.deployment.machines,
        images=ctx.deployment.images,
        datasets=frozenset(ctx.deployment.datasets.enabled),
        limits=ctx.deployment.limits,
        currency_symbol=ctx.deployment.site.currency_symbol,
        pools=leases.pools(ctx),
        leases=tuple(lease for lease in held if not _passed_over(lease, without, workspace)),
        workspaces_of_user=_holding(session, user),
        jobs_of_user=tuple({lease.job for lease in held if lease.owner == user and lease.job}),
        balance_nano=ledger.balance(session, user, ctx.clock.now()),
        memberships=memberships(ctx, session, user),
        known_disks=frozenset(disk for known in ctx.hooks.known_disks for disk in known(session)),
    )


def memberships(ctx: Context, session: Session, user: str) -> dict[str, Mode]:
    """Each disk that this person may use, with the mode they have."""
    return {disk: Mode(mode) for ask in ctx.hooks.memberships for disk, mode in ask(session, user).items()}


def admit_workspace(
    ctx: Context,
    session: Session,
    owner: str,
    name: str,
    spec: WorkspaceSpec,
    *,
    replacing: Lease | None = None,
    keep_memory: bool = False,
    restarting: bool = False,
) -> Admission:
    """May this workspace run on this machine now? `restarting`: what it holds is given back before it starts."""
    images.check(ctx, spec.image)
    workspace = f"{owner}/{name}"
    request = Request.of(
        owner,
        spec,
        purpose=Purpose.SWITCH if replacing else Purpose.WORKSPACE,
        workspace=workspace,
        replacing=replacing,
        keep_memory=keep_memory,
    )
    now = world(ctx, session, owner, without=workspace if restarting else None, workspace=workspace)
    try:
        return admit(request, now)
    except GearshiftError as error:
        if error.code != "sold_out":
            raise
        facts = {**error.facts, "position": job_line.joining_at(ctx, session, spec.machine)}
        raise fail(error.code, error.field, error.value, error.allowed, **facts) from error


def _passed_over(lease: Lease, without: str | None, workspace: str | None) -> bool:
    if without is not None and lease.workspace == without:
        return True
    return workspace is not None and lease.purpose is Purpose.WAITLIST and lease.workspace == workspace


def _holding(session: Session, user: str) -> tuple[str, ...]:
    rows = workspaces.listed(session, user)
    return tuple(row.id for row in rows if WorkspaceState(row.state).holds_machine)
