"""The start form: what is offered, what is chosen, what it costs; and reading it back as it was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from gearshift.model.idle import IdleAction
from gearshift.model.machine import Machine, Plan
from gearshift.model.units import format_bytes
from gearshift.model.workspace import DiskMount, Mode, WorkspaceSpec
from sqlalchemy.orm import Session
from starlette.datastructures import FormData, QueryParams

from gearshift_hub.control.context import Context
from gearshift_hub.control.operations.bringing_back import FRESH
from gearshift_hub.control.pages import image_cards, workspace_view
from gearshift_hub.control.pages.figures import Voice
from gearshift_hub.control.services import datasets, disk_care, disk_records, leases, ledger, workspaces

BASE_NAME = "workspace"
SAFE = "safe"
"""The choice of kernels that brings none back, and leaves away what the person installed."""


@dataclass(frozen=True)
class Choice:
    """What stands in the form."""

    name: str = ""
    image: str = ""
    machine: str = ""
    disks: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    seen_price: int | None = None
    editing: str | None = None
    """The workspace that is started anew with these choices; None for a new one."""
    state: str = ""
    """Which kept kernel state comes back; nothing said means the newest, `SAFE` none and no package of theirs."""

    def over(self, other: Choice) -> Choice:
        """These choices, and the other's where none was made."""
        mine = {name: value for name in ("name", "image", "machine") if (value := getattr(self, name))}
        if mine:
            mine |= {"disks": self.disks, "datasets": self.datasets}
        return replace(other, **mine)

    def pairs(self) -> list[tuple[str, str]]:
        """As form fields, without machine and price: what a refusal keeps."""
        fixed = [("name", self.name), ("image", self.image)]
        editing = [("editing", self.editing)] if self.editing else []
        editing += [("state", self.state)] if self.state else []
        many = [("disk", disk) for disk in self.disks] + [("dataset", name) for name in self.datasets]
        return [*fixed, *editing, *many]

    @property
    def kernels(self) -> dict[str, Any]:
        """As the plan of a start asks for them."""
        if self.state == SAFE:
            return {"state": FRESH, "safe": True}
        return {"state": self.state} if self.state else {}

    def spec(self, ctx: Context, session: Session, user: str) -> WorkspaceSpec:
        """The spec it stands for; raises `unknown_disk` for a disk that is not the person's."""
        mounts = []
        for key in self.disks:
            row = disk_records.find(session, user, key)
            mounts.append(DiskMount(disk=row.id, mode=disk_records.mode_of(session, row, user) or Mode.RO))
        return WorkspaceSpec(
            image=self.image, machine=self.machine, disks=tuple(mounts), datasets=self.datasets
        )


def read(sent: FormData | QueryParams) -> Choice:
    """What a form or a query string says; nothing is judged here."""

    def one(name: str) -> str:
        return str(sent.get(name) or "").strip()

    def many(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(str(value) for value in sent.getlist(name) if value != disk_records.HOME))

    price = one("seen_price")
    return Choice(
        name=one("name"),
        image=one("image"),
        machine=one("machine"),
        disks=many("disk")[:64],
        datasets=many("dataset")[:256],
        seen_price=int(price) if price.isascii() and price.isdigit() else None,
        editing=one("editing") or one("from") or None,
        state=one("state"),
    )


def of_spec(name: str, spec: WorkspaceSpec, editing: str | None = None, state: str = "") -> Choice:
    disks = tuple(mount.disk for mount in spec.disks)
    return Choice(
        name=name,
        image=spec.image,
        machine=spec.machine,
        disks=disks,
        datasets=spec.datasets,
        editing=editing,
        state=state,
    )


def suggested(ctx: Context, session: Session, user: str) -> Choice:
    """What the form begins with: the last workspace's choice under a new name, else the first image's first machine."""
    rows = workspaces.listed(session, user)
    name = free_name({row.name for row in rows})
    if rows:
        last = max(rows, key=lambda row: row.since)
        return fitted(ctx, session, replace(of_spec(name, workspaces.spec_of(last)), editing=None))
    return fitted(ctx, session, Choice(name=name))


def free_name(taken: set[str]) -> str:
    if BASE_NAME not in taken:
        return BASE_NAME
    return next(f"{BASE_NAME}-{n}" for n in range(2, len(taken) + 3) if f"{BASE_NAME}-{n}" not in taken)


def fitted(ctx: Context, session: Session, choice: Choice) -> Choice:
    """The same with an image and a machine that exist and fit each other, where none were named or they are gone."""
    images = image_cards.startable(ctx)
    image = choice.image if choice.image in images else next(iter(images), "")
    free = leases.inventory(ctx, session)
    fitting = [machine.id for machine in ctx.deployment.machines if image in machine.images]
    open_now = [name for name in fitting if free[name]["free"]]
    machine = choice.machine if choice.machine in fitting else next(iter(open_now or fitting), "")
    return replace(choice, image=image, machine=machine)


def price(ctx: Context, choice: Choice) -> int:
    """What an hour of the chosen machine costs; disks and data sets cost nothing."""
    machine = ctx.deployment.machine(choice.machine)
    return machine.prices_per_hour_nano.get(Plan.ON_DEMAND, 0) if machine else 0


def view(ctx: Context, session: Session, user: str, choice: Choice, v: Voice) -> dict[str, Any]:
    """Everything the template draws."""
    free, balance = leases.inventory(ctx, session), ledger.balance(session, user, ctx.clock.now())
    expected = workspace_view.expected_s(session)
    return {
        "form": _form(ctx, choice, balance, v),
        "images": image_cards.cards(ctx, choice.image, expected, v),
        "groups": _groups(ctx, choice, free, v),
        "disks": _disks(ctx, session, user, choice, v),
        "datasets": _datasets(ctx, choice, v),
        "balance": v.money(balance),
        "zero": v.money(0),
        "idle": _idle(ctx, v),
        "now": v.clock(ctx.clock.now()),
        "expected": expected,
        "page_data": _script(ctx, balance, free, v),
    }


def _idle(ctx: Context, v: Voice) -> str | None:
    """What becomes of it when nobody uses it, unless its owner says otherwise."""
    idle = ctx.deployment.idle
    if not idle.after_hours or idle.action is IdleAction.KEEP:
        return None
    hours = f"{idle.after_hours:g}"
    if idle.action is IdleAction.DROP:
        return v.say("start.idle_drop", hours=hours)
    return v.say("start.idle", hours=hours)


def _form(ctx: Context, choice: Choice, balance: int, v: Voice) -> dict[str, Any]:
    machine, nano = ctx.deployment.machine(choice.machine), price(ctx, choice)
    return {
        "name": choice.name,
        "editing": choice.editing,
        "state": choice.state,
        "price_nano": nano,
        "machine_title": v.text(machine.title) if machine else v.say("start.unknown"),
        "machine_size": _line(machine, v) if machine else "",
        "machine_price": v.per_hour(nano),
        "total": v.money(nano),
        "lasts": v.lasts(balance, nano),
        "button": v.say("start.button", price=v.money(nano)),
        "note": None,
    }


def _groups(
    ctx: Context, choice: Choice, free: Mapping[str, Mapping[str, int]], v: Voice
) -> list[dict[str, Any]]:
    """Machines that run the chosen image, then those that need another."""
    same = [m for m in ctx.deployment.machines if choice.image in m.images]
    other = [m for m in ctx.deployment.machines if choice.image not in m.images]
    return [
        {
            "other": is_other,
            "machines": [machine_row(machine, free[machine.id], choice, v) for machine in machines],
        }
        for is_other, machines in ((False, same), (True, other))
        if machines
    ]


def machine_row(machine: Machine, there: Mapping[str, int], choice: Choice, v: Voice) -> dict[str, Any]:
    """One machine with its inventory and price."""
    nano = machine.prices_per_hour_nano.get(Plan.ON_DEMAND, 0)
    return {
        "id": machine.id,
        "wait": f"wait?{urlencode([*choice.pairs(), ('machine', machine.id)])}",
        "title": v.text(machine.title),
        "simulated": machine.simulated,
        "size": v.say("start.size", cpus=f"{machine.cpus:g}", memory=format_bytes(machine.memory_bytes)),
        "free": there["free"],
        "total": there["total"],
        "percent": round(100 * there["free"] / there["total"]) if there["total"] else 0,
        "words": v.say("start.free", free=there["free"], total=there["total"]),
        "good_for": v.text(machine.good_for),
        "price": v.money(nano),
        "price_nano": nano,
        "checked": machine.id == choice.machine,
    }


def _disks(ctx: Context, session: Session, user: str, choice: Choice, v: Voice) -> list[dict[str, Any]]:
    home = disk_records.home_of(ctx, session, user)
    rows = [
        {
            "id": home.id,
            "name": v.say("start.home"),
            "mode": v.say("start.home_mode"),
            "checked": True,
            "fixed": True,
            **disk_figures(home, v),
        }
    ]
    for row in disk_records.usable(session, user):
        disk = disk_records.shown(session, row, user)
        mode = v.say(f"start.{disk.mode_for_me}")
        words = mode if disk.owner == user else v.say("start.shared_by", mode=mode, owner=disk.owner)
        checked = disk.id in choice.disks or disk.name in choice.disks
        rows.append(
            {
                "id": disk.id,
                "name": disk.name,
                "mode": words,
                "checked": checked,
                "fixed": False,
                **disk_figures(disk, v),
            }
        )
    return rows


def disk_figures(disk: Any, v: Voice) -> dict[str, Any]:
    """Used of quota, and a word from 90 % on."""
    level = disk_care.level(disk.used_bytes, disk.quota_bytes)
    return {
        "used": v.say("start.used", used=v.size(disk.used_bytes), quota=v.size(disk.quota_bytes)),
        "level": v.say(f"start.used_{level}") if level in ("warn", "full") else None,
    }


def _datasets(ctx: Context, choice: Choice, v: Voice) -> list[dict[str, Any]]:
    return [
        {
            "id": card.id,
            "title": v.text(card.title),
            "description": v.text(card.description),
            "find": f"{card.id} {card.title.en} {card.title.zh} {' '.join(card.tags)}".lower(),
            "icon": "model" if card.kind == "model" else "data",
            "price": v.money(0),
            "checked": card.id in choice.datasets,
        }
        for card in datasets.shelf(ctx).cards.values()
    ]


def _line(machine: Machine, v: Voice) -> str:
    return v.say("start.line_size", cpus=f"{machine.cpus:g}", memory=format_bytes(machine.memory_bytes))


def _script(ctx: Context, balance: int, free: Mapping[str, Mapping[str, int]], v: Voice) -> dict[str, Any]:
    """What the page's script may read: the same figures, already written out."""
    machines, can_start = {}, image_cards.startable(ctx)
    for machine in ctx.deployment.machines:
        nano = machine.prices_per_hour_nano.get(Plan.ON_DEMAND, 0)
        machines[machine.id] = {
            "title": v.text(machine.title),
            "line": _line(machine, v),
            "price": v.money(nano),
            "per_hour": v.per_hour(nano),
            "price_nano": str(nano),
            "button": v.say("start.button", price=v.money(nano)),
            "lasts": v.lasts(balance, nano),
            "images": [image for image in machine.images if image in can_start],
            **free[machine.id],
        }
    words = (
        "free",
        "inventory_live",
        "inventory_lost",
        "image_changed",
        "machine_changed",
        "found",
        "none_found",
    )
    return {
        "machines": machines,
        "images": {image.id: v.text(image.title) for image in ctx.deployment.images},
        "words": v.words.group("start", *words),
    }
