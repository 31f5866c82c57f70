"""The table `[kubernetes]`: how machines and images of the deployment map to what a cluster has, and what contradicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from gearshift.model.machine import Machine
from gearshift.model.problems import Problem, nearest
from gearshift.model.record import Input
from pydantic import Field

from gearshift_hub.deployment.fields import Id, Size

Backend = Literal["local", "kubernetes"]
BACKENDS: tuple[Backend, ...] = ("local", "kubernetes")

VENDOR_RESOURCE: Mapping[str, str] = MappingProxyType(
    {
        "nvidia": "nvidia.com/gpu",
        "amd": "amd.com/gpu",
        "huawei": "huawei.com/Ascend910",
        "google": "google.com/tpu",
    }
)
"""The name under which a vendor's device plugin offers whole chips."""

_NAME = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
_QUALIFIED = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
_DIGEST = r"^[^\s@]+@sha256:[0-9a-f]{64}$"

Name = Annotated[str, Field(pattern=_NAME, max_length=253)]
Qualified = Annotated[str, Field(pattern=_QUALIFIED, max_length=253)]
LabelValue = Annotated[str, Field(pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$", max_length=63)]


class Toleration(Input):
    """A taint that the machine's pods may sit beside; without `value` any value of the key."""

    key: Qualified
    value: LabelValue | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None


class Place(Input):
    """Where the pods of one machine go, and what they ask for there besides CPU and memory."""

    node_selector: dict[Qualified, LabelValue] = Field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    resource: Qualified | None = None
    """The extended resource of its chips; a vendor's usual name where it is left out."""
    runtime_class: Name | None = None
    priority_class: Name | None = None


class Kubernetes(Input):
    """The cluster; only read where `backend = "kubernetes"`."""

    namespace: Id = "gearshift"
    reach: Annotated[str, Field(min_length=1)] | None = None
    """The address under which pods reach this box; hub and control listen there as well."""
    storage_class: Name | None = None
    home_access: Literal["ReadWriteOnce", "ReadWriteMany"] = "ReadWriteOnce"
    shm_bytes: Size = Field(alias="shm", default=1 << 30)
    pull_secrets: tuple[Name, ...] = ()
    priority_class: Name | None = None
    images: dict[str, Annotated[str, Field(pattern=_DIGEST)]] = Field(default_factory=dict)
    """The pods' image of each image, pinned: `registry/name@sha256:…`."""
    machines: dict[str, Place] = Field(default_factory=dict)

    def place(self, machine: str) -> Place:
        return self.machines.get(machine, Place())


def resource_of(machine: Machine, place: Place) -> str | None:
    """The extended resource that a pod of this machine asks for; none for a simulated chip or no chip."""
    if machine.chip is None or machine.simulated:
        return None
    return place.resource or VENDOR_RESOURCE.get(machine.chip.vendor)


def check_cluster(
    data: Mapping[str, Any], found: Kubernetes, lists: Mapping[str, Mapping[int, Any]]
) -> list[Problem]:
    """What contradicts between this table and the rest of the file."""
    backend = data.get("backend", "local")
    if backend not in BACKENDS:
        return [_no_backend(backend)]
    if backend == "local":
        return _unread(data)
    return [
        *_reachable(found, data),
        *_images(found, lists["images"]),
        *_names(found, lists),
        *_chips(found, lists),
        *_not_offered(data),
    ]


def _no_backend(value: Any) -> Problem:
    hint = nearest(value, list(BACKENDS)) if isinstance(value, str) else None
    remedy = f"Did you mean {hint!r}?" if hint else "Leave it out for this box."
    return Problem(
        key="backend", value=value, because="there is no such backend", allowed=BACKENDS, remedy=remedy
    )


def _unread(data: Mapping[str, Any]) -> list[Problem]:
    if "kubernetes" not in data:
        return []
    because = "this table is read only where workspaces run on a cluster"
    return [
        Problem(
            key="kubernetes", because=because, remedy='Write backend = "kubernetes", or remove the table.'
        )
    ]


def _reachable(found: Kubernetes, data: Mapping[str, Any]) -> Iterator[Problem]:
    server = data.get("server")
    host = server.get("host", "127.0.0.1") if isinstance(server, dict) else "127.0.0.1"
    if host in ("localhost", "::1") or str(host).startswith("127."):
        because = "pods come in by this door, and nobody but this box reaches it"
        remedy = 'Write "0.0.0.0", or the address in kubernetes.reach.'
        yield Problem(key="server.host", value=host, because=because, remedy=remedy)
    if found.reach is None:
        because = "pods must reach hub and control, which run here"
        remedy = "Write the address of this box as the cluster's nodes see it."
        yield Problem(key="kubernetes.reach", because=because, remedy=remedy)
    elif found.reach in ("localhost", "0.0.0.0", "::") or found.reach.startswith("127."):  # noqa: S104
        because = "inside a pod this is the pod itself"
        remedy = "Write the address of this box as the cluster's nodes see it."
        yield Problem(key="kubernetes.reach", value=found.reach, because=because, remedy=remedy)


def _images(found: Kubernetes, images: Mapping[int, Any]) -> Iterator[Problem]:
    for image in images.values():
        if image.id not in found.images:
            because = "no pod could run the image: it has no reference here"
            remedy = 'Write it with its digest: "registry/name@sha256:…".'
            yield Problem(key=f"kubernetes.images.{image.id}", because=because, remedy=remedy)


def _names(found: Kubernetes, lists: Mapping[str, Mapping[int, Any]]) -> Iterator[Problem]:
    for table, given in (("machines", found.machines), ("images", found.images)):
        known = [entry.id for entry in lists[table].values()]
        for name in given:
            if name not in known:
                hint = nearest(name, known)
                remedy = (
                    f"Did you mean {hint!r}?"
                    if hint
                    else f"Write a [[{table}]] table with this id, or remove it."
                )
                because = f"there is no {table[:-1]} of this id"
                key = f"kubernetes.{table}.{name}"
                yield Problem(key=key, value=name, because=because, allowed=tuple(known), remedy=remedy)


def _chips(found: Kubernetes, lists: Mapping[str, Mapping[int, Any]]) -> Iterator[Problem]:
    simulated = {pool.id for pool in lists["pools"].values() if pool.simulated}
    for machine in lists["machines"].values():
        key = f"kubernetes.machines.{machine.id}.resource"
        place, chip = found.place(machine.id), machine.chip
        if chip is None or machine.pool in simulated:
            if place.resource is not None:
                because = "this machine has no real chip"
                yield Problem(key=key, value=place.resource, because=because, remedy="Remove it.")
        elif place.resource is None and chip.vendor not in VENDOR_RESOURCE:
            because = f"nobody knows the resource of chips of {chip.vendor!r}"
            remedy = "Write the name that the cluster's device plugin offers."
            yield Problem(key=key, because=because, allowed=tuple(VENDOR_RESOURCE.values()), remedy=remedy)
        elif place.resource is None and chip.share_milli < 1000:
            because = f"{VENDOR_RESOURCE[chip.vendor]} is a whole chip, the machine has a part of one"
            remedy = (
                "Write the resource under which the cluster offers parts, such as nvidia.com/mig-1g.10gb."
            )
            yield Problem(key=key, because=because, remedy=remedy)


def _not_offered(data: Mapping[str, Any]) -> Iterator[Problem]:
    """What only `local` can do yet is refused here, not drawn and then broken."""
    datasets = data.get("datasets")
    if isinstance(datasets, dict) and datasets.get("enabled"):
        because = "data sets are not offered on a cluster yet"
        yield Problem(
            key="datasets.enabled", value=datasets["enabled"], because=because, remedy="Leave it empty."
        )
    if data.get("apps"):
        because = "apps are not offered on a cluster yet"
        yield Problem(key="apps", value=data["apps"], because=because, remedy="Leave it out.")
