"""A workspace in an image of the catalog, on the running product: made at its first start, apart from Gearshift's own
environment, with Gearshift's kernel parts working inside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gearshift.kernel import Kernel, KernelError
from gearshift_hub.images.catalog import Catalog
from gearshift_hub.images.environments import Environments
from gearshift_testing.driving import Driver, wanted
from gearshift_testing.person_packages import INSTALL
from gearshift_testing.running import Running
from gearshift_testing.submitting import ended, log_of, submit

MAKING_S = 300.0
"""Its packages come over the network."""
WHERE = "import sys; print(sys.prefix)"
APART = """
import importlib.util, os, sys
paths = [path for path in sys.path if 'site-packages' in path and not path.startswith((sys.prefix, os.path.expanduser('~')))]
found = [name for name in ('torch', 'jupyterhub', 'gearshift_hub') if importlib.util.find_spec(name)]
print(paths, found, importlib.util.find_spec('gearshift') is not None)
"""
TERMINAL = "import shutil; print(shutil.which('python') == sys.executable, shutil.which('jupyterhub'))"


def kernel_of(driver: Driver, name: str) -> Kernel:
    product = driver.product
    return Kernel(product.server(driver.user, name), product.sign_in(driver.user), "where.ipynb")


def base(product: Running) -> str:
    """Where the environment of `base` lies."""
    variant = Catalog().variant("base")
    assert variant is not None
    return str(Environments(product.home).folder(variant.digest))


def switched(driver: Driver, name: str, image: str) -> None:
    """To another image on the same machine."""
    workspace = f"{driver.user}/{name}"
    driver.done(driver.begin("switch", workspace=workspace, machine="cpu-small", image=image))


def test_a_workspace_runs_in_its_image_and_is_switched_with_its_variables(
    person: Callable[[str], Driver],
) -> None:
    driver = person("imagine")
    operation = driver.begin("start", name="plain", spec=wanted("cpu-small", image="base"))
    driver.done(operation, MAKING_S)

    kernel = kernel_of(driver, "plain")
    assert kernel.run(WHERE).text.strip() == base(driver.product)
    assert kernel.run(APART).text == "[] [] True\n"
    assert kernel.run(TERMINAL).text == "True None\n"
    assert "usage" in kernel.run("%load_ext gearshift\n%gearshift help").text.lower()
    assert kernel.run("from gearshift import cell_clock; print(bool(cell_clock.seconds()))").text == "True\n"
    assert kernel.run("import os; print(os.access(sys.prefix, os.W_OK))").text == "False\n"

    kernel.run("def double(number): return 2 * number\nkept = {'answer': double(21)}")
    driver.switch("plain", "cpu-large")
    again = kernel_of(driver, "plain")
    assert (
        again.run("print(kept, double(4), sys.prefix)").text == f"{{'answer': 42}} 8 {base(driver.product)}\n"
    )


def test_the_other_image_is_as_it_was(person: Callable[[str], Driver]) -> None:
    driver = person("imagine")
    driver.start("own")
    kernel = kernel_of(driver, "own")
    assert kernel.run(WHERE).text.strip() != base(driver.product)
    assert kernel.run("import torch; print(torch.ones(2).sum().item())").text == "2.0\n"


def test_a_job_runs_in_the_image_that_it_names(person: Callable[[str], Driver]) -> None:
    driver = person("imagine")
    code = "import sys, gearshift.train\nprint(sys.prefix)\ngearshift.train.result(sys.version_info[:2])"
    job = ended(driver, submit(driver, code, image="base"), MAKING_S)
    assert (job["state"], log_of(driver, job["id"]).strip()) == ("succeeded", base(driver.product))


def test_c08_what_a_person_installs_stays_with_its_image_across_a_switch(
    person: Callable[[str], Driver],
) -> None:
    driver = person("imagine")
    driver.start("packages", image="base")
    kernel_of(driver, "packages").run(INSTALL)
    kernel = kernel_of(driver, "packages")
    assert kernel.run("import demo_a, tornado; print(demo_a.VALUE, tornado.__file__)").text.startswith(
        f"17 {base(driver.product)}"
    )

    switched(driver, "packages", "pytorch")
    other = kernel_of(driver, "packages")
    assert other.run("import importlib.util; print(importlib.util.find_spec('demo_a'))").text == "None\n"
    assert other.run("import sys, tornado; print(tornado.__file__.startswith(sys.prefix))").text == "True\n"

    switched(driver, "packages", "base")
    assert kernel_of(driver, "packages").run("import demo_a; print(demo_a.VALUE)").text == "17\n"
    driver.stop("packages")
    driver.done(
        driver.begin(
            "start", name="packages", spec=wanted("cpu-small", image="base"), state="none", safe=True
        )
    )
    with pytest.raises(KernelError, match="No module named 'demo_a'"):
        kernel_of(driver, "packages").run("import demo_a")


def test_an_environment_that_somebody_changed_is_refused_before_anything_starts(
    person: Callable[[str], Driver],
) -> None:
    driver = person("imagine")
    there = Path(base(driver.product))
    intruder = there / f"lib/python{there.name.rpartition('-py')[2]}/site-packages/intruder-1.0.dist-info"
    intruder.mkdir()
    try:
        refused = driver.plan("start", name="never", spec=wanted("cpu-small", image="base")).json()["error"]
    finally:
        intruder.rmdir()
    assert (refused["code"], refused["facts"]["names"]) == ("image_changed", "intruder")
    assert refused["facts"]["built"] != refused["facts"]["found"]
    assert refused["facts"]["found"] in refused["message"]
    assert "never" not in [workspace["name"] for workspace in driver.get("workspaces")]


def test_the_environment_keeps_its_promises_and_a_second_build_is_the_same_one(running: Running) -> None:
    env = {**os.environ, "GEARSHIFT_HOME": str(running.home.root)}
    gearshift = [sys.executable, "-P", "-m", "gearshift_hub.images"]
    built = subprocess.run([*gearshift, "build", "base"], env=env, capture_output=True, text=True, check=True)
    assert built.stdout.startswith("base: ")
    proven = subprocess.run(
        [*gearshift, "test", "base"], env=env, capture_output=True, text=True, check=False
    )
    assert proven.returncode == 0, proven.stdout + proven.stderr
    assert "holds   its packages are those of its lock" in proven.stdout
    assert "holds   a kernel starts and answers" in proven.stdout
    assert "BROKEN" not in proven.stdout
