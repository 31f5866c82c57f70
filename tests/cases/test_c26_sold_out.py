"""C26: sold out is said at once, with figures and a way on; a start that fails is never called sold out."""

from __future__ import annotations

import time
from collections.abc import Callable

from gearshift_testing.driving import Driver, took, wanted
from gearshift_testing.evidence import write_server_config
from gearshift_testing.running import Running

Person = Callable[[str], Driver]


def test_c26_the_third_of_two_is_told_at_once_what_is_free(person: Person) -> None:
    first, second, third = person("otto"), person("olga"), person("omar")
    start = took(lambda: first.start("work", "gpu-1"))
    second.start("work", "gpu-1")
    ordinary = took(lambda: third.get("catalog"))
    asked = time.monotonic()
    refused = third.plan("start", name="work", spec=wanted("gpu-1"))
    assert time.monotonic() - asked < 2 + 20 * ordinary
    error = refused.json()["error"]
    assert error["code"] == "sold_out"
    for words in ("gpu-1", "0 of 2 free", "position 1"):
        assert words in error["message"]
    assert error["facts"]["alternatives"]
    assert "已售罄" in error["message_zh"]
    listed = {one["id"]: one for one in third.get("catalog")["machines"]}
    assert (listed["gpu-1"]["free"], listed["gpu-1"]["total"]) == (0, 2)
    first.stop("work")
    asked = time.monotonic()
    assert third.start("work", "gpu-1")["state"] == "ready"
    assert time.monotonic() - asked < 10 + 5 * start


def test_c26_a_start_that_exits_is_start_failed_with_its_exit_code(person: Person, running: Running) -> None:
    otto = person("otto")
    otto.start("work", "gpu-1")
    otto.stop("work")
    write_server_config(running, "otto", "import os\nos._exit(3)\n")
    try:
        failed = otto.ended(otto.begin_start("work", "gpu-1"))
    finally:
        write_server_config(running, "otto", "")
    assert failed["state"] == "failed"
    assert failed["error"]["code"] == "start_failed"
    assert failed["error"]["facts"]["exit"] == 3
    assert "exit 3" in failed["error"]["message"]
