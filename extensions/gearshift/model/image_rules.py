"""May this image start on this machine? Only what was let in, as it was let in, where its chip and driver are."""

from __future__ import annotations

from collections.abc import Sequence

from gearshift.model.errors import fail
from gearshift.model.image import Image, older
from gearshift.model.lease import Pool
from gearshift.model.machine import Machine


def check_image(name: str, machine: Machine, images: Sequence[Image], pools: Sequence[Pool]) -> None:
    """Raise the first reason why not; each names the images that would do here."""
    image = next((one for one in images if one.id == name), None)
    if image is None:
        raise fail("unknown_image", field="image", value=name, allowed=[one.id for one in images])
    fitting = [one.id for one in images if one.id != name and _why_not(one, machine, pools) is None]
    reason = _why_not(image, machine, pools)
    if reason is not None:
        code, facts = reason
        raise fail(code, field="image", value=name, allowed=fitting, machine=machine.id, **facts)


def _why_not(image: Image, machine: Machine, pools: Sequence[Pool]) -> tuple[str, dict[str, str]] | None:
    if image.id not in machine.images or not image.runs_on(machine.chip, machine.simulated):
        return "image_mismatch", {}
    if image.is_only_declared:
        needs = image.needs
        return "image_declared", {"needs": needs.en, "needs_zh": needs.zh} if needs else {}
    if image.has_moved:
        return "image_moved", {"pinned": image.digest, "found": image.locked}
    driver = _oldest_driver(machine, pools)
    if driver and image.minimum_driver and older(driver, image.minimum_driver):
        return "driver_old", {"driver": driver, "needed": image.minimum_driver}
    return None


def _oldest_driver(machine: Machine, pools: Sequence[Pool]) -> str | None:
    """Of the real chips that the machine could get; None where nobody knows."""
    known = [device.driver for pool in pools if pool.id == machine.pool for device in pool.devices]
    drivers = [driver for driver in known if driver]
    return next((one for one in drivers if not any(older(other, one) for other in drivers)), None)
