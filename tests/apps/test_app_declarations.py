"""The declarations of apps: whole, locked where they start, and none claims more than was seen."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest
from gearshift_hub import data, doctor
from gearshift_hub.deployment import DeploymentError, catalog_images, from_data
from gearshift_hub.images import apps, locking, locks
from gearshift_hub.images.catalog import Catalog
from gearshift_testing.app_uses import USES

CATALOG = Catalog()
STARTED = [id for id, one in CATALOG.apps.items() if one.is_locked]
LAUNCHED = [id for id, one in CATALOG.apps.items() if one.check.how == "launched"]


def test_fifty_apps_have_a_card_and_each_launched_one_a_test_that_uses_it() -> None:
    assert len(CATALOG.apps) >= 50
    assert set(LAUNCHED) == set(USES)


@pytest.mark.parametrize("id", CATALOG.apps)
def test_a_declaration_speaks_both_languages_and_is_no_image_besides(id: str) -> None:
    declared = CATALOG.apps[id]
    assert declared.about.en
    assert any("\u4e00" <= letter <= "\u9fff" for letter in declared.about.zh)
    variant = CATALOG.app(id)
    assert variant is not None
    assert variant.lock.exists() == declared.is_locked
    assert CATALOG.variant(id) is None, "an app and an image of one name"


@pytest.mark.parametrize("id", STARTED)
def test_what_can_start_is_locked_by_hash_from_what_its_file_asks_for(id: str) -> None:
    variant = CATALOG.app(id)
    assert variant is not None
    text = variant.lock.read_text()
    assert locks.recorded_inputs(variant.lock) == locking.inputs(variant)
    assert all("--hash=sha256:" in entry for entry in text.split("\n") if entry.startswith("    --hash"))
    pinned = locks.packages(variant.lock)
    assert set(CATALOG.apps[id].main) <= set(pinned)
    assert all("==" in asked for asked in CATALOG.apps[id].packages)


@pytest.mark.parametrize("id", LAUNCHED)
def test_a_launched_app_is_the_one_that_was_launched(id: str) -> None:
    variant, check = CATALOG.app(id), CATALOG.apps[id].check
    assert variant is not None
    pinned = locks.packages(variant.lock)
    assert {name: pinned[name] for name in check.versions} == check.versions
    assert set(CATALOG.apps[id].main) == set(check.versions)


def changed(folder: Path, **keys: str) -> Path:
    """A folder with marimo's declaration, some lines of it replaced."""
    (folder / apps.FOLDER).mkdir()
    lines = (CATALOG.folder / apps.FOLDER / "marimo.toml").read_text().splitlines()
    kept = [line for line in lines if line.partition(" = ")[0] not in keys]
    (folder / apps.FOLDER / "marimo.toml").write_text("\n".join([*(v for v in keys.values() if v), *kept]))
    return folder


@pytest.mark.parametrize(
    ("key", "line", "said"),
    [
        ("colour", 'colour = "red"', "marimo.toml: colour: Extra inputs are not permitted"),
        ("title", 'title = { en = "a", zh = "b", fr = "c" }', "marimo.toml: title.fr: Extra inputs"),
        ("check", 'check = { how = "launched", on = 2026-12-01 }', "versions belong to a launched app"),
        ("check", 'check = { how = "declared" }', "a declared app says what it needs"),
        ("command", 'command = ["marimo", "{prot}"]', "unknown place {prot}"),
        ("command", 'command = ["marimo"]', "never says {port}"),
        ("home_page", 'home_page = "http://marimo.io"', "marimo.toml: home_page: "),
        ("id", 'id = "other"', "marimo.toml: id: it must be 'marimo'"),
        ("licence", "", "marimo.toml: licence: Field required"),
    ],
)
def test_what_is_wrong_is_refused_with_its_path(tmp_path: Path, key: str, line: str, said: str) -> None:
    found, faults = apps.read(changed(tmp_path, **{key: line}))
    assert found == {}
    assert said in faults["marimo"]


def copied(folder: Path) -> Path:
    """The declarations, to be spoiled."""
    shutil.copytree(CATALOG.folder, folder / "images")
    return folder / "images"


def test_a_faulty_declaration_is_left_out_and_told_and_the_others_are_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(tmp_path)
    (folder / "apps/dash.toml").write_text("id = [")
    (folder / "apps/voila.toml").write_bytes(b"\xff\xfe")
    whole = (folder / "catalog.toml").read_text()
    (folder / "catalog.toml").write_text(whole.replace('parent = "cpu"', 'parent = "cqu"'))
    spoiled = Catalog(folder)
    assert set(spoiled.faults) == {"dash", "voila", "pytorch", "pytorch-deepspeed"}
    assert spoiled.ids == ("base", "cpu")
    assert set(CATALOG.apps) - set(spoiled.apps) == {"dash", "voila"}
    assert "A declaration is left out. apps/dash.toml: it is not TOML" in caplog.text

    told = [finding for finding in doctor._declarations(spoiled) if finding.state == "less"]
    assert any("catalog.toml: pytorch: parent: 'cqu'" in finding.text for finding in told)

    monkeypatch.setattr(catalog_images, "_catalog", lambda: spoiled)
    offered = from_data(deployment(apps=["dash", "marimo"]))
    assert offered.image("dash") is None
    assert offered.image("marimo") is not None


def deployment(**more: object) -> dict[str, object]:
    return tomllib.loads(data.path("gearshift.toml").read_text()) | more


def test_an_app_is_offered_where_the_machine_has_its_memory() -> None:
    raw = deployment(apps=["marimo", "vllm"])
    raw["machines"][0]["memory"] = "512 MiB"  # type: ignore[index]
    offered = from_data(raw)
    image = offered.image("marimo")
    assert image is not None
    assert image.app is not None
    assert image.can_start
    declared = offered.image("vllm")
    assert declared is not None
    assert not declared.can_start
    assert "marimo" not in offered.machines[0].images
    assert all("marimo" in machine.images for machine in offered.machines[1:])


def test_an_app_that_nobody_declared_is_refused_with_its_path() -> None:
    with pytest.raises(DeploymentError) as refused:
        from_data(deployment(apps=["marino"]))
    assert refused.value.problems[0].key == "apps[0]"
    assert "Did you mean 'marimo'?" in str(refused.value)
