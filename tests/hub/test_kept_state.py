"""Variables over a stop, over the death of a server, and over the end of the whole product, on a real hub."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from gearshift.cli import main
from gearshift.kernel import Kernel
from gearshift_testing.driving import Driver, until
from gearshift_testing.running import Running

Person = Callable[[str], Driver]


@contextmanager
def notebook(driver: Driver, name: str, path: str = "kept.ipynb") -> Iterator[Kernel]:
    """A page on a notebook of the workspace."""
    product = driver.product
    kernel = Kernel(product.server(driver.user, name), product.sign_in(driver.user), path)
    try:
        yield kernel
    finally:
        kernel.close()


def states(driver: Driver, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = driver.get(f"workspaces/{driver.user}/{name}/states")
    return found


def test_a_start_after_a_stop_has_the_variables_and_a_fresh_one_has_not(person: Person) -> None:
    kim = person("kim")
    kim.start("lab")
    with notebook(kim, "lab") as kernel:
        kernel.run("import threading\nepoch = 41\nlock = threading.Lock()")
        old = kernel.kernel_id
    kim.stop("lab")
    (kept,) = states(kim, "lab")
    assert (kept["kind"], kept["reason"]) == ("stop", "asked")
    assert "epoch" in kept["kernels"][0]["variables"]
    assert kept["bytes"] > 0

    started = kim.done(kim.begin("start", workspace="kim/lab"))
    restored = started["result"]["restored"]
    assert (restored["ok"], restored["state"]) == (True, kept["id"])
    told = {one["name"]: one for one in restored["kernels"][0]["variables"]}
    assert told["epoch"]["verdict"] == "copy"
    with notebook(kim, "lab") as kernel:
        assert kernel.kernel_id == old
        assert kernel.run("print(epoch + 1)").text == "42\n"
    kim.stop("lab")

    kim.done(kim.begin("start", workspace="kim/lab", state="none"))
    with notebook(kim, "lab") as kernel:
        assert kernel.run("print('epoch' in dir())").text == "False\n"


def test_after_a_server_that_was_killed_the_last_snapshot_comes_back(person: Person) -> None:
    lee = person("lee")
    lee.start("lab")
    with notebook(lee, "lab") as kernel:
        kernel.run("epoch = 1")
        snapshot = lee.done(lee.post("workspaces/lee/lab/states", {"note": "epoch 1"}))
        kernel.run("epoch = 2\nspoiled = True")
        restore = lee.done(lee.begin("restore_state", workspace="lee/lab", state=snapshot["id"]))
        assert restore["result"]["restored"]["ok"]
        assert kernel.run("print(epoch, spoiled)").text == "1 True\n"
        kernel.run("epoch = 3")
    os.kill(lee.state("lab")["pid"], signal.SIGKILL)
    until(lambda: lee.workspace("lab")["state"] in ("stopped", "failed"), 30, "control knows of the death")
    lee.done(lee.begin("start", workspace="lee/lab"))
    with notebook(lee, "lab") as kernel:
        assert kernel.run("print(epoch, 'spoiled' in dir())").text == "1 False\n"


def test_what_the_person_changed_on_disk_is_refused_and_the_start_goes_on(
    person: Person, running: Running
) -> None:
    ned = person("ned")
    ned.start("lab")
    with notebook(ned, "lab") as kernel:
        kernel.run("x = 1")
    ned.stop("lab")
    (kept,) = states(ned, "lab")
    (manifest,) = running.home.kernels.glob(f"*/{kept['id']}/manifest.json")
    manifest.write_text(manifest.read_text().replace("python3", "evil"))
    started = ned.done(ned.begin("start", workspace="ned/lab"))
    restored = started["result"]["restored"]
    assert (restored["ok"], restored["error"]["code"]) == (False, "state_refused")
    assert ned.workspace("lab")["state"] == "ready"
    assert [one["id"] for one in states(ned, "lab")] == [kept["id"]]


def test_a_deleted_workspace_is_gone_from_hub_and_box_and_the_files_stay(
    person: Person, running: Running
) -> None:
    ola = person("ola")
    ola.start("lab")
    assert ola.server(
        "lab", "api/contents/mine.txt", "PUT", {"type": "file", "format": "text", "content": "x"}
    )
    with notebook(ola, "lab") as kernel:
        kernel.run("x = 1")
    ola.stop("lab")
    (kept,) = states(ola, "lab")
    folders = [path.parent for path in running.home.kernels.glob(f"*/{kept['id']}")]
    ola.done(ola.begin("delete_workspace", workspace="ola/lab"))
    assert ola.get("workspaces") == []
    assert "lab" not in running.hub("GET", "users/ola").json().get("servers", {})
    assert [folder.exists() for folder in folders] == [False]
    assert list(running.home.homes.glob("*/mine.txt"))
    ola.start("lab")
    assert ola.server("lab", "api/contents/mine.txt").json()["content"] == "x"


def test_the_command_line_takes_lists_restores_and_deletes(
    person: Person, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pam = person("pam")
    pam.start("lab")
    monkeypatch.setenv("GEARSHIFT_URL", pam.product.url)
    monkeypatch.setenv("GEARSHIFT_TOKEN", pam.product.sign_in("pam"))

    def said(*words: str, status: int = 0) -> str:
        assert main(words) == status
        captured = capsys.readouterr()
        return captured.out if status == 0 else captured.err

    with notebook(pam, "lab") as kernel:
        kernel.run("epoch = 1")
        said("state", "take", "lab", "--note", "first")
        (kept,) = states(pam, "lab")
        listed = said("state", "ls", "lab")
        assert kept["id"] in listed
        assert "first" in listed
        kernel.run("epoch = 2")
        assert "Nobody is here to say yes" in said("state", "restore", "lab", kept["id"], status=2)
        assert "is back in lab" in said("state", "restore", "lab", kept["id"], "--yes")
        assert kernel.run("print(epoch)").text == "1\n"
    assert "stop it first" in said("delete", "lab", "--yes", status=2)
    said("state", "delete", "lab", kept["id"], "--yes")
    assert kept["id"] not in said("state", "ls")
    said("stop", "lab", "--yes")
    said("start", "lab", "--fresh", "--yes")
    with notebook(pam, "lab") as kernel:
        assert kernel.run("print('epoch' in dir())").text == "False\n"
    said("stop", "lab", "--yes")
    said("delete", "lab", "--yes")
    assert pam.get("workspaces") == []
