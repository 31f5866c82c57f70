"""A supervisor that waits for its job: with torch imported by the template beside it, in the enclosure of the gang to come.

It holds nothing but memory. It ends by itself when nobody came for so long, when the box runs short of memory, when its
template is gone, and when it is asked to.
"""

from __future__ import annotations

import select
import time
from contextlib import closing
from pathlib import Path

from gearshift.train.gang.attempt import Stop
from gearshift.train.gang.doorbell import Doorbell
from gearshift.train.gang.enclosure import Enclosure
from gearshift.train.gang.order import Order
from gearshift.train.gang.supervisor import listen, supervise
from gearshift.train.gang.warm import Template

WARM_SECONDS = 120.0
LOOK_SECONDS = 5.0
SHORT_SHARE = 0.1
"""Of the box's memory: with less than that available it makes room."""
MEMINFO = Path("/proc/meminfo")


def stand_by(folder: Path, habit: Order, seconds: float, enclosure: Enclosure) -> int:
    """Wait in `folder` for at most so long, ready for jobs like `habit`; the exit class of the job that came, or 0."""
    stop = listen()
    try:
        template = Template(habit)
    except OSError:
        return 0
    with closing(template):
        if not _is_ready(template, stop):
            return 0
        bell = Doorbell(folder)
        job = _wait(bell, template, stop, seconds)
        if job is None:
            bell.close()
            return 0
        return supervise(Order.read(job), enclosure, stop, template, begun=bell.say_taken)


def _is_ready(template: Template, stop: Stop) -> bool:
    """Once it has imported torch; no, when it cannot, takes too long, or when we are to end."""
    until = time.monotonic() + WARM_SECONDS
    poll = select.poll()
    poll.register(template.fileno(), select.POLLIN)
    poll.register(stop.wake, select.POLLIN)
    while (left := until - time.monotonic()) > 0 and not stop.asked:
        events = {descriptor for descriptor, _ in poll.poll(left * 1000)}
        if template.fileno() in events:
            return template.is_ready()
        if stop.wake in events:
            stop.hear()
    return False


def _wait(bell: Doorbell, template: Template, stop: Stop, seconds: float) -> Path | None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not is_short(MEMINFO):
        pause = min(LOOK_SECONDS, max(0.0, until - time.monotonic()))
        job, news = bell.wait([template.fileno(), stop.wake], pause)
        if job is not None:
            return job
        if stop.wake in news:
            stop.hear()
        if stop.asked or template.fileno() in news:
            return None
    return None


def is_short(meminfo: Path) -> bool:
    """Whether the box has little memory left; unknown is no."""
    share = available_share(meminfo)
    return share is not None and share < SHORT_SHARE


def available_share(meminfo: Path) -> float | None:
    """Of the box's memory; None where nothing says."""
    try:
        lines = (line.split() for line in meminfo.read_text().splitlines())
        kib = {words[0]: int(words[1]) for words in lines if len(words) > 1}
        return kib["MemAvailable:"] / kib["MemTotal:"]
    except (OSError, ValueError, KeyError):
        return None
