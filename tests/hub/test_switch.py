"""A switch as the hub sees it: the old tree is frozen, the new one starts; then one of them is left, with its token."""

from __future__ import annotations

from collections.abc import Callable

from gearshift_testing.driving import Driver
from gearshift_testing.evidence import server_token, trees_of, whoami, write_server_config
from gearshift_testing.running import Running

Person = Callable[[str], Driver]


def test_a_switch_leaves_the_new_tree_and_only_its_token(person: Person) -> None:
    sam = person("sam")
    sam.start("work")
    old, old_token = sam.state("work"), server_token(sam, "work")
    sam.switch("work", "sim-1")
    new, new_token = sam.state("work"), server_token(sam, "work")
    assert new["ready"] is True
    assert new["frozen"] is False
    assert new["tree"] != old["tree"]
    assert [tree.name for tree in trees_of(sam, "work")] == [new["tree"]]
    assert whoami(sam, old_token).status_code == 403
    assert whoami(sam, new_token).status_code == 200
    assert sam.server("work", "api/status").status_code == 200
    assert sam.workspace("work")["spec"]["machine"] == "sim-1"


def test_a_switch_whose_start_fails_ends_on_the_old_process_thawed(person: Person, running: Running) -> None:
    sam = person("sam")
    sam.start("work")
    old, token = sam.state("work"), server_token(sam, "work")
    write_server_config(running, "sam", "import os\nos._exit(3)\n")
    try:
        plan = sam.begin("switch", workspace="sam/work", machine="sim-1")
        ended = sam.ended(plan)
    finally:
        write_server_config(running, "sam", "")
    assert ended["state"] == "failed"
    assert ended["error"]["code"] == "start_failed"
    back = sam.state("work")
    assert (back["ready"], back["pid"], back["tree"]) == (True, old["pid"], old["tree"])
    assert back["frozen"] is False
    assert [tree.name for tree in trees_of(sam, "work")] == [old["tree"]]
    assert whoami(sam, token).status_code == 200
    assert sam.server("work", "api/status").status_code == 200
    assert sam.workspace("work")["spec"]["machine"] == "cpu-small"


def test_a_sign_in_of_the_browser_outlives_a_switch(person: Person, running: Running) -> None:
    sam = person("sam")
    sam.start("work")
    page = sam.browser("work")
    status = f"{running.server('sam', 'work')}api/status"
    assert page.get(status).status_code == 200
    sam.switch("work", "sim-1")
    assert page.get(status).status_code == 200
    page.close()
