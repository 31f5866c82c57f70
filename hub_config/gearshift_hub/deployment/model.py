"""The Deployment: the frozen value that everything else is told. Field names carry units; the file's keys do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from gearshift.model.admission import Limits as AdmissionLimits
from gearshift.model.admission import World
from gearshift.model.idle import IdleAction
from gearshift.model.image import Image
from gearshift.model.lease import Device, Lease, Pool
from gearshift.model.machine import Machine
from gearshift.model.quota import Bound, Quota, Quotas, Team
from gearshift.model.record import Input
from gearshift.model.workspace import Mode
from pydantic import ConfigDict, Field

from gearshift_hub.deployment.fields import (
    AutoCores,
    AutoSize,
    BaseUrl,
    Id,
    Language,
    Money,
    Port,
    Seconds,
    Size,
    Uid,
    Zone,
)
from gearshift_hub.deployment.kubernetes import Backend, Kubernetes

_Count = Annotated[int, Field(ge=1)]
_TEN_YEARS_H = 87_600


class Server(Input):
    """Where it listens; a port 0 is a free one, chosen at start."""

    host: str = "127.0.0.1"
    port: Port = 8000
    base_url: BaseUrl = "/"
    hub_port: Port = 0
    control_port: Port = 0
    traefik_api_port: Port = 0
    database_url: str | None = None


class Site(Input):
    """What the site is called, its currency, language and time zone; `trusted_users` lets several people share a uid."""

    name: str = "Gearshift"
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "CNY"
    currency_symbol: Annotated[str, Field(min_length=1, max_length=4)] = "¥"
    language: Language = "en"
    time_zone: Zone = "UTC"
    trusted_users: bool = False


class DeclaredPool(Input):
    """A pool as the file says it; None stands for `auto`, which the inventory fills in from the machine itself."""

    id: Id
    cores_milli: AutoCores = Field(alias="cores", default=None)
    memory_bytes: AutoSize = Field(alias="memory", default=None)
    cpu_overcommit: Annotated[float, Field(ge=1, le=64)] = 1.0
    devices: tuple[Id, ...] = ()
    device_memory_bytes: Size | None = Field(alias="device_memory", default=None)
    simulated: bool = False
    node: str = "local"

    def resolve(self, cores: int, memory_bytes: int, devices: Iterable[Device] = ()) -> Pool:
        """The pool on a machine that has so much; `devices` are real cards that were found on it."""
        declared = self.cores_milli if self.cores_milli is not None else cores * 1000
        return Pool(
            id=self.id,
            cores_milli=int(declared * self.cpu_overcommit),
            memory_bytes=self.memory_bytes if self.memory_bytes is not None else memory_bytes,
            devices=(*self.declared_devices, *devices),
            node=self.node,
        )

    @property
    def declared_devices(self) -> tuple[Device, ...]:
        memory = self.device_memory_bytes or 0
        return tuple(Device(id=name, simulated=self.simulated, memory_bytes=memory) for name in self.devices)


class Disks(Input):
    """Quotas."""

    home_quota_bytes: Size = Field(alias="home_quota", default=50_000_000_000)
    default_quota_bytes: Size = Field(alias="default_quota", default=50_000_000_000)
    max_quota_bytes: Size = Field(alias="max_quota", default=500_000_000_000)


class Datasets(Input):
    """The ids of the data sets and models that are offered."""

    enabled: tuple[str, ...] = ()


class Limits(AdmissionLimits):
    """What one person may have and send."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    workspaces_per_user: _Count = 5
    jobs_per_user: _Count = 4
    job_nodes: _Count = 4
    job_procs: _Count = 4
    start_rate: Annotated[int, Field(ge=1, description="starts per minute, all people together")] = 60
    bundle_bytes: Size = Field(alias="bundle_size", default=32_000_000)
    bundles_bytes: Size = Field(alias="bundles_size", default=1_000_000_000)


class People(Input):
    """The reserved uids and what a new account begins with."""

    uid_from: Uid = 20_000
    uid_to: Uid = 29_999
    opening_credit_nano: Money = Field(alias="opening_credit", default=1000 * 10**9)


class Idle(Input):
    """What becomes of a workspace that nobody uses, and within which bounds its owner may choose otherwise."""

    action: IdleAction = IdleAction.STOP
    after_hours: Annotated[float, Field(ge=0, le=_TEN_YEARS_H)] = 8.0
    min_hours: Annotated[float, Field(gt=0, le=_TEN_YEARS_H)] = 0.5
    max_hours: Annotated[float, Field(gt=0, le=_TEN_YEARS_H)] = 72.0
    actions: Annotated[tuple[IdleAction, ...], Field(min_length=1)] = (IdleAction.STOP, IdleAction.DROP)
    drop_to: str | None = None
    warn_before: Seconds = 600
    end_grace: Seconds = 60
    stuck_hours: Annotated[float, Field(ge=0, le=_TEN_YEARS_H)] = 24.0
    open_page_counts: bool = False


class Notices(Input):
    """Where warnings go besides the page: a web hook that is signed, and mail."""

    webhook_url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    webhook_secret_file: Path | None = None
    smtp_host: str | None = None
    smtp_port: Port = 25
    mail_from: str | None = None
    mail_to: str | None = None


class State(Input):
    """How long saved kernel state is kept, and how much of it one person may hold."""

    keep_days: Annotated[float, Field(gt=0, le=3650)] = 7.0
    per_person_bytes: Size = Field(alias="per_person", default=20_000_000_000)


class Jobs(Input):
    """How much of what a job printed is kept, and how long its folder stays after its end."""

    log_bytes: Annotated[Size, Field(ge=1_000_000)] = Field(alias="log_size", default=64_000_000)
    keep_days: Annotated[float, Field(gt=0, le=3650)] = 30.0
    warm_minutes: Annotated[
        float,
        Field(ge=0, le=1440, description="so long torch stays in memory for a person's next job; 0: never"),
    ] = 10.0


class Memory(Input):
    """Shares of a machine's memory: from `warn_share` on a workspace is warned; at `interrupt_share` the cell that grows
    is interrupted, where its person wants that."""

    warn_share: Annotated[float, Field(gt=0, lt=1)] = 0.85
    interrupt_share: Annotated[float, Field(gt=0, lt=1)] = 0.95


class Documents(Input):
    """Whether notebooks are open on the server: cells then run on and keep their outputs with no page open."""

    on_server: bool = True


class Deadlines(Input):
    """Seconds."""

    start: Seconds = 60
    save_base: Seconds = 30
    save_factor: Annotated[float, Field(ge=1)] = 3
    term: Seconds = 3
    verify: Seconds = 15
    plan: Seconds = 120
    ticket: Seconds = 600
    heartbeat: Seconds = 20

    def save(self, predicted_seconds: float = 0.0) -> float:
        """How long a save or a restore may take that was predicted to take so long."""
        return self.save_base + self.save_factor * predicted_seconds

    def lease(self, predicted_seconds: float = 0.0) -> float:
        """How long a reservation is kept: twice what the whole of a switch may take."""
        return 2 * (2 * self.save(predicted_seconds) + self.term + self.start + self.verify)


class Queue(Input):
    """How the line of jobs and of people who wait for a machine moves."""

    overtake_limit: Annotated[int, Field(ge=0)] = 3
    max_priority: Annotated[int, Field(ge=-10, le=10)] = 0
    chips_per_person: Bound = None
    nodes_per_person: Bound = None
    hold: Seconds = 300
    wait_hours: Annotated[float, Field(gt=0, le=_TEN_YEARS_H)] = 24.0
    waits_per_person: _Count = 5


class TeamTable(Team):
    """A team: as it is, but an unknown key is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Id


class Deployment(Input):
    """All that exists here. Made by `load`; never changed."""

    backend: Backend = "local"
    """Where workspaces run: on this box, or on a cluster as `kubernetes` says."""
    server: Server = Server()
    site: Site = Site()
    pools: tuple[DeclaredPool, ...]
    machines: tuple[Machine, ...]
    images: tuple[Image, ...]
    disks: Disks = Disks()
    datasets: Datasets = Datasets()
    limits: Limits = Limits()
    people: People = People()
    idle: Idle = Idle()
    notices: Notices = Notices()
    documents: Documents = Documents()
    memory: Memory = Memory()
    state: State = State()
    deadlines: Deadlines = Deadlines()
    queue: Queue = Queue()
    jobs: Jobs = Jobs()
    kubernetes: Kubernetes = Kubernetes()
    teams: tuple[TeamTable, ...] = ()

    @property
    def quotas(self) -> Quotas:
        """What jobs of one person, and of one team, may hold at once."""
        own = Quota(chips=self.queue.chips_per_person, nodes=self.queue.nodes_per_person)
        return Quotas(person=own, teams=self.teams)

    def machine(self, name: str) -> Machine | None:
        return next((machine for machine in self.machines if machine.id == name), None)

    def image(self, name: str) -> Image | None:
        return next((image for image in self.images if image.id == name), None)

    def pool(self, name: str) -> DeclaredPool | None:
        return next((pool for pool in self.pools if pool.id == name), None)

    def world(
        self,
        *,
        pools: Iterable[Pool],
        leases: Iterable[Lease] = (),
        workspaces_of_user: Iterable[str] = (),
        jobs_of_user: Iterable[str] = (),
        balance_nano: int,
        memberships: Mapping[str, Mode] | None = None,
        known_disks: Iterable[str] = (),
        queue: Iterable[str] = (),
    ) -> World:
        """What an admission looks at: this deployment and what control knows now."""
        return World(
            machines=self.machines,
            images=self.images,
            datasets=frozenset(self.datasets.enabled),
            limits=self.limits,
            currency_symbol=self.site.currency_symbol,
            pools=tuple(pools),
            leases=tuple(leases),
            workspaces_of_user=tuple(workspaces_of_user),
            jobs_of_user=tuple(jobs_of_user),
            balance_nano=balance_nano,
            memberships=dict(memberships or {}),
            known_disks=frozenset(known_disks),
            queue=tuple(queue),
        )
