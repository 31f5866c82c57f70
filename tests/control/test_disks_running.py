"""Disks and data sets in workspaces that really run: what code in a kernel can read and write, as whom."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from gearshift.kernel import Kernel
from gearshift_testing.box import wait_until
from gearshift_testing.running import Running

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="two people of their own uid need root"),
]

TRY = """
import os
def attempt(path, mode):
    try:
        with open(os.path.expanduser(path), mode) as file:
            return file.read() if mode == "r" else file.write("x")
    except OSError as error:
        return error.strerror
"""


class Person:
    """Somebody with a token and one workspace."""

    def __init__(self, running: Running, name: str) -> None:
        self.running = running
        self.name = name
        self.headers = {"Authorization": f"token {running.sign_in(name)}"}
        self.token = running.sign_in(name)

    def call(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        url = f"{self.running.api}{path}"
        answer = httpx.request(method, url, json=body, headers=self.headers, timeout=60)
        assert answer.status_code == status, answer.text
        return answer.json()

    def do(self, kind: str, **body: Any) -> dict[str, Any]:
        """Plan, confirm, and wait for the end."""
        plan = self.call("POST", "/plans", {"kind": kind, **body}, 201)
        operation: dict[str, Any] = self.call("POST", f"/plans/{plan['id']}/confirm", {"terminal": True}, 202)

        def ended() -> bool:
            operation.update(self.call("GET", f"/operations/{operation['id']}"))
            return operation["state"] != "running"

        wait_until(ended, f"{kind} has ended", 60)
        return operation

    def start(self, **spec: Any) -> None:
        wanted = {"image": "pytorch", "machine": "cpu-small", **spec}
        assert self.do("start", name="work", spec=wanted)["state"] == "done"

    def run(self, code: str) -> str:
        """What this code prints in a kernel of the workspace."""
        kernel = Kernel(self.running.server(self.name, "work"), self.token)
        try:
            return kernel.run(TRY + code).text.strip()
        finally:
            kernel.close()


@pytest.fixture
def owner(running: Running) -> Iterator[Person]:
    person = Person(running, "disk-owner")
    yield person
    person.do("stop", workspace="disk-owner/work")


@pytest.fixture
def member(running: Running) -> Iterator[Person]:
    person = Person(running, "disk-member")
    yield person
    person.do("stop", workspace="disk-member/work")


def test_a_shared_disk_in_two_running_workspaces(owner: Person, member: Person) -> None:
    disk = owner.call("POST", "/disks", {"name": "team"}, 201)["id"]
    owner.start(disks=[{"disk": disk, "mode": "rw"}])
    owner.call("PUT", f"/disks/{disk}/members/disk-member", {"mode": "rw"})
    member.start(disks=[{"disk": disk, "mode": "ro"}])
    assert owner.run("print(attempt('~/disks/team/note', 'w'))") == "1"
    assert member.run("print(attempt('~/disks/team/note', 'r'))") == "x"
    assert member.run("print(attempt('~/disks/team/more', 'w'))") == "Read-only file system"
    listed = httpx.get(
        f"{member.running.server('disk-member', 'work')}api/contents/disks/team",
        headers=member.headers,
        timeout=30,
    )
    assert [one["name"] for one in listed.json()["content"]] == ["note"]
    removed = owner.do("remove_member", disk="team", user="disk-member")
    assert removed["result"] == {"stopped": ["disk-member/work"]}
    assert member.call("GET", "/workspaces/disk-member/work")["reason"] == "disk_removed"
    member.start()
    assert "team" not in member.run("print(os.listdir(os.path.expanduser('~/disks')))")
    folder = owner.running.home.disks / disk
    assert member.run(f"print(attempt('{folder}/note', 'r'))") == "Permission denied"


def test_a_data_set_attached_while_the_kernel_runs(owner: Person) -> None:
    owner.start()
    kernel = Kernel(owner.running.server("disk-owner", "work"), owner.token)
    try:
        assert kernel.run(TRY + "print(attempt('~/datasets/digits/digits.csv', 'r'))").text.startswith(
            "No such file"
        )
        attached = owner.call("POST", "/workspaces/disk-owner/work/datasets", {"dataset": "digits"})
        assert (attached["state"], attached["path"]) == ("attached", "~/datasets/digits")
        rows = kernel.run("print(attempt('~/datasets/digits/digits.csv', 'r').count('\\n'))").text
        assert rows.strip() == "1798"
        for path, mode in (("digits.csv", "a"), ("new", "w"), ("README.md", "w")):
            said = kernel.run(f"print(attempt('~/datasets/digits/{path}', '{mode}'))").text
            assert said.strip() == "Permission denied"
    finally:
        kernel.close()
