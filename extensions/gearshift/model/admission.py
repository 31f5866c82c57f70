"""May this start? One pure function of the request and the world: limits, money, membership, allow-lists, capacity.

Nothing is remembered between two requests, so an earlier failure cannot colour a later start (case C06).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from gearshift.model.errors import fail
from gearshift.model.image import Image
from gearshift.model.image_rules import check_image
from gearshift.model.job import JobSpec
from gearshift.model.lease import Ask, Grant, Lease, Pool, Purpose, availability, grant
from gearshift.model.machine import Amount, Machine, Plan
from gearshift.model.record import Record
from gearshift.model.units import HOUR_US, cost_nano, format_money
from gearshift.model.workspace import DiskMount, Mode, WorkspaceSpec


class Limits(Record):
    """What one person may have at once, and how large a job may be."""

    workspaces_per_user: int = 5
    jobs_per_user: int = 4
    job_nodes: int = 4
    job_procs: int = 4


class Request(Record):
    """Who wants what; `workspace` is `owner/name`."""

    user: str
    machine: str
    image: str
    plan: str = Plan.ON_DEMAND
    disks: tuple[DiskMount, ...] = ()
    datasets: tuple[str, ...] = ()
    count: int = 1
    procs: int = 1
    purpose: Purpose = Purpose.WORKSPACE
    workspace: str | None = None
    replacing: Lease | None = None
    keep_memory: bool = False
    budget_nano: int | None = None
    expected_us: Annotated[int, Field(ge=0)] | None = None

    @classmethod
    def of(cls, user: str, spec: WorkspaceSpec | JobSpec, **rest: Any) -> Request:
        """What a workspace or a job names of machine, image, plan, disks and data sets; `rest` are the other fields."""
        return cls(
            user=user,
            machine=spec.machine,
            image=spec.image,
            plan=spec.plan,
            disks=spec.disks,
            datasets=spec.datasets,
            **rest,
        )


class World(Record):
    """All that an admission looks at. `memberships` maps each disk of the user to the mode they have;
    `workspaces_of_user` are those that hold a machine now, `jobs_of_user` those not ended."""

    machines: tuple[Machine, ...]
    images: tuple[Image, ...]
    datasets: frozenset[str] = frozenset()
    limits: Limits = Limits()
    currency_symbol: str = "¥"
    pools: tuple[Pool, ...]
    leases: tuple[Lease, ...] = ()
    workspaces_of_user: tuple[str, ...] = ()
    jobs_of_user: tuple[str, ...] = ()
    balance_nano: int = 0
    memberships: Mapping[str, Mode] = Field(default_factory=dict)
    known_disks: frozenset[str] = frozenset()
    queue: tuple[str, ...] = ()

    def machine(self, name: str) -> Machine | None:
        return next((machine for machine in self.machines if machine.id == name), None)


class Admission(Record):
    """What was let in: the amount of one node, the price of all of it, a grant per node."""

    machine: Machine
    amount: Amount
    price_per_hour_nano: int
    grants: tuple[Grant, ...]


class Checked(Record):
    """A request that could be let in as soon as there is room."""

    machine: Machine
    price_per_hour_nano: int


def admit(request: Request, world: World) -> Admission:
    """Let it in, with a grant for each node, or raise the one reason why not."""
    checked = check(request, world)
    ask = Ask(
        machine=checked.machine,
        count=request.count,
        replacing=request.replacing,
        keep_memory=request.keep_memory,
    )
    grants = grant(
        ask,
        world.pools,
        world.leases,
        position=len(world.queue) + 1,
        others=_others(checked.machine, request.image, world),
    )
    return Admission(
        machine=checked.machine,
        amount=checked.machine.amount,
        price_per_hour_nano=checked.price_per_hour_nano,
        grants=grants,
    )


def check(request: Request, world: World) -> Checked:
    """All but the question whether there is room now: what a job must pass before it waits in the queue."""
    machine = _machine(request, world)
    check_image(request.image, machine, world.images, world.pools)
    _disks(request, world)
    _datasets(request, world)
    _size(request, machine, world)
    _limits(request, world)
    price = machine.prices_per_hour_nano[Plan(request.plan)] * request.count
    _money(request, machine, price, world)
    return Checked(machine=machine, price_per_hour_nano=price)


def _machine(request: Request, world: World) -> Machine:
    machine = world.machine(request.machine)
    if machine is None:
        allowed = [known.id for known in world.machines]
        raise fail("unknown_machine", field="machine", value=request.machine, allowed=allowed)
    plans = [str(plan) for plan in machine.prices_per_hour_nano]
    if request.plan not in plans:
        raise fail("unknown_plan", field="plan", value=request.plan, allowed=plans, machine=machine.id)
    return machine


def _disks(request: Request, world: World) -> None:
    allowed = sorted(world.memberships)
    for mount in request.disks:
        have = world.memberships.get(mount.disk)
        if have is None:
            code = "disk_not_yours" if mount.disk in world.known_disks else "unknown_disk"
            raise fail(code, field="disks", value=mount.disk, allowed=allowed)
        if not have.allows(mount.mode):
            raise fail(
                "disk_readonly", field="disks", value=mount.disk, allowed=[Mode.RO.value], disk=mount.disk
            )


def _datasets(request: Request, world: World) -> None:
    for dataset in request.datasets:
        if dataset not in world.datasets:
            allowed = sorted(world.datasets)
            raise fail("unknown_dataset", field="datasets", value=dataset, allowed=allowed)


def _size(request: Request, machine: Machine, world: World) -> None:
    nodes = world.limits.job_nodes if request.purpose is Purpose.JOB else 1
    if not 1 <= request.count <= nodes:
        raise fail("bad_nodes", field="nodes", value=request.count, allowed=[f"1-{nodes}"])
    if not 1 <= request.procs <= world.limits.job_procs:
        raise fail("bad_nodes", field="procs", value=request.procs, allowed=[f"1-{world.limits.job_procs}"])
    total = availability(machine, world.pools, ()).total
    if request.purpose is Purpose.JOB and request.count > total:
        allowed = [f"1-{total}"] if total else []
        raise fail("bad_nodes", field="nodes", value=request.count, allowed=allowed, machine=machine.id)


def _limits(request: Request, world: World) -> None:
    if request.purpose is Purpose.SWITCH:
        return
    is_job = request.purpose is Purpose.JOB
    have = world.jobs_of_user if is_job else world.workspaces_of_user
    limit = world.limits.jobs_per_user if is_job else world.limits.workspaces_per_user
    used = len([name for name in have if name != request.workspace])
    if used >= limit:
        what, what_zh = ("jobs", "任务") if is_job else ("running workspaces", "运行中的工作区")
        raise fail(
            "limit_reached",
            field="user",
            value=request.user,
            used=used,
            limit=limit,
            what=what,
            what_zh=what_zh,
        )


def _money(request: Request, machine: Machine, price: int, world: World) -> None:
    def shown(nano: int) -> str:
        return format_money(nano, world.currency_symbol)

    if price > 0 and world.balance_nano <= 0:
        raise fail(
            "balance_low",
            field="machine",
            value=machine.id,
            machine=machine.id,
            amount=shown(world.balance_nano),
            price=shown(price),
            balance_nano=world.balance_nano,
            price_per_hour_nano=price,
        )
    if request.budget_nano is None:
        return
    estimate = cost_nano(price, request.expected_us if request.expected_us is not None else HOUR_US)
    if estimate > request.budget_nano:
        raise fail(
            "budget_over",
            field="budget_nano",
            value=request.budget_nano,
            amount=shown(estimate),
            left=shown(request.budget_nano),
            estimate_nano=estimate,
        )


def _others(machine: Machine, image: str, world: World) -> list[Machine]:
    """Machines that run the same image, those most like it in price first."""
    price = min(machine.prices_per_hour_nano.values())
    fitting = [other for other in world.machines if image in other.images and other.id != machine.id]
    return sorted(fitting, key=lambda other: abs(min(other.prices_per_hour_nano.values()) - price))
