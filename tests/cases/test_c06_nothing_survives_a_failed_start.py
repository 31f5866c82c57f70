"""C06: each start is computed from a clean base; nothing of an earlier attempt is left in the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gearshift_hub.backends.local.cgroups import Groups
from gearshift_testing.driving import Driver, until, wanted
from gearshift_testing.evidence import home_of, intervals, kernel_env, trees_of, write_server_config
from gearshift_testing.running import Running

OWN = ("TOKEN", "SECRET", "KEY", "JPY_", "PID", "TICKET")
"""Parts of names whose values are a secret or a process number, different at each start."""


def launched(driver: Driver, name: str) -> dict[str, Any]:
    """Environment without tokens, labels and limits of what runs, with the person's own names replaced."""
    driver.server(name, "api/kernels", "POST", {"name": "python3"})
    tree = until(lambda: next(iter(trees_of(driver, name)), None), 10, "the tree")
    env = until(lambda: _env(driver, name), 20, "a kernel's environment")
    mine = [str(home_of(driver.product, driver.user)), home_of(driver.product, driver.user).name, driver.user]
    kept = {key: _mine(value, mine) for key, value in env.items()}
    use = Groups(driver.product.home.cgroup).use(tree.name)
    assert use is not None
    return {"env": kept, "labels": {key: _mine(value, mine) for key, value in tree.labels.items()}}


def test_c06_a_failed_gpu_start_leaves_nothing_in_a_cpu_start(
    person: Callable[[str], Driver], running: Running
) -> None:
    anna, bert = person("anna"), person("bert")
    for driver in (anna, bert):  # both have kernel state to come back to
        driver.start("work")
        driver.stop("work")
    assert anna.plan("start", name="work", spec=wanted("gpu-none")).json()["error"]["code"] == "sold_out"
    write_server_config(running, "anna", "import os\nos._exit(3)\n")
    failed = anna.ended(anna.begin_start("work", "gpu-1"))
    assert failed["error"]["code"] == "start_failed"
    write_server_config(running, "anna", "")
    anna.start("work", "cpu-small")
    bert.start("work", "cpu-small")
    first, second = launched(anna, "work"), launched(bert, "work")
    assert first["labels"] == second["labels"]
    assert differing(first["env"], second["env"]) == {}
    assert kernel_env(trees_of(anna, "work")[0])["CUDA_VISIBLE_DEVICES"] == ""
    assert intervals(anna, "work")[-1]["price_per_hour_nano"] == 100_000_000


def differing(first: dict[str, str], second: dict[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """Names whose values differ and are not a secret or a number of this start."""
    names = {name for name in {*first, *second} if not any(part in name for part in OWN)}
    ignored = {"GEARSHIFT_STATE_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERHUB_SERVICE_URL", "GEARSHIFT_TREE"}
    ignored |= {"GEARSHIFT_RESTORE", "GEARSHIFT_RESTORE_STATE"}  # ids: of the start, of what it brings back
    assert ignored & first.keys() == ignored & second.keys()
    return {
        name: (first.get(name), second.get(name))
        for name in sorted(names - ignored)
        if first.get(name) != second.get(name)
    }


def _env(driver: Driver, name: str) -> dict[str, str] | None:
    try:
        return kernel_env(trees_of(driver, name)[0])
    except (AssertionError, IndexError):
        return None


def _mine(value: str, mine: list[str]) -> str:
    for own in mine:
        value = value.replace(own, "<me>")
    return value
