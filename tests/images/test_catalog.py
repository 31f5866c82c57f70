"""The declarations of images: whole, locked, each with a README and a Containerfile, and honest about what is not built."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from gearshift.model.image import Image, Runtime
from gearshift_hub import data
from gearshift_hub.deployment import Deployment, DeploymentError, from_data
from gearshift_hub.images import locking, locks
from gearshift_hub.images.catalog import Catalog, image
from gearshift_hub.images.installer import environment

CATALOG = Catalog()
VARIANTS = {one.name: one for one in CATALOG.variants()}
LOCKED = [name for name, one in VARIANTS.items() if one.digest]
DECLARED = [name for name, one in VARIANTS.items() if not one.digest]
NEXT = "sha256:" + "0" * 64


def deployment(*images: dict[str, object]) -> Deployment:
    raw = tomllib.loads(data.path("gearshift.toml").read_text())
    raw["images"] += list(images)
    raw["machines"][0]["images"] += [one.get("id", one["catalog"]) for one in images]
    return from_data(raw)


def card(name: str) -> Image:
    return image(VARIANTS[name], name, "3.11")


def test_the_images_that_the_readme_promises_are_declared_for_all_runtimes() -> None:
    assert CATALOG.ids == ("base", "cpu", "pytorch", "pytorch-deepspeed")
    pytorch = CATALOG.declaration("pytorch")
    assert pytorch is not None
    assert set(pytorch.runtimes) == set(Runtime)


@pytest.mark.parametrize("name", LOCKED)
def test_a_lock_comes_from_the_requirements_beside_it_and_pins_all_by_hash(name: str) -> None:
    lock = VARIANTS[name].lock.read_text()
    assert locks.recorded_inputs(VARIANTS[name].lock) == locking.inputs(VARIANTS[name])
    pinned = locks.packages(VARIANTS[name].lock)
    entries = re.findall(r"^[a-z0-9]\S*==.*?(?=^\S|\Z)", lock, flags=re.MULTILINE | re.DOTALL)
    assert len(entries) == len(pinned) > 40
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "torch" not in pinned


def test_nothing_is_stale_and_what_has_no_lock_says_what_it_would_need() -> None:
    assert list(locking.stale(CATALOG)) == []
    assert DECLARED
    for name in DECLARED:
        declared = card(name)
        assert declared.is_only_declared
        assert declared.needs is not None
        assert declared.runtime is not Runtime.CPU


def test_a_changed_requirement_makes_every_lock_above_it_stale(tmp_path: Path) -> None:
    for file in CATALOG.folder.rglob("*"):
        if file.is_file():
            target = tmp_path / file.relative_to(CATALOG.folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    commented = tmp_path / "base/requirements.in"
    commented.write_text(commented.read_text() + "# a word\n")
    changed = tmp_path / "pytorch/requirements.in"
    changed.write_text(changed.read_text() + "einops==0.8.2\n")
    told = list(locking.stale(Catalog(tmp_path)))
    assert [sentence.split(":")[0] for sentence in told] == ["pytorch", "pytorch-deepspeed"]


def test_an_image_builds_on_its_parent_with_the_very_same_versions() -> None:
    for name in LOCKED:
        parent = VARIANTS[name].declaration.parent
        if parent is not None:
            above = locks.packages(VARIANTS[parent].lock)
            own = locks.packages(VARIANTS[name].lock)
            assert {p: v for p, v in above.items() if own.get(p, v) != v} == {}


def test_locks_and_gearshifts_own_environment_agree_on_versions() -> None:
    ours = (Path(__file__).resolve().parents[2] / "constraints.txt").read_text()
    pinned = {
        re.sub(r"[-_.]+", "-", name).lower(): version
        for name, version in (line.split("==") for line in ours.split() if "==" in line)
    }
    for name in LOCKED:
        own = locks.packages(VARIANTS[name].lock)
        assert {p: v for p, v in own.items() if p in pinned and pinned[p] != v} == {}


@pytest.mark.parametrize("id", CATALOG.ids)
def test_each_image_has_a_readme_that_promises_and_a_containerfile(id: str) -> None:
    assert "Promises" in (CATALOG.folder / id / "README.md").read_text()
    containerfile = (CATALOG.folder / id / "Containerfile").read_text()
    assert re.search(r"^USER 1000", containerfile, flags=re.MULTILINE)
    for argument in re.findall(r"^ARG (\w+)", containerfile, flags=re.MULTILINE):
        assert argument in ("BASE_IMAGE", "PARENT", "RUNTIME", "TORCH_SPEC", "UV_VERSION", "LOCK", "RECIPE")


def test_a_card_names_the_versions_of_the_lock() -> None:
    shown = card("cpu")
    assert shown.versions["numpy"] == locks.packages(VARIANTS["cpu"].lock)["numpy"]
    assert card("pytorch").versions["torch"] == "2.13.0"
    assert card("pytorch-cuda").minimum_driver
    assert shown.licence
    assert shown.chips == ("any",)


def test_a_deployment_names_an_image_of_the_catalog_by_one_word() -> None:
    there = deployment({"id": "again", "catalog": "cpu"}, {"id": "pinned", "catalog": "base", "digest": NEXT})
    cpu, pinned = there.image("again"), there.image("pinned")
    assert cpu is not None
    assert pinned is not None
    assert (cpu.title.zh, cpu.digest, cpu.has_moved) == ("数据科学", cpu.locked, False)
    assert (pinned.digest, pinned.has_moved) == (NEXT, True)


@pytest.mark.parametrize(
    ("entry", "key", "because"),
    [
        ({"catalog": "cpuu"}, "images[2].catalog", "Did you mean 'cpu'?"),
        ({"id": "mine", "catalog": "cpu", "title": "x"}, "images[2].title", "Allowed: id, catalog, digest"),
        ({"id": "mine", "catalog": "cpu", "digest": "latest"}, "images[2].digest", "gearshift image pin cpu"),
        ({"id": "a b", "catalog": "cpu"}, "images[2].id", ""),
        ({"catalog": ["cpu"]}, "images[2].catalog", "no image of this name"),
        ({"catalog": "pytorch-cuda"}, "machines[0].images", "made for cuda"),
    ],
)
def test_what_is_wrong_with_such_a_table_is_told_by_its_key(
    entry: dict[str, object], key: str, because: str
) -> None:
    with pytest.raises(DeploymentError) as refused:
        deployment(entry)
    told = [str(problem) for problem in refused.value.problems if problem.key == key]
    assert told
    assert because in told[0]


def test_nobody_writes_a_digest_of_a_lock_that_is_not_there() -> None:
    raw = tomllib.loads(data.path("gearshift.toml").read_text())
    raw["images"][0] |= {"locked": NEXT}
    with pytest.raises(DeploymentError, match=r"images\[0\]\.locked: unknown key"):
        from_data(raw)


def test_what_pip_is_told_on_a_box_holds_for_uv_too(tmp_path: Path) -> None:
    ours = {"PATH": "/bin", "SECRET": "x", "GEARSHIFT_TORCH_INDEX": "https://torch.example/cpu"}
    pip = {"index-url": "https://mirror.example/simple", "cert": "/ca.crt", "find-links": f"{tmp_path} /gone"}
    told = environment(ours, pip | {"extra-index-url": "file:///gone https://more.example"})
    assert told == {
        "PATH": "/bin",
        "SSL_CERT_FILE": "/ca.crt",
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "UV_FIND_LINKS": str(tmp_path),
        "UV_INDEX": "https://torch.example/cpu https://more.example",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }
