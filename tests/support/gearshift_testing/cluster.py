"""A real product whose workspaces are pods, in a namespace of its own on the cluster of `with_cluster.py`."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gearshift_testing import running
from gearshift_testing.running import Running

if TYPE_CHECKING:
    from gearshift_hub.backends.kubernetes.api import Cluster, Object

DEPLOYMENT = Path(__file__).with_name("kubernetes.toml")


def is_asked_for() -> bool:
    return os.environ.get("GEARSHIFT_TEST_BACKEND") == "kubernetes"


class Namespace:
    """What of a product is on the cluster, seen past the product."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def api(self) -> Cluster:
        from gearshift_hub.backends.kubernetes.api import Cluster  # with a client that only a cluster needs

        return Cluster()

    def pods(self, owner: str | None = None) -> list[Object]:
        """Of all, or of one person."""
        return [pod for pod in self.listed("pods") if owner is None or _is_of(owner, pod)]

    def secrets(self, owner: str) -> list[Object]:
        """Of one person."""
        return [one for one in self.listed("secrets") if _is_of(owner, one)]

    def listed(self, kind: str) -> list[Object]:
        items: list[Object] = self.api.get(f"/api/v1/namespaces/{self.name}/{kind}")["items"]
        return items

    def delete(self) -> None:
        self.api.delete(f"/api/v1/namespaces/{self.name}")
        self.api.close()


def _is_of(owner: str, found: Object) -> bool:
    return bool(found["metadata"].get("labels", {}).get("gearshift/owner") == owner)


@dataclass
class Pods(Running):
    """A product on a cluster."""

    space: Namespace = field(default_factory=lambda: Namespace(""))


@contextmanager
def product() -> Iterator[Pods]:
    """Started, and ended with its namespace."""
    namespace = f"gearshift-test-{secrets.token_hex(4)}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "deployment.toml"
        file.write_text(deployment(namespace))
        made = Pods(**vars(running.start(file)), space=Namespace(namespace))
        try:
            yield made
        finally:
            code = made.stop()
            made.remove()
            made.space.delete()
    assert code == 0


def deployment(namespace: str) -> str:
    """The deployment file of tests on this cluster."""
    filled = {
        '"NAMESPACE"': namespace,
        '"REACH"': os.environ["GEARSHIFT_TEST_REACH"],
        '"IMAGE"': os.environ["GEARSHIFT_TEST_IMAGE"],
    }
    text = DEPLOYMENT.read_text()
    for word, value in filled.items():
        text = text.replace(word, json.dumps(value))
    return text
