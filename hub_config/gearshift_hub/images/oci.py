"""Images as containers: built from the same lock as the environment, one on the other, and kept as an OCI layout.

images/oci/store/            buildah's and podman's own
images/oci/out/<name>/       the image as zstd layers, with its SBOM and a record of its digest
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from gearshift_hub.images import installer, locks, sbom
from gearshift_hub.images.catalog import Catalog, Variant
from gearshift_hub.images.containers import ContainerError, Containers

BASE_IMAGE = "GEARSHIFT_BASE_IMAGE"
"""What the first image builds on, where it is not the one of the catalog: a mirror's, or one in the store already."""
APT_SOURCES_ENV = "GEARSHIFT_APT_SOURCES"
"""A file with the sources of Debian for the build; without it those of this box, where it is of the same release."""
APT_SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
RECORD, SBOM, LAYOUT = "record.json", "sbom.spdx.json", "layout"
ANNOTATION = "org.opencontainers.image"
WHEELS = "wheels"
RECIPE = "install.sh"


@dataclass(frozen=True)
class Built:
    """A finished one."""

    image: str
    reference: str
    """Its name in the store."""
    lock: str
    recipe: str
    """Of all else that it was made from: files, parent, base image."""
    digest: str
    """Of the manifest with zstd layers: what a registry and a deployment file know it by."""
    sbom: str
    """The digest of its list of parts."""
    size_bytes: int
    """As it is sent."""
    seconds: float


class Forge:
    """Builds the images of a catalog on this box."""

    def __init__(self, catalog: Catalog, containers: Containers) -> None:
        self._catalog = catalog
        self.containers = containers

    def folder(self, variant: Variant) -> Path:
        return self.containers.root / "out" / variant.name

    def find(self, variant: Variant) -> Built | None:
        """None while it is not there, or was built from another lock."""
        try:
            said = json.loads((self.folder(variant) / RECORD).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return Built(**said) if said.get("lock") == variant.digest and "recipe" in said else None

    def build(self, variant: Variant, again: bool = False) -> Built:
        """The image and those it builds on; what is there of the same lock and recipe is not made anew unless `again`."""
        began = time.monotonic()
        above = self._above(variant)
        parent = self.build(above, again) if above else None
        recipe, there = self._recipe(variant, parent), self.find(variant)
        if there and there.recipe == recipe and not again:
            return there
        words = self._words(variant, parent.reference if parent else "", again)
        with secrets() as given:
            self.containers.buildah(*words, *given, str(self._catalog.folder))
        return self._publish(variant, recipe, began)

    def _recipe(self, variant: Variant, parent: Built | None) -> str:
        files = (
            self._catalog.folder / variant.declaration.id / "Containerfile",
            self._catalog.folder / RECIPE,
        )
        below = parent.digest if parent else _base(variant)
        return locks.digest_of("\n".join([*(file.read_text("utf-8") for file in files), below]))

    def _above(self, variant: Variant) -> Variant | None:
        if variant.app is not None:
            raise ContainerError(f"{variant.name} is an app: apps have only the form of an environment")
        parent = variant.declaration.parent
        return self._catalog.variant(parent, variant.runtime) if parent else None

    def _words(self, variant: Variant, parent: str, again: bool) -> Iterator[str]:
        yield from (
            "bud",
            "--isolation",
            "chroot",
            "--network",
            "host",
            "--http-proxy=false",
            "--format",
            "oci",
        )
        yield from ("--layers", "--quiet", *(["--no-cache"] if again else []))
        arguments = {"PARENT": parent} if parent else {"BASE_IMAGE": _base(variant)}
        arguments |= {"RUNTIME": variant.runtime.value, "LOCK": variant.digest}
        arguments["RECIPE"] = locks.digest(self._catalog.folder / RECIPE)
        arguments |= (
            {"TORCH_SPEC": variant.torch} if variant.declaration.id == "pytorch" and variant.torch else {}
        )
        for key, value in arguments.items():
            yield from ("--build-arg", f"{key}={value}")
        for key, value in labels(variant).items():
            yield from ("--label", f"{key}={value}", "--annotation", f"{key}={value}")
        yield from ("--file", str(self._catalog.folder / variant.declaration.id / "Containerfile"))
        yield from ("--tag", reference(variant))

    def _publish(self, variant: Variant, recipe: str, began: float) -> Built:
        """Layers as zstd, the list of parts beside them; the record is written last."""
        name = reference(variant)
        folder, draft = self.folder(variant), self.folder(variant).with_suffix(".new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        target = f"oci:{draft / LAYOUT}:{variant.name}"
        self.containers.buildah(
            "push", "--quiet", "--compression-format", "zstd", "--compression-level", "3", name, target
        )
        parts = sbom.document(variant.name, self._installed(name), self._debian(name))
        (draft / SBOM).write_text(json.dumps(parts, indent=1), "utf-8")
        index = json.loads((draft / LAYOUT / "index.json").read_text("utf-8"))
        built = Built(
            image=variant.name,
            reference=name,
            lock=variant.digest,
            recipe=recipe,
            digest=index["manifests"][0]["digest"],
            sbom=sbom.digest(draft / SBOM),
            size_bytes=sum(blob.stat().st_size for blob in (draft / LAYOUT / "blobs/sha256").iterdir()),
            seconds=round(time.monotonic() - began, 2),
        )
        (draft / RECORD).write_text(json.dumps(asdict(built), indent=1), "utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
        return built

    def _installed(self, name: str) -> Mapping[str, str]:
        said = self._asked(name, ["python", "-I", "-c", sbom.PYTHON_PARTS])
        return dict(line.split("==") for line in said.split())

    def _debian(self, name: str) -> Mapping[str, str]:
        said = self._asked(name, ["dpkg-query", "-W", "-f", "${Package}==${Version}\n"])
        return dict(line.split("==") for line in said.split())

    def _asked(self, name: str, command: list[str]) -> str:
        argv = self.containers.inside(name, command)
        env = self.containers.environment()
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ContainerError(f"{name} does not run: {done.stderr.strip()[-300:]}")
        return done.stdout


def reference(variant: Variant) -> str:
    """The name in the store; the tag is of the lock, so that another lock is another image."""
    return f"localhost/gearshift/{variant.name}:{variant.digest.removeprefix('sha256:')[:16]}"


def _base(variant: Variant) -> str:
    return os.environ.get(BASE_IMAGE) or variant.table.base_image


def labels(variant: Variant) -> dict[str, str]:
    """What the image says of itself, in the words that the OCI has for it."""
    said = {
        "title": variant.declaration.title.en,
        "description": variant.declaration.subtitle.en,
        "version": metadata.version("gearshift"),
        "licenses": variant.declaration.licence,
        "revision": _revision(),
    }
    return {f"{ANNOTATION}.{key}": value for key, value in said.items() if value} | {
        "gearshift.lock": variant.digest
    }


@contextmanager
def secrets() -> Iterator[list[str]]:
    """What this box knows of networks, as build secrets and mounts: they are there during a step and in no layer."""
    with tempfile.TemporaryDirectory() as folder:
        told = installer.environment(dict(os.environ), installer.pip_settings())
        settings = Path(folder) / "settings"
        settings.write_text(spoken(told), "utf-8")
        words = ["--secret", f"id=settings,src={settings}"]
        if certificates := told.get("SSL_CERT_FILE"):
            words += ["--secret", f"id=ca,src={certificates}"]
        if sources := _apt_sources():
            words += ["--secret", f"id=aptsources,src={sources}"]
        for place in told.get("UV_FIND_LINKS", "").split():
            if any(Path(place.removeprefix("file://")).glob("torch-*.whl")):
                words += ["--build-context", f"{WHEELS}={place.removeprefix('file://')}"]
                break
        yield words


def spoken(told: Mapping[str, str]) -> str:
    """The settings of uv and pip as shell lines, without folders of this box: no step sees those."""
    indexes = [word for word in told.get("UV_INDEX", "").split() if not word.startswith("file:")]
    network = {name: value for name, value in told.items() if name.lower().endswith("_proxy")}
    torch = os.environ.get(installer.TORCH_INDEX, "")
    said = network | {
        "UV_DEFAULT_INDEX": told.get("UV_DEFAULT_INDEX", ""),
        "PIP_INDEX_URL": told.get("UV_DEFAULT_INDEX", ""),
        "UV_INDEX": " ".join(word for word in indexes if word != torch),
        "UV_INDEX_STRATEGY": told.get("UV_INDEX_STRATEGY", ""),
        "TORCH_INDEX": torch,
        "PIP_CERT": "/run/ca.crt" if "SSL_CERT_FILE" in told else "",
    }
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in said.items() if value)


def _apt_sources() -> str:
    """What was named, else those of this box if it is a bookworm too, as the catalog's base is."""
    release = Path("/etc/os-release")
    same = release.exists() and re.search(r"^VERSION_CODENAME=bookworm$", release.read_text(), re.M)
    ours = str(APT_SOURCES) if same and APT_SOURCES.exists() else ""
    return os.environ.get(APT_SOURCES_ENV) or ours


def _revision() -> str:
    """Of the checkout that this is run from; nothing where there is none."""
    argv = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
