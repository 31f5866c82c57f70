"""What an image is: the environment that kernels and jobs run in, allow-listed and pinned by its digest."""

from __future__ import annotations

from enum import StrEnum

from gearshift.model.record import Record, Text


class Runtime(StrEnum):
    """The kind of chip that an image was built for; `cpu` runs everywhere."""

    CPU = "cpu"
    CUDA = "cuda"
    ROCM = "rocm"
    CANN = "cann"
    XLA = "xla"


VENDOR_RUNTIME = {"nvidia": Runtime.CUDA, "amd": Runtime.ROCM, "huawei": Runtime.CANN, "google": Runtime.XLA}
"""The runtime that a vendor's real chips need; a simulated chip needs none."""


class Image(Record):
    """An image of the catalog; the digest `env` is computed from the lock of our own environment."""

    id: str
    title: Text
    subtitle: Text
    runtime: Runtime
    python: str
    packages: tuple[str, ...] = ()
    digest: str = "env"
