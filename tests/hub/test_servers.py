"""A real hub's servers: started, stopped, frozen and thawed, through control's door and through the hub's own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import httpx
from gearshift_hub.backends.local.processes import Trees
from gearshift_testing.driving import Driver, until
from gearshift_testing.evidence import server_token, whoami
from gearshift_testing.running import Running

Person = Callable[[str], Driver]


def hub(driver: Driver, name: str, action: str, **body: Any) -> httpx.Response:
    return driver.product.hub("POST", f"gearshift/workspaces/{driver.user}/{name}/{action}", body)


def test_a_workspace_starts_answers_with_lab_and_stops_leaving_nothing(
    person: Person, running: Running
) -> None:
    ada = person("ada")
    workspace = ada.start("work")
    assert workspace["state"] == "ready"
    page = ada.server("work", "lab")
    assert page.status_code == 200
    assert '"buildCheck": false' in page.text
    tree = ada.state("work")["tree"]
    assert ada.stop("work")["state"] == "stopped"
    assert tree not in {one.name for one in Trees(running.home).trees()}
    assert ada.state("work")["ready"] is False


def test_kernels_speak_over_sockets_of_their_own_not_over_ports(person: Person, running: Running) -> None:
    ada = person("ada")
    ada.start("work")
    ada.server("work", "api/kernels", "POST", {"name": "python3"})
    assert until(lambda: list(running.home.runtime.rglob("kernel-*-ipc-*")), 20, "a kernel's socket")


def test_the_same_operation_again_is_answered_the_same(person: Person) -> None:
    ada = person("ada")
    ada.start("work")
    operation = ada.state("work")["operation"]
    again = hub(ada, "work", "start", operation=operation)
    assert again.status_code == 200
    assert again.json()["pid"] == ada.state("work")["pid"]
    other = hub(ada, "work", "start", operation="op-of-somebody")
    assert other.status_code == 409
    assert other.json()["error"]["code"] == "already_running"


def test_stopping_what_is_gone_is_success(person: Person, running: Running) -> None:
    gone = running.hub("POST", "gearshift/workspaces/ada/never/stop", {"operation": "x"})
    assert gone.json() == {"state": "stopped"}


def test_during_a_hold_every_other_door_is_shut(person: Person) -> None:
    ada = person("ada")
    ada.start("work")
    assert hub(ada, "work", "hold", operation="sw").status_code == 200
    try:
        headers = {"Authorization": f"token {ada.product.sign_in('ada')}"}
        own = f"{ada.product.url}hub/api/users/ada/servers/work"
        assert httpx.delete(own, headers=headers).status_code == 409
        assert httpx.post(own, headers=headers, json={}).status_code == 409
        assert hub(ada, "work", "stop", operation="other").json()["error"]["code"] == "busy"
        assert hub(ada, "work", "hold", operation="sw").status_code == 200
    finally:
        assert hub(ada, "work", "release", operation="sw", keep="old").status_code == 200
    assert hub(ada, "work", "release", operation="sw", keep="old").status_code == 200
    assert ada.state("work")["ready"] is True


def test_a_frozen_server_comes_back_with_its_process_and_its_token(person: Person) -> None:
    ada = person("ada")
    ada.start("work")
    before = ada.state("work")
    token = server_token(ada, "work")
    hub(ada, "work", "hold", operation="sw")
    assert hub(ada, "work", "stop", operation="sw", freeze=True, resume=True).json() == {"state": "frozen"}
    assert ada.state("work")["frozen"] is True
    back = hub(ada, "work", "start", operation="sw", thaw=True)
    assert back.status_code == 200, back.text
    assert hub(ada, "work", "release", operation="sw", keep="old").status_code == 200
    after = ada.state("work")
    assert (after["pid"], after["port"], after["tree"]) == (before["pid"], before["port"], before["tree"])
    assert ada.server("work", "api/status").status_code == 200
    assert whoami(ada, token).status_code == 200


def test_the_hubs_own_door_is_admitted_and_recorded_by_control(person: Person) -> None:
    ada = person("ada")
    ada.start("work")
    ada.stop("work")
    headers = {"Authorization": f"token {ada.product.sign_in('ada')}"}
    own = f"{ada.product.url}hub/api/users/ada/servers/work"
    assert httpx.post(own, headers=headers, json={}, timeout=60).status_code in (201, 202)
    until(lambda: ada.workspace("work")["state"] == "ready", 20, "control knows of the start")
    assert httpx.delete(own, headers=headers, timeout=60).status_code in (202, 204)
    until(lambda: ada.workspace("work")["state"] == "stopped", 20, "control knows of the stop")


def test_a_server_that_ends_by_itself_is_noticed_with_its_exit_code(person: Person) -> None:
    ada = person("ada")
    ada.start("work")
    os.kill(ada.state("work")["pid"], signal.SIGKILL)
    until(lambda: not ada.state("work")["ready"], 20, "the hub sees that it ended")
    assert ada.state("work")["exit_code"] == -signal.SIGKILL
    until(lambda: ada.workspace("work")["state"] in ("stopped", "failed"), 20, "control knows")


def test_a_stopped_server_leaves_no_token(person: Person) -> None:
    ada = person("ada")
    ada.start("work")
    token = server_token(ada, "work")
    assert whoami(ada, token).status_code == 200
    ada.stop("work")
    assert whoami(ada, token).status_code == 403
