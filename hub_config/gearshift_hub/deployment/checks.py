"""What contradicts itself between the tables of a deployment file, each with its remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gearshift.model.image import VENDOR_RUNTIME, Image, Runtime
from gearshift.model.problems import Problem, nearest
from gearshift.model.units import format_bytes

from gearshift_hub.deployment.kubernetes import check_cluster
from gearshift_hub.deployment.model import DeclaredPool, Disks, Idle, Notices, People, Server, TeamTable
from gearshift_hub.deployment.tables import MachineTable

Lists = Mapping[str, Mapping[int, Any]]


def check(data: Mapping[str, Any], tables: Mapping[str, Any], lists: Lists) -> list[Problem]:
    """All contradictions. `data` is the raw file, for names in tables that could not be read."""
    return [
        *_ports(tables["server"]),
        *_people(tables["people"]),
        *_quotas(tables["disks"]),
        *_idle_bounds(data, tables["idle"], lists),
        *_mail(tables["notices"]),
        *_duplicates("datasets.enabled", enumerate(tables["datasets"].enabled)),
        *(
            problem
            for name in ("pools", "machines", "images", "teams")
            for problem in _duplicate_ids(name, data)
        ),
        *_devices(lists["pools"]),
        *_one_team_each(lists["teams"]),
        *_machines(data, lists),
        *_idle_images(data, lists),
        *check_cluster(data, tables["kubernetes"], lists),
    ]


def _ports(server: Server) -> Iterator[Problem]:
    seen: dict[int, str] = {}
    for name in ("port", "hub_port", "control_port", "traefik_api_port"):
        port = getattr(server, name)
        if port and port in seen:
            because = f"server.{seen[port]} has this port already"
            yield Problem(
                key=f"server.{name}",
                value=port,
                because=because,
                remedy="Choose another, or 0 for a free one.",
            )
        seen.setdefault(port, name)


def _people(people: People) -> Iterator[Problem]:
    if people.uid_to < people.uid_from:
        because = f"it is below people.uid_from = {people.uid_from}"
        yield Problem(
            key="people.uid_to",
            value=people.uid_to,
            because=because,
            remedy="Give a range with room for people.",
        )


def _quotas(disks: Disks) -> Iterator[Problem]:
    if disks.default_quota_bytes > disks.max_quota_bytes:
        yield Problem(
            key="disks.default_quota",
            value=format_bytes(disks.default_quota_bytes),
            because=f"it is above disks.max_quota = {format_bytes(disks.max_quota_bytes)}",
            remedy="Raise max_quota or lower default_quota.",
        )


def _idle_bounds(data: Mapping[str, Any], idle: Idle, lists: Lists) -> Iterator[Problem]:
    inside = idle.min_hours <= (idle.after_hours or idle.min_hours) <= idle.max_hours
    if not inside:
        because = f"it is not between min_hours = {idle.min_hours:g} and max_hours = {idle.max_hours:g}"
        yield Problem(
            key="idle.after_hours", value=idle.after_hours, because=because, remedy="Move one of the three."
        )
    if idle.warn_before > idle.min_hours * 3600:
        because = f"it is longer than min_hours = {idle.min_hours:g}, so the warning would come before the idle time"
        yield Problem(key="idle.warn_before", value=idle.warn_before, because=because, remedy="Warn later.")
    if idle.drop_to is not None:
        yield from _known("idle.drop_to", idle.drop_to, _ids("machines", data), "machine")
        named = [machine for machine in lists["machines"].values() if machine.id == idle.drop_to]
        if any(machine.chip is not None for machine in named):
            because = "this machine has a chip, so nothing would be saved"
            remedy = "Name one without, or leave it out: the cheapest without a chip is taken."
            yield Problem(key="idle.drop_to", value=idle.drop_to, because=because, remedy=remedy)


def _mail(notices: Notices) -> Iterator[Problem]:
    mail = {name: getattr(notices, name) for name in ("smtp_host", "mail_from", "mail_to")}
    missing = [name for name, value in mail.items() if value is None]
    if missing and len(missing) < len(mail):
        because = f"mail needs smtp_host, mail_from and mail_to; {', '.join(missing)} is missing"
        yield Problem(key="notices", value=None, because=because, remedy="Give all three or none.")
    if notices.webhook_url and notices.webhook_secret_file is None:
        because = "nobody could tell that a call is ours"
        yield Problem(
            key="notices.webhook_secret_file", because=because, remedy="Name a file that holds a secret."
        )


def _duplicate_ids(name: str, data: Mapping[str, Any]) -> Iterator[Problem]:
    raw = data.get(name)
    entries = enumerate(raw) if isinstance(raw, list) else ()
    yield from _duplicates(name, ((place, e.get("id")) for place, e in entries if isinstance(e, dict)), ".id")


def _duplicates(name: str, values: Iterable[tuple[int, Any]], key: str = "") -> Iterator[Problem]:
    seen: dict[Any, int] = {}
    for place, value in values:
        if isinstance(value, str) and value in seen:
            because = f"{name}[{seen[value]}] has the same id"
            yield Problem(
                key=f"{name}[{place}]{key}", value=value, because=because, remedy="Give each its own id."
            )
        elif isinstance(value, str):
            seen[value] = place


def _one_team_each(teams: Mapping[int, TeamTable]) -> Iterator[Problem]:
    of: dict[str, str] = {}
    for place, team in teams.items():
        for who in team.members:
            if who in of:
                because = f"this person is in {of[who]!r} already"
                remedy = "Name each person once."
                yield Problem(key=f"teams[{place}].members", value=who, because=because, remedy=remedy)
            of.setdefault(who, team.id)


def _devices(pools: Mapping[int, DeclaredPool]) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for place, pool in pools.items():
        for name in pool.devices:
            if name in seen:
                because = f"the pool {seen[name]!r} has a device of this id"
                yield Problem(
                    key=f"pools[{place}].devices", value=name, because=because, remedy="Give each its own id."
                )
            seen.setdefault(name, pool.id)
        if pool.devices and not pool.simulated:
            yield Problem(
                key=f"pools[{place}].devices",
                value=", ".join(pool.devices),
                because="devices are listed by hand, but the pool is not simulated",
                remedy="Write simulated = true, or leave devices out: real cards are found by themselves.",
            )


def _machines(data: Mapping[str, Any], lists: Lists) -> Iterator[Problem]:
    pools = {pool.id: pool for pool in lists["pools"].values()}
    images = {image.id: image for image in lists["images"].values()}
    for place, machine in lists["machines"].items():
        key = f"machines[{place}]"
        if machine.pool:
            yield from _known(f"{key}.pool", machine.pool, _ids("pools", data), "pool")
        for image in machine.images or ():
            yield from _known(f"{key}.images", image, _ids("images", data), "image")
        pool = pools.get(machine.pool)
        if pool is not None:
            yield from _fits(key, machine, pool)
            wanted = machine.images or tuple(images)
            yield from _runs(key, machine, pool, [images[name] for name in wanted if name in images])
        if machine.chip and machine.chip.share_milli < 1000 and machine.chip.count > 1:
            because = "a part of a chip is possible with count = 1 only"
            yield Problem(
                key=f"{key}.chip.share",
                value=machine.chip.share_milli / 1000,
                because=because,
                remedy="Leave share out, or write count = 1.",
            )


def _known(key: str, name: str, known: list[str], what: str) -> Iterator[Problem]:
    if name not in known:
        hint = nearest(name, known)
        remedy = f"Did you mean {hint!r}?" if hint else f"Write a [[{what}s]] table with this id."
        yield Problem(
            key=key, value=name, because=f"there is no {what} of this id", allowed=tuple(known), remedy=remedy
        )


def _fits(key: str, machine: MachineTable, pool: DeclaredPool) -> Iterator[Problem]:
    """A machine that its pool could never give. What is `auto` is only known on the machine itself."""
    remedy = f"Make the machine smaller, or the pool {pool.id!r} larger."
    if pool.cores_milli is not None and machine.cores_milli > pool.cores_milli * pool.cpu_overcommit:
        has = pool.cores_milli * pool.cpu_overcommit / 1000
        because = f"the pool {pool.id!r} has {has:g} cores, overcommit included"
        yield Problem(key=f"{key}.cpus", value=machine.cores_milli / 1000, because=because, remedy=remedy)
    if pool.memory_bytes is not None and machine.memory_bytes > pool.memory_bytes:
        because = f"the pool {pool.id!r} has {format_bytes(pool.memory_bytes)}"
        yield Problem(
            key=f"{key}.memory", value=format_bytes(machine.memory_bytes), because=because, remedy=remedy
        )
    if machine.chip and pool.simulated and machine.chip.count > len(pool.devices):
        because = f"the pool {pool.id!r} has {len(pool.devices)} devices"
        yield Problem(key=f"{key}.chip.count", value=machine.chip.count, because=because, remedy=remedy)


def _runs(key: str, machine: MachineTable, pool: DeclaredPool, images: list[Image]) -> Iterator[Problem]:
    """An image made for chips that the machine does not have."""
    vendor = machine.chip.vendor if machine.chip and not pool.simulated else None
    runs = {Runtime.CPU, VENDOR_RUNTIME.get(vendor or "", Runtime.CPU)}
    for image in images:
        if image.runtime not in runs:
            because = f"this image is made for {image.runtime.value}, which the machine {machine.id!r} has no chip for"
            remedy = "List the machine's images without it, or give the machine such a chip."
            yield Problem(key=f"{key}.images", value=image.id, because=because, remedy=remedy)


def _idle_images(data: Mapping[str, Any], lists: Lists) -> Iterator[Problem]:
    if any(machine.images is None for machine in lists["machines"].values()):
        return
    raw = data.get("machines")
    used = (
        {name for m in raw if isinstance(m, dict) for name in m.get("images") or ()}
        if isinstance(raw, list)
        else set()
    )
    for place, image in lists["images"].items():
        if raw and image.id not in used:
            because = "no machine runs this image"
            yield Problem(
                key=f"images[{place}].id",
                value=image.id,
                because=because,
                remedy="Add it to a machine's images, or remove it.",
            )


def _ids(name: str, data: Mapping[str, Any]) -> list[str]:
    raw = data.get(name)
    entries = raw if isinstance(raw, list) else []
    return [entry["id"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
