"""Environments of images on this box, made in the background when the first workspace or job asks for one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gearshift.model.errors import fail
from gearshift.model.image import Image, Making

from gearshift_hub.backends.images import ImageStore
from gearshift_hub.images.environments import ChangedError, Environments
from gearshift_hub.paths import Home

TAIL_BYTES = 2000


@dataclass(frozen=True)
class _Build:
    process: subprocess.Popen[bytes]
    log: Path


class LocalImages(ImageStore):
    """One builder for each image at a time, in a process of its own."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._environments = Environments(home)
        self._builds: dict[str, _Build] = {}

    def prefix(self, image: Image) -> str:
        return "" if image.is_own else str(self._environments.folder(image.digest))

    def is_there(self, image: Image) -> bool:
        return image.is_own or self._environments.find(image.digest) is not None

    def check(self, image: Image) -> None:
        environment = None if image.is_own else self._environments.find(image.digest)
        if environment is None:
            return
        try:
            self._environments.check(environment)
        except ChangedError as changed:
            facts = {"built": changed.built, "found": changed.found, "names": ", ".join(changed.names[:5])}
            raise fail("image_changed", field="image", value=image.id, **facts) from changed

    def ensure(self, image: Image) -> Making | None:
        if self.is_there(image):
            self.check(image)
            return None
        build = self._builds.get(image.catalog) or self._begin(image)
        if build.process.poll() is None:
            return stage(said_last(build.log))
        del self._builds[image.catalog]
        if self.is_there(image):
            return None
        raise fail("image_failed", field="image", value=image.id, why=_sentence(said_last(build.log)))

    def close(self) -> None:
        for build in self._builds.values():
            with suppress(ProcessLookupError):
                os.killpg(build.process.pid, signal.SIGKILL)
            build.process.wait()
        self._builds.clear()

    def _begin(self, image: Image) -> _Build:
        log = self._home.logs / f"image-{image.catalog}.log"
        argv = ["nice", sys.executable, "-P", "-m", "gearshift_hub.images", "build", image.catalog]
        env = {**os.environ, "GEARSHIFT_HOME": str(self._home.root)}
        with log.open("wb") as output:
            process = subprocess.Popen(
                argv, env=env, stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True
            )
        return self._builds.setdefault(image.catalog, _Build(process, log))


def said_last(log: Path) -> str:
    """The last line of a builder's log."""
    try:
        text = log.read_bytes()[-TAIL_BYTES:].decode("utf-8", "replace")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def stage(said: str) -> Making:
    """What such a line tells; anything else was said before the first."""
    word = said.partition(":")[0]
    return Making(word) if word in list(Making) else Making.BEGIN


def _sentence(said: str) -> str:
    return said if said.endswith(".") else f"{said or 'its builder said nothing'}."
