"""Which image may start on which machine, and how a refusal names what would do."""

from __future__ import annotations

from typing import Any

import pytest
from gearshift.model.admission import admit
from gearshift.model.errors import GearshiftError
from gearshift.model.image import Image, Runtime, older
from gearshift.model.lease import Device, Pool
from gearshift.model.machine import Chip, Machine
from gearshift.model.record import Text
from gearshift_testing.catalogue import image, machine, pool, request, world

LOCK, NEXT = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def locked(name: str, runtime: Runtime = Runtime.CPU, **changes: Any) -> Image:
    given = {"catalog": name, "locked": LOCK, "digest": LOCK, **changes}
    return image(name, runtime).model_copy(update=given)


def card(vendor: str = "nvidia") -> Machine:
    chip = Chip(vendor=vendor, model="H100", count=1)
    return machine("card", chip=chip, pool="cards", images=("pytorch", "cuda", "base"))


def cards(driver: str) -> Pool:
    devices = (Device(id="n0", driver=driver), Device(id="n1", driver=driver))
    return pool(name="cards").model_copy(update={"devices": devices})


def refused(image_id: str, kind: Machine, *images: Image, driver: str = "580.65.06") -> GearshiftError:
    there = world(machines=(kind,), images=images, pools=(pool(), cards(driver)))
    with pytest.raises(GearshiftError) as caught:
        admit(request(kind.id, image=image_id), there)
    return caught.value


def test_an_image_that_is_only_declared_says_what_it_needs_and_what_would_do() -> None:
    needs = Text(en="a box with an NVIDIA driver", zh="需要 NVIDIA 驱动")
    cuda = locked("cuda", Runtime.CUDA, locked="", digest="", needs=needs)
    error = refused("cuda", card(), cuda, locked("base"), image())
    assert (error.code, error.allowed) == ("image_declared", ["base", "pytorch"])
    assert "It needs a box with an NVIDIA driver." in error.message
    assert "需要 NVIDIA 驱动" in error.message_zh


def test_an_image_that_moved_is_refused_with_both_digests() -> None:
    error = refused("base", machine(images=("base",)), locked("base", digest=NEXT))
    assert error.code == "image_moved"
    assert LOCK in error.message
    assert NEXT in error.message_zh


@pytest.mark.parametrize("vendor", ["amd", "huawei", "google", "simulated"])
def test_a_chip_without_the_images_runtime_is_refused_with_the_images_that_fit(vendor: str) -> None:
    error = refused("cuda", card(vendor=vendor), locked("cuda", Runtime.CUDA), locked("base"), image())
    assert (error.code, error.allowed) == ("image_mismatch", ["base", "pytorch"])


def test_a_simulated_chip_has_no_runtime_of_a_real_one() -> None:
    simulated = card().model_copy(update={"simulated": True})
    assert refused("cuda", simulated, locked("cuda", Runtime.CUDA)).code == "image_mismatch"


def test_a_driver_older_than_the_image_needs_is_a_sentence_with_both_versions() -> None:
    cuda = locked("cuda", Runtime.CUDA, minimum_driver="570.26")
    error = refused("cuda", card(), cuda, locked("base"), driver="550.163.01")
    assert (error.code, error.allowed) == ("driver_old", ["base"])
    assert "is 550.163.01; the image 'cuda' needs 570.26 or newer" in error.message


def test_a_driver_that_is_new_enough_or_not_known_is_let_in() -> None:
    cuda = locked("cuda", Runtime.CUDA, minimum_driver="570.26")
    for driver in ("570.26", "570.26.1", "1000.1", ""):
        there = world(machines=(card(),), images=(cuda,), pools=(pool(), cards(driver)))
        assert admit(request("card", image="cuda"), there).machine.id == "card"


def test_versions_are_compared_number_by_number() -> None:
    assert older("570.9", "570.26")
    assert not older("570.100", "570.26")
    assert not older("6.14", "6.14")


def test_of_several_drivers_in_a_pool_the_oldest_counts() -> None:
    mixed = cards("580.1").model_copy(
        update={
            "devices": (Device(id="n0", driver="580.1"), Device(id="n1", driver="535.5"), Device(id="n2"))
        }
    )
    cuda = locked("cuda", Runtime.CUDA, minimum_driver="570.26")
    there = world(machines=(card(),), images=(cuda,), pools=(pool(), mixed))
    with pytest.raises(GearshiftError, match=r"535\.5"):
        admit(request("card", image="cuda"), there)
