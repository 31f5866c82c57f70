"""A store of images whose making takes as long as a test says, fails when it says, and can be told to have been changed."""

from __future__ import annotations

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.image import Image, Making
from gearshift_hub.backends.images import ImageStore


class FakeImages(ImageStore):
    """`stages` are what is still to be done, one for each time that somebody asks."""

    def __init__(self, *stages: Making) -> None:
        self.stages = list(stages)
        self.refusal: GearshiftError | None = None
        self.asked = 0

    def prefix(self, image: Image) -> str:
        return f"/images/{image.catalog}"

    def is_there(self, image: Image) -> bool:
        return not self.stages

    def ensure(self, image: Image) -> Making | None:
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal
        return self.stages.pop(0) if self.stages else None


def failed(why: str) -> GearshiftError:
    """What a store raises of an image whose packages cannot be had."""
    return fail("image_failed", field="image", value="base", why=why)
