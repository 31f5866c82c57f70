"""Two people with a uid each on one box: what the one can learn of the other, and do to them. As root."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from gearshift.model.launch import Person
from gearshift_hub.backends.local import people
from gearshift_hub.backends.local.isolation import Bind
from gearshift_testing.box import Server, TestBox, running_box, wait_until

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root: uids and cgroups")]

INTRUDER = """
import ctypes, json, os, signal, sys
victim, paths = int(sys.argv[1]), sys.argv[2:]
def attempt(act):
    try:
        act()
    except OSError as error:
        return error.strerror
    return 'DONE'
def attach():
    if ctypes.CDLL(None, use_errno=True).ptrace(16, victim, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
tries = {'signal': lambda: os.kill(victim, 0), 'term': lambda: os.kill(victim, signal.SIGTERM), 'ptrace': attach,
  'affinity': lambda: os.sched_setaffinity(victim, {0}), 'renice': lambda: os.setpriority(os.PRIO_PROCESS, victim, 9)}
for name in ('environ', 'cmdline', 'status', 'mem', 'maps'):
    tries['/proc ' + name] = lambda name=name: open(f'/proc/{victim}/{name}', 'rb').read(10)
for name in ('fd', 'cwd', 'root/tmp'):
    tries['/proc ' + name] = lambda name=name: os.listdir(f'/proc/{victim}/{name}')
for path in paths:
    tries[path] = lambda path=path: os.listdir(path) if os.path.isdir(path) else open(path, 'rb').read()
print(json.dumps({name: attempt(act) for name, act in tries.items()}))
"""


@pytest.fixture(scope="module")
def alice(box: TestBox) -> Person:
    return box.person("alice")


@pytest.fixture(scope="module")
def bob(box: TestBox) -> Person:
    return box.person("bob")


@pytest.fixture(scope="module")
def server(box: TestBox, alice: Person) -> Iterator[Server]:
    """A workspace of alice with a running kernel."""
    server = box.start_server(alice, "token-of-alice-5e1f")
    server.request("POST", "api/kernels", {"name": "python3"})
    runtime = Path(box.trees.runtime_dir(server.plan))
    wait_until(lambda: any(runtime.glob("kernel-*-ipc-*")), "the kernel listens on its sockets")
    yield server
    box.trees.stop(server.handle.tree, 3.0)


def test_another_person_reaches_no_process_and_no_file_of_a_workspace(
    box: TestBox, alice: Person, bob: Person, server: Server
) -> None:
    (Path(alice.home) / "thesis.txt").write_text("mine")
    runtime = Path(box.trees.runtime_dir(server.plan))
    paths = [alice.home, f"{alice.home}/thesis.txt", str(runtime), server.plan.state_dir]
    paths += [str(path) for path in runtime.iterdir() if not path.is_socket()]
    paths += [str(box.trees.log_path(server.handle.tree)), str(box.home.state), str(box.home.run / "trees")]
    for victim in _processes_of(alice.uid):
        tried = json.loads(box.finish(bob, INTRUDER, str(victim), *paths))
        assert "DONE" not in tried.values(), tried
        assert tried["signal"] in {"Operation not permitted", "No such process"}
    assert server.answers()


def test_a_person_sees_only_own_processes(box: TestBox, bob: Person, server: Server) -> None:
    code = "import os; print([os.stat('/proc/' + p).st_uid for p in os.listdir('/proc') if p.isdigit()])"
    assert set(json.loads(box.finish(bob, code))) == {bob.uid}


def test_outputs_of_a_job_are_closed_to_other_people(box: TestBox, alice: Person, bob: Person) -> None:
    code = "import os; open('result.txt', 'w').write('loss'); os.mkdir('out'); print(os.stat('result.txt').st_mode)"
    box.finish(alice, code)
    result = Path(alice.home) / "result.txt"
    assert result.stat().st_mode & 0o777 == 0o600
    tried = json.loads(box.finish(bob, INTRUDER, "1", str(result), f"{alice.home}/out"))
    assert tried[str(result)] == tried[f"{alice.home}/out"] == "Permission denied"


def test_tmp_and_shared_memory_are_private_to_a_tree(box: TestBox, alice: Person, bob: Person) -> None:
    code = "import os, sys; print(os.listdir('/tmp'), os.listdir('/dev/shm')); "
    code += "[open(f + '/mine', 'w').close() for f in ('/tmp', '/dev/shm')]"
    for person in (alice, bob, alice):
        assert box.finish(person, code).strip() == "[] []"
    assert not Path("/tmp/mine").exists()


def test_a_token_is_in_no_command_line_and_in_no_start_environment(alice: Person, server: Server) -> None:
    processes = _processes_of(alice.uid)
    assert server.handle.pid in processes
    for pid in processes:
        assert server.token.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    environment = Path(f"/proc/{server.handle.pid}/environ").read_bytes()
    assert server.token.encode() not in environment
    assert {entry.split(b"=")[0] for entry in environment.split(b"\0") if entry} <= {b"PATH", b"LC_CTYPE"}


def test_no_child_finds_the_tokens_of_others_in_memory_it_inherited(
    box: TestBox, alice: Person, bob: Person
) -> None:
    tokens = [f"token-{index}-{os.urandom(16).hex()}" for index in range(4)]
    servers = [box.start_server(alice if i % 2 else bob, token) for i, token in enumerate(tokens)]
    code = "import os, time; print(len(os.environ['SECRET']), flush=True); time.sleep(600)"
    job, log = box.run(alice, code, env={"SECRET": tokens[3] + "-job"})
    wait_until(lambda: bool(log.read_text()), "the job runs")
    for own, server in zip(tokens, servers, strict=True):
        seen = _strings_in_memory(server.handle.pid, tokens)
        assert seen == {own}
        assert _strings_in_memory(_keeper(box, server.handle.tree), tokens) == set()
    assert _strings_in_memory(box.server.process.pid, tokens) == set()
    assert _strings_in_memory(job.pid, tokens[:3]) == set()
    for started in [*(server.handle for server in servers), job]:
        box.trees.kill(started.tree)


def test_even_the_owners_kernels_cannot_read_the_servers_memory(
    box: TestBox, alice: Person, server: Server
) -> None:
    tried = json.loads(box.finish(alice, INTRUDER, str(server.handle.pid)))
    for name in ("ptrace", "/proc environ", "/proc mem", "/proc fd"):
        assert tried[name] in {"Operation not permitted", "Permission denied", "No such file or directory"}


def test_files_of_the_fork_server_are_closed_in_its_children(box: TestBox, alice: Person) -> None:
    code = "import os; print(sorted(os.readlink(f'/proc/self/fd/{n}') for n in (0, 1, 2)), len(os.listdir('/proc/self/fd')))"
    names, count = box.finish(alice, code).rsplit(" ", 1)
    assert "/dev/null" in names
    assert int(count) == 4  # the fourth lists the folder


def test_a_person_has_a_name_and_no_way_to_more_rights(box: TestBox, alice: Person) -> None:
    code = """
import getpass, os, pwd, subprocess
print(pwd.getpwuid(os.getuid()).pw_name, getpass.getuser(), subprocess.getoutput('whoami'), os.getgroups())
print(*sorted(l.strip() for l in open('/proc/self/status') if l.startswith(('NoNewPrivs', 'CapEff', 'CapPrm'))))
print(oct(os.umask(0)), os.getcwd(), subprocess.getoutput('git config user.name'))
"""
    lines = box.finish(alice, code).splitlines()
    assert lines[0] == f"alice alice alice [{alice.gid}]"
    assert lines[1].split() == ["CapEff:", "0" * 16, "CapPrm:", "0" * 16, "NoNewPrivs:", "1"]
    assert lines[2] == f"0o77 {alice.home} Alice"


def test_children_draw_different_random_numbers(box: TestBox, alice: Person) -> None:
    servers = [box.start_server(alice, f"dice-{index}") for index in range(2)]
    secrets = {
        next(Path(box.trees.runtime_dir(server.plan)).glob("jupyter_cookie_secret")).read_bytes()
        for server in servers
    }
    assert len(secrets) == 2
    for server in servers:
        box.trees.kill(server.handle.tree)


def test_a_folder_can_be_shown_read_only(box: TestBox, alice: Person) -> None:
    store = box.home.store / "digits"
    store.mkdir(mode=0o777)
    store.chmod(0o777)
    (store / "data.csv").write_text("1,2")
    code = "import sys\ntry: open(sys.argv[1] + '/x', 'w')\nexcept OSError as e: print(e.strerror)"
    assert box.finish(alice, code, str(store)).strip() == ""
    plan_bind = [Bind(str(store), str(store), read_only=True)]
    shown = box.finish(alice, code, str(store), binds=plan_bind).strip()
    assert shown == "Read-only file system"


def test_a_home_below_tmp_stays_visible_though_tmp_is_private() -> None:
    with running_box(parent="/tmp") as box:
        carol = box.person("carol")
        code = "import os; print(os.getcwd(), len(os.listdir('/tmp')), os.listdir('.'))"
        where, count, rest = box.finish(carol, code).split(" ", 2)
        assert where == carol.home
        assert count == "1"
        assert ".gitconfig" in rest


def test_in_a_container_that_may_not_mount_people_still_have_uids_and_the_log_says_what_is_missing() -> None:
    with running_box(through=("setpriv", "--bounding-set", "-sys_admin")) as box:
        dave, erin = box.person("dave"), box.person("erin")
        assert "trees share /tmp and see all processes: " in box.server.log.read_text()
        handle, _ = box.run(dave, "import time; time.sleep(600)")
        tried = json.loads(box.finish(erin, INTRUDER, str(handle.pid), dave.home))
        for name in ("signal", "term", "ptrace", "/proc environ", "/proc mem", "/proc fd", dave.home):
            assert tried[name] in {"Operation not permitted", "Permission denied"}, name
        assert box.trees.alive(handle.tree)


def test_a_home_of_another_uid_is_not_taken_over(box: TestBox, alice: Person) -> None:
    with pytest.raises(people.HomeNotTheirs):
        people.ensure(box.home, "Alice", "alice", alice.uid + 50)


def _processes_of(uid: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            status = Path(f"/proc/{name}/status")
            try:
                owner = re.search(r"^Uid:\s+(\d+)", status.read_text(), re.MULTILINE)
            except OSError:
                continue
            if owner and int(owner[1]) == uid:
                found.append(int(name))
    return found


def _keeper(box: TestBox, tree: str) -> int:
    record = box.inside.records.get(tree)
    assert record is not None
    return record.keeper


def _strings_in_memory(pid: int, strings: list[str]) -> set[str]:
    """Which of the strings lie anywhere in a process's memory; root looks."""
    found: set[str] = set()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights = line.split()[:2]
            if "r" not in rights or line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            begin, end = (int(part, 16) for part in place.split("-"))
            try:
                memory.seek(begin)
                text = memory.read(end - begin)
            except (OSError, OverflowError):
                continue
            found |= {string for string in strings if string.encode() in text}
    return found
