"""Everything a gang's start needs, computed anew from its spec and its leases."""

from __future__ import annotations

import math

from gearshift.model.job import JobSpec
from gearshift.model.launch import ProcessLimits
from gearshift.model.lease import Lease
from sqlalchemy.orm import Session

from gearshift_hub.backends.jobs import NodePlacement, Placement
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.jobs import JobRow
from gearshift_hub.control.services import images, job_records, launches, leases, ledger

PIDS_PER_NODE = 4096
JOIN_SHARE = 0.9
"""Of the deadline of a start: the supervisor, which knows who is missing, says so before control ends it."""


def placement(ctx: Context, session: Session, row: JobRow) -> Placement:
    """The job on the nodes that were leased for it."""
    spec = JobSpec.read(row.spec)
    machine = job_records.machine_of(ctx, row.spec)
    cores = math.ceil(machine.cpus)
    return Placement(
        job=row.id,
        tree=row.id,
        person=launches.person(ctx, session, row.owner),
        spec=spec,
        nodes=tuple(_node(ctx, lease) for lease in job_records.nodes(session, row)),
        limits=ProcessLimits(
            memory_bytes=machine.memory_bytes * spec.nodes,
            cpus=machine.cpus * spec.nodes,
            pids=PIDS_PER_NODE * spec.nodes,
            threads=cores,
        ),
        node_memory_bytes=machine.memory_bytes,
        threads_per_rank=max(1, cores // spec.procs),
        prefix=images.prefix(ctx, spec.image),
        join_seconds=ctx.deployment.deadlines.start * JOIN_SHARE,
        spent_seconds=_spent(session, row),
        attempts=tuple(row.status.get("attempts", ())),
        log_bytes=ctx.deployment.jobs.log_bytes,
    )


def _spent(session: Session, row: JobRow) -> float:
    """How long it has run so far; no interval of it is open when it starts."""
    intervals = ledger.intervals_of(session, job_records.subject(row.id))
    return sum((one.closed_at - one.opened_at).total_seconds() for one in intervals if one.closed_at)


def _node(ctx: Context, lease: Lease) -> NodePlacement:
    """Real cards are what CUDA sees; a simulated device is only counted."""
    devices = {device.id: device for pool in leases.pools(ctx) for device in pool.devices}
    real = [devices[id] for id in lease.device_ids if id in devices and not devices[id].simulated]
    return NodePlacement(lease.device_ids, ",".join(device.uuid or device.id for device in real))
