"""What control asks of the place where images are: is its environment there, and where."""

from __future__ import annotations

from gearshift.model.image import Image, Making


class ImageStore:
    """The contract. This one serves a deployment with no image but Gearshift's own environment."""

    def prefix(self, image: Image) -> str:
        """Where the Python of its kernels and jobs lies; empty for Gearshift's own."""
        return ""

    def is_there(self, image: Image) -> bool:
        """Whether it has been made."""
        return True

    def check(self, image: Image) -> None:
        """Raise `image_changed` where somebody changed what was made."""

    def ensure(self, image: Image) -> Making | None:
        """None when it can be started now; else what is being done for that, which this call has begun.

        Raises `image_failed` where it could not be made, `image_changed` where somebody changed it.
        """
        return None

    def close(self) -> None:
        """End what `ensure` began; the next call begins it again."""
