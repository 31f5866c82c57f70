"""Images as containers: they keep the promises of their environments, and hold nothing of what this box knows of networks.

Built from nothing, up to `cpu`; GEARSHIFT_ALL_IMAGES=1 builds the chain up to `pytorch-deepspeed`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from gearshift_hub.images import locks, oci
from gearshift_hub.images.catalog import Catalog, Variant
from gearshift_hub.images.containers import Containers
from gearshift_hub.images.oci import Built, Forge
from gearshift_hub.paths import Home
from gearshift_testing import debian

pytestmark = pytest.mark.skipif(bool(debian.obstacle()), reason=debian.obstacle() or "containers can be made")
SECRET = "of-this-box-alone"
ALL = bool(os.environ.get("GEARSHIFT_ALL_IMAGES"))
CHAIN = ["base", "cpu", *(["pytorch", "pytorch-deepspeed"] if ALL else [])]


@dataclass(frozen=True)
class Yard:
    """A container store with the chain in it."""

    home: Path
    forge: Forge

    def variant(self, name: str) -> Variant:
        found = Catalog().named(name)
        assert found is not None
        return found

    def built(self, name: str) -> Built:
        found = self.forge.find(self.variant(name))
        assert found is not None
        return found

    def gearshift(self, *words: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "GEARSHIFT_HOME": str(self.home), oci.BASE_IMAGE: debian.NAME}
        argv = [sys.executable, "-P", "-m", "gearshift_hub.images", *words]
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """The chain, built by the command with a secret in every setting that reaches a build."""
    home = tmp_path_factory.mktemp("containers")
    containers = Containers(Home(home))
    containers.environment()
    debian.put(containers)
    made = Yard(home, Forge(Catalog(), containers))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NO_PROXY", f"{SECRET}.example")
        sources = home / "apt.sources"
        sources.write_text(f"# {SECRET}\n{debian.SOURCES.read_text()}")
        patched.setenv(oci.APT_SOURCES_ENV, str(sources))
        done = made.gearshift("build", CHAIN[-1], "--as", "oci")
    assert done.returncode == 0, done.stderr
    yield made
    containers.remove()


@pytest.mark.parametrize("name", CHAIN)
def test_a_container_keeps_the_promises_of_its_image_with_a_closed_root(yard: Yard, name: str) -> None:
    proven = yard.gearshift("test", name, "--as", "oci")
    assert proven.returncode == 0, proven.stdout + proven.stderr
    assert "BROKEN" not in proven.stdout
    for promise in (
        "its packages are those of its lock",
        "nothing but home and scratch can be written",
        "a kernel starts and answers",
    ):
        assert f"holds   {promise}" in proven.stdout
    assert ("two ranks agree on a sum" in proven.stdout) == bool(yard.variant(name).torch)


def test_what_this_box_knows_of_networks_is_in_no_layer_history_or_config(yard: Yard) -> None:
    store = yard.forge.containers.root / "store"
    found = subprocess.run(
        ["grep", "-rlF", "--devices=skip", SECRET, str(store)], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (1, "")
    history = yard.forge.containers.buildah("inspect", "--type", "image", yard.built("cpu").reference)
    assert "install.sh" in history
    assert SECRET not in history


def test_an_image_says_what_it_is_and_runs_as_a_person_under_tini(yard: Yard) -> None:
    built = yard.built("cpu")
    said = json.loads(yard.forge.containers.podman("image", "inspect", built.reference))[0]
    config, labels = said["Config"], said["Labels"]
    assert config["User"] == "1000"
    assert config["Entrypoint"] == ["tini", "-g", "--"]
    assert labels["org.opencontainers.image.title"] == "Data science"
    assert labels["org.opencontainers.image.licenses"] == yard.variant("cpu").declaration.licence
    assert labels["org.opencontainers.image.version"]
    assert labels["gearshift.lock"] == built.lock == yard.variant("cpu").digest
    assert said["Annotations"].items() >= labels.items() - {
        ("io.buildah.version", labels.get("io.buildah.version"))
    }


def test_its_layers_are_zstd_and_its_digest_is_the_one_to_pin(yard: Yard, tmp_path: Path) -> None:
    built = yard.built("cpu")
    saved = tmp_path / "cpu.tar"
    assert yard.gearshift("save", "cpu", str(saved)).returncode == 0
    with tarfile.open(saved) as archive:
        index = json.load(archive.extractfile("index.json"))  # type: ignore[arg-type]
        manifest = archive.extractfile(f"blobs/sha256/{built.digest.partition(':')[2]}").read()  # type: ignore[union-attr]
    assert index["manifests"][0]["digest"] == built.digest == locks.digest_of(manifest.decode())
    kinds = {layer["mediaType"] for layer in json.loads(manifest)["layers"]}
    assert kinds == {"application/vnd.oci.image.layer.v1.tar+zstd"}
    pinned = yard.gearshift("pin", "cpu", "--as", "oci").stdout
    assert pinned == f'cpu = "REGISTRY/cpu@{built.digest}"\n'


def test_its_list_of_parts_names_every_package_of_python_and_of_debian(yard: Yard) -> None:
    file = yard.forge.folder(yard.variant("cpu")) / oci.SBOM
    assert locks.digest_of(file.read_text()) == yard.built("cpu").sbom
    listed = json.loads(file.read_text())
    assert listed["spdxVersion"] == "SPDX-2.3"
    purls = {part["externalRefs"][0]["referenceLocator"] for part in listed["packages"][1:]}
    pinned = locks.packages(yard.variant("cpu").lock)
    assert f"pkg:pypi/numpy@{pinned['numpy']}" in purls
    assert any(purl.startswith("pkg:deb/debian/tini@") for purl in purls)
    assert len(listed["packages"]) == len({part["SPDXID"] for part in listed["packages"]})


def test_a_second_build_is_the_same_image(yard: Yard) -> None:
    identity = ("image", "inspect", "--format", "{{.Id}}", yard.built("cpu").reference)
    before = yard.forge.containers.podman(*identity)
    assert yard.gearshift("build", "cpu", "--as", "oci").returncode == 0
    assert yard.forge.containers.podman(*identity) == before


@pytest.mark.parametrize(("name", "said"), [("pytorch-cuda", "is only declared"), ("marimo", "is an app")])
def test_what_has_no_container_is_refused_in_a_sentence(yard: Yard, name: str, said: str) -> None:
    refused = yard.gearshift("build", name, "--as", "oci")
    assert refused.returncode == 2
    assert said in refused.stderr
