"""Trees on the real fork server: start, end, freeze, and what survives which crash."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
import websockets
from gearshift.model.launch import Person
from gearshift_hub.backends.local import process_table
from gearshift_hub.backends.local.limits import Limits
from gearshift_hub.backends.local.processes import Handle, StartRefused, Trees
from gearshift_testing.box import Server, TestBox, launch_plan, running_box, wait_until

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root: uids and cgroups")]

DAEMONS = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
def daemon(chain):
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    while chain:
        time.sleep(0.0005)
        if os.fork(): os._exit(0)
    time.sleep(600)
for chain in (False, False, True): daemon(chain)
for _ in range(5):
    if not os.fork(): time.sleep(600)
print('up'); time.sleep(600)
"""


def test_a_server_answers_a_third_of_a_second_after_the_request(box: TestBox) -> None:
    alice = box.person("alice")
    servers = [box.start_server(alice, f"timed-{index}") for index in range(5)]
    times = sorted(server.answered_after for server in servers)
    print(f"\nfirst HTTP 200 after {times[0]:.3f}-{times[-1]:.3f} s, middle {times[2]:.3f} s")
    for server in servers:
        box.trees.stop(server.handle.tree, 3.0)
    assert times[2] < 30  # the print is the measure; this only says that no import was paid for


def test_stopping_politely_ends_with_the_servers_own_exit_code(box: TestBox) -> None:
    server = box.start_server(box.person("alice"), "polite")
    box.trees.stop(server.handle.tree, 30.0)
    assert box.trees.exit_code(server.handle.tree) == 0  # a kill at the end of the grace would be -9
    assert not box.trees.alive(server.handle.tree)
    assert not Path(box.trees.runtime_dir(server.plan)).exists()


def test_stop_leaves_nothing_of_a_tree_full_of_daemons_that_ignore_it(box: TestBox) -> None:
    alice = box.person("alice")
    left, slowest = 0, 0.0
    for _ in range(5):
        handle = _daemons(box, alice)
        began = time.monotonic()
        box.trees.stop(handle.tree, 0.1)
        slowest = max(slowest, time.monotonic() - began)
        left += len(_pids_of(alice.uid))
        assert box.trees.exit_code(handle.tree) == -signal.SIGKILL
    print(f"\n5 trees stopped, {left} processes left, slowest {slowest:.3f} s")
    assert left == 0


def test_the_rest_of_a_tree_ends_with_its_leader(box: TestBox) -> None:
    alice = box.person("alice")
    code = "import os, sys, time\nif os.fork() == 0:\n os.setsid(); time.sleep(600)\nsys.exit(7)"
    handle, _ = box.run(alice, code)
    wait_until(lambda: box.trees.exit_code(handle.tree) == 7, "the exit code is known")
    assert _pids_of(alice.uid) == []
    assert box.inside.groups.pids(handle.tree) == []


def test_the_exit_code_tells_a_signal_and_nothing_while_it_runs(box: TestBox) -> None:
    handle, _ = box.run(box.person("alice"), "import time; time.sleep(600)")
    assert box.trees.exit_code(handle.tree) is None
    os.kill(handle.pid, signal.SIGSEGV)
    wait_until(lambda: box.trees.exit_code(handle.tree) == -signal.SIGSEGV, "the signal is known")


def test_stopping_what_is_gone_or_never_was_is_success(box: TestBox) -> None:
    handle, _ = box.run(box.person("alice"), "pass")
    wait_until(lambda: not box.trees.alive(handle.tree), "it has ended")
    box.trees.stop(handle.tree, 1.0)
    box.trees.stop("never-was", 1.0)
    assert box.trees.exit_code("never-was") is None
    assert not box.trees.freeze("never-was")


def test_a_frozen_tree_goes_on_with_its_kernel_and_its_open_websocket(box: TestBox) -> None:
    server = box.start_server(box.person("alice"), "frozen")
    asyncio.run(_freeze_in_the_middle_of_a_cell(box, server))
    box.trees.stop(server.handle.tree, 3.0)


async def _freeze_in_the_middle_of_a_cell(box: TestBox, server: Server) -> None:
    kernel = server.request("POST", "api/kernels", {"name": "python3"})["id"]
    url = server.url.replace("http:", "ws:") + f"api/kernels/{kernel}/channels"
    headers = {"Authorization": f"token {server.token}"}
    async with websockets.connect(url, additional_headers=headers) as socket:
        code = "import time\nfor i in range(20): print('n', i, flush=True); time.sleep(0.05)"
        await socket.send(_execute_request(code))
        await _read_until(socket, "n 2\n")
        began = time.monotonic()
        assert box.trees.freeze(server.handle.tree)
        frozen_after = time.monotonic() - began
        assert box.trees.frozen(server.handle.tree)
        assert any(tree.frozen for tree in box.trees.trees() if tree.name == server.handle.tree)
        quiet = await _quiet_for(socket, 0.4)
        began = time.monotonic()
        assert box.trees.thaw(server.handle.tree)
        print(
            f"\nfrozen in {frozen_after * 1000:.1f} ms, thawed in {(time.monotonic() - began) * 1000:.1f} ms"
        )
        assert quiet
        await _read_until(socket, "n 19\n")
    assert server.request("GET", "api/kernels")[0]["id"] == kernel


def test_a_frozen_tree_is_stopped_without_waiting_for_its_grace(box: TestBox) -> None:
    handle = _daemons(box, box.person("alice"))
    assert box.trees.freeze(handle.tree)
    began = time.monotonic()
    box.trees.stop(handle.tree, 30.0)
    assert time.monotonic() - began < 25
    assert not box.trees.alive(handle.tree)


def test_trees_outlive_the_fork_server_and_their_exit_codes_are_not_lost(box: TestBox) -> None:
    alice = box.person("alice")
    server = box.start_server(alice, "survivor", GEARSHIFT_TEST="1")
    leaving, _ = box.run(alice, "import sys\nsys.stdin.read()\nimport time; time.sleep(0.3); sys.exit(5)")
    box.server.kill()
    assert server.answers()
    wait_until(lambda: box.trees.exit_code(leaving.tree) == 5, "a keeper writes the code down")
    box.server.start()
    after = Trees(box.home)
    assert after.alive(server.handle.tree)
    assert {tree.labels["workspace"] for tree in after.trees()} == {server.plan.labels["workspace"]}
    after.stop(server.handle.tree, 3.0)
    assert after.exit_code(server.handle.tree) == 0


def test_a_tree_whose_keeper_was_killed_gets_another_and_is_stopped_whole(box: TestBox) -> None:
    alice = box.person("alice")
    handle = _daemons(box, alice)
    record = box.inside.records.get(handle.tree)
    assert record is not None
    os.kill(record.keeper, signal.SIGKILL)
    box.server.kill()
    box.server.start()
    box.trees.stop(handle.tree, 0.1)
    assert _pids_of(alice.uid) == []
    assert box.inside.records.ended(handle.tree)


def test_an_interrupt_from_a_terminal_ends_nothing(box: TestBox) -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        box.server.process.send_signal(number)
    assert box.finish(box.person("alice"), "print('still here')") == "still here\n"


def test_a_second_fork_server_on_the_same_home_refuses(box: TestBox) -> None:
    command = [sys.executable, "-m", "gearshift_hub.backends.local.forkserver", "--home", str(box.home.root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 3
    assert "another fork server" in done.stderr


def test_the_end_of_the_fork_server_is_the_end_of_every_tree() -> None:
    with running_box() as box:
        alice = box.person("alice")
        server = box.start_server(alice, "last")
        _daemons(box, alice)
        began = time.monotonic()
        box.server.stop()
        print(f"\nall ended in {time.monotonic() - began:.3f} s")
        assert box.server.process.returncode == 0
        assert not server.answers()
        assert _pids_of(alice.uid) == []
        assert box.inside.groups.names() == []
        assert not box.home.runtime.exists()


@pytest.mark.parametrize("tree", ["../x", "", "Ä", "a/b", "x" * 64, "ws 1"])
def test_a_tree_name_that_is_no_name_is_refused_before_anything_is_started(box: TestBox, tree: str) -> None:
    alice = box.person("alice")
    plan = launch_plan(alice, "ws-0000ffff-1", box.home).model_copy(update={"tree": tree})
    with pytest.raises(ValueError, match="use a-z"):
        box.trees.start_server(plan, {}, [], 0)


def test_a_name_in_use_is_refused_and_the_running_tree_stays(box: TestBox) -> None:
    alice = box.person("alice")
    handle, _ = box.run(alice, "import time; time.sleep(600)")
    with pytest.raises(StartRefused) as refused:
        _command(box, handle.tree, [sys.executable, "-c", "pass"])
    assert refused.value.kind == "exists"
    assert box.trees.alive(handle.tree)
    box.trees.kill(handle.tree)
    assert _command(box, handle.tree, [sys.executable, "-c", "pass"]).tree == handle.tree


def test_a_program_that_does_not_exist_is_told_at_once(box: TestBox) -> None:
    with pytest.raises(StartRefused, match="No such file"):
        _command(box, box.name("job"), ["/no/such/program"])


@pytest.mark.parametrize("uid", [0, 1, 999])
def test_nobodys_code_runs_as_root_or_as_an_account_of_the_box(box: TestBox, uid: int) -> None:
    person = box.person("alice").model_copy(update={"uid": uid, "gid": uid})
    with pytest.raises(StartRefused, match="from 1000 on"):
        box.trees.start_command(
            tree=box.name(), person=person, argv=["/bin/true"], env={}, cwd="/", limits=Limits(),
            log=box.home.logs / "refused.log",
        )  # fmt: skip


def test_a_request_of_a_megabyte_arrives_whole(box: TestBox) -> None:
    big = "x" * 100_000
    env = {f"BIG_{index}": big for index in range(10)}
    code = "import os; print(sum(len(v) for k, v in os.environ.items() if k.startswith('BIG_')))"
    assert box.finish(box.person("alice"), code, env=env).strip() == "1000000"


def _daemons(box: TestBox, person: Person) -> Handle:
    """A tree with everything in it that is hard to end."""
    handle, log = box.run(person, DAEMONS)
    wait_until(lambda: "up" in log.read_text(), "the daemons run")
    return handle


def _command(box: TestBox, tree: str, argv: list[str]) -> Handle:
    alice = box.person("alice")
    return box.trees.start_command(
        tree=tree, person=alice, argv=argv, env={}, cwd=alice.home, limits=Limits(),
        log=box.home.logs / f"{tree}.log",
    )  # fmt: skip


def _pids_of(uid: int) -> list[int]:
    found = []
    for process in process_table.all_processes():
        try:
            owner = Path(f"/proc/{process.pid}").stat().st_uid
        except OSError:
            continue
        if owner == uid and process.state not in "ZX":
            found.append(process.pid)
    return found


def _execute_request(code: str) -> str:
    header = {"msg_id": uuid.uuid4().hex, "username": "", "session": uuid.uuid4().hex, "date": ""}
    header |= {"msg_type": "execute_request", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}}
    content |= {"allow_stdin": False, "stop_on_error": True}
    return json.dumps(
        {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
    )


async def _read_until(socket: websockets.ClientConnection, text: str) -> None:
    seen = ""
    async with asyncio.timeout(60):
        while text not in seen:
            message = json.loads(await socket.recv())
            seen += message["content"].get("text", "")


async def _quiet_for(socket: websockets.ClientConnection, seconds: float) -> bool:
    """What was on its way arrives; after that nothing does."""
    ends = time.monotonic() + seconds
    received = []
    while (left := ends - time.monotonic()) > 0:
        try:
            received.append(await asyncio.wait_for(socket.recv(), left))
        except TimeoutError:
            break
    return len(received) <= 3
