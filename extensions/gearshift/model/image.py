"""What an image is: the environment that kernels and jobs run in, allow-listed and pinned by its digest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from gearshift.model.app import App
from gearshift.model.machine import Chip
from gearshift.model.record import Record, Text

OWN = "env"
"""The digest of Gearshift's own environment."""


class Runtime(StrEnum):
    """The kind of chip that an image was built for; `cpu` runs everywhere."""

    CPU = "cpu"
    CUDA = "cuda"
    ROCM = "rocm"
    CANN = "cann"
    XLA = "xla"


class Making(StrEnum):
    """What is being done for an image whose environment is not there yet."""

    BEGIN = "begin"
    ENVIRONMENT = "environment"
    PACKAGES = "packages"
    TORCH = "torch"
    KERNEL = "kernel"

    @property
    def words(self) -> Text:
        return _MAKING[self]


VENDOR_RUNTIME = {"nvidia": Runtime.CUDA, "amd": Runtime.ROCM, "huawei": Runtime.CANN, "google": Runtime.XLA}
"""The runtime that a vendor's real chips need; a simulated chip needs none."""


_MAKING = {
    Making.BEGIN: Text(en="beginning", zh="即将开始"),
    Making.ENVIRONMENT: Text(en="making its environment", zh="正在创建环境"),
    Making.PACKAGES: Text(en="installing its packages", zh="正在安装软件包"),
    Making.TORCH: Text(en="installing torch", zh="正在安装 torch"),
    Making.KERNEL: Text(en="describing its kernel", zh="正在登记内核"),
}


class Image(Record):
    """An image of the deployment. The digest `env` stands for Gearshift's own environment, which the first image is."""

    id: str
    title: Text
    subtitle: Text
    runtime: Runtime
    python: str
    packages: tuple[str, ...] = ()
    digest: str = OWN
    """What the deployment lets in."""
    catalog: str = ""
    """The declaration it comes from; empty for Gearshift's own environment."""
    locked: str = ""
    """The digest of the lock that is there; empty where the image is only declared."""
    versions: Mapping[str, str] = Field(default_factory=dict)
    chips: tuple[str, ...] = ()
    minimum_driver: str = ""
    licence: str = ""
    prebuilt: tuple[str, ...] = ()
    size_bytes: int | None = None
    deprecated: str | None = None
    needs: Text | None = None
    """What a box would have to have, where it is only declared."""
    app: App | None = None
    """What a workspace of it shows in the browser, in place of Lab."""
    minimum_memory_bytes: int = 0
    """Of the machine; a smaller one does not offer it."""

    @property
    def is_own(self) -> bool:
        """It is the environment that Gearshift itself runs in."""
        return not self.catalog

    @property
    def is_only_declared(self) -> bool:
        return bool(self.catalog) and not self.locked

    @property
    def has_moved(self) -> bool:
        """The deployment lets in another digest than the one that is there."""
        return bool(self.catalog) and self.digest != self.locked

    @property
    def can_start(self) -> bool:
        """Where a machine's chip fits."""
        return not self.is_only_declared and not self.has_moved

    def runs_on(self, chip: Chip | None, simulated: bool) -> bool:
        """Whether a machine with this chip has what the image was built for."""
        if self.runtime is Runtime.CPU:
            return True
        return chip is not None and not simulated and VENDOR_RUNTIME.get(chip.vendor) is self.runtime


def older(driver: str, least: str) -> bool:
    """Whether a driver's version lies before another, compared number by number."""
    return _numbers(driver) < _numbers(least)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
