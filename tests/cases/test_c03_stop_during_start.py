"""C03: stop is legal in every state; a start that never got ready leaves nothing and costs nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

from gearshift_testing.driving import Driver, took, until, wanted
from gearshift_testing.evidence import intervals, trees_of, write_server_config
from gearshift_testing.running import Running

Person = Callable[[str], Driver]


def free(driver: Driver, machine: str) -> int:
    listed = {one["id"]: one for one in driver.get("catalog")["machines"]}
    return int(listed[machine]["free"])


def test_c03_stop_cancels_a_start_that_hangs(person: Person, running: Running) -> None:
    carl = person("carl")
    start_s = took(lambda: carl.start("work"))
    carl.stop("work")
    before, balance, closed = (
        free(carl, "gpu-1"),
        carl.get("me")["balance_nano"],
        len(intervals(carl, "work")),
    )
    write_server_config(running, "carl", "import time\ntime.sleep(60)\n")
    try:
        start = carl.begin_start("work", "gpu-1")
        until(lambda: trees_of(carl, "work"), 20, "its process, which hangs")
        assert carl.workspace("work")["state"] == "starting"
        asked = time.monotonic()
        stop = carl.begin_stop("work")
        assert time.monotonic() - asked < 5 + start_s
        carl.done(stop)
        assert time.monotonic() - asked < 15 + 5 * start_s
        assert carl.ended(start)["state"] == "cancelled"
        assert carl.workspace("work")["state"] == "stopped"
        until(lambda: not trees_of(carl, "work"), 5, "no process is left")
        assert carl.state("work")["pending"] is None
        assert free(carl, "gpu-1") == before
        time.sleep(3)
        assert trees_of(carl, "work") == []
        assert carl.get("me")["balance_nano"] == balance
        assert len(intervals(carl, "work")) == closed
    finally:
        write_server_config(running, "carl", "")


def test_c03_a_machine_that_nobody_has_leaves_the_workspace_stopped(person: Person) -> None:
    carl = person("carl")
    carl.start("work")
    carl.stop("work")
    refused = carl.plan("start", name="work", spec=wanted("gpu-none"))
    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "sold_out"
    assert carl.ended(carl.begin_stop("work"), 15)["state"] == "done"
    assert carl.workspace("work")["state"] == "stopped"
    assert trees_of(carl, "work") == []
