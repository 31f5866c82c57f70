"""What running gangs use of their machines, by the box's own measure: sampled now and then, so that few events tell it."""

from __future__ import annotations

from dataclasses import dataclass

from gearshift.model.job import JobUse
from gearshift.model.machine import Machine

from gearshift_hub.backends.jobs import Seen

EVERY_SECONDS = 5.0


@dataclass
class Meter:
    """Of one job: the last sample and what was told of it."""

    at: float | None = None
    cpu_seconds: float | None = None
    use: JobUse | None = None

    def take(self, seen: Seen, machine: Machine, nodes: int, now: float) -> JobUse | None:
        """What it uses, at most EVERY_SECONDS old; None where the box does not measure memory."""
        if self.at is not None and now - self.at < EVERY_SECONDS:
            return self.use
        self.use = _use(seen, machine, nodes, self._cores(seen, now))
        self.at, self.cpu_seconds = now, seen.cpu_seconds
        return self.use

    def _cores(self, seen: Seen, now: float) -> float | None:
        """The mean since the last sample; there is none with the first one."""
        if self.at is None or self.cpu_seconds is None or seen.cpu_seconds is None:
            return None
        return round(max(0.0, seen.cpu_seconds - self.cpu_seconds) / (now - self.at), 1)


def _use(seen: Seen, machine: Machine, nodes: int, cores: float | None) -> JobUse | None:
    if seen.memory_bytes is None:
        return None
    return JobUse(
        memory_bytes=seen.memory_bytes,
        memory_has_bytes=machine.memory_bytes * nodes,
        cores=cores,
        cores_has=machine.cpus * nodes,
    )
