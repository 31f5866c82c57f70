"""The failure matrix of a gang, with real processes and networks: what is hit, how soon it is seen, what is told, and
which budget the next attempt is taken from."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Make = Callable[..., Any]
SLACK = 60.0
"""What a loaded box may take on top of a stated bound."""

WORK = """
    import os, time
    print("up", flush=True)
    while not os.path.exists("go"):
        time.sleep(0.02)
"""
AGAIN = """
    import os, time
    print("up", flush=True)
    while os.environ["GS_ATTEMPT"] == "0":
        time.sleep(0.02)
"""


def up(ranks: int) -> Callable[[Any], bool]:
    return lambda job: all("up" in job.log(rank) for rank in range(ranks))


def ended_within(job: Any, since: float, bound: float) -> dict[str, Any]:
    """The first failure of a job that ended by itself within a bound, leaving nothing."""
    job.wait(bound + SLACK)
    assert time.monotonic() - since <= bound + SLACK
    assert job.left() == []
    failure: dict[str, Any] = job.status["first_failure"]
    return failure


def test_a_lost_node_is_named_and_counts_as_an_interruption(gang: Make) -> None:
    job = gang(AGAIN, nodes=2, procs=2, node_networks=True, max_interruptions=1).start()
    job.until(up(4))
    since = time.monotonic()
    os.kill(job.keeper(1), signal.SIGKILL)
    ended_within(job, since, 2)
    first = job.status["attempts"][0]
    assert (job.status["state"], job.status["attempt"]) == ("succeeded", 1)
    assert (first["reason"], first["counts_as"]) == ("node_lost", "interruption")
    failure = first["first_failure"]
    assert (failure["node"], failure["rank"], failure["message"]) == (1, 2, "node 1 was lost")
    assert failure["last_lines"] == ["up"]


def test_budgets_are_apart_an_interruption_takes_no_restart(gang: Make) -> None:
    job = gang(WORK, nodes=2, max_restarts=3).start()
    job.until(up(2))
    os.kill(job.keeper(0), signal.SIGKILL)
    assert ended_within(job, time.monotonic(), 2)["message"] == "node 0 was lost"
    assert (job.status["state"], job.status["reason"], job.status["attempt"]) == ("failed", "node_lost", 0)
    assert job.process.returncode == 75


def test_a_halted_rank_is_named_and_counts_as_an_error(gang: Make) -> None:
    job = gang(AGAIN, nodes=2, max_restarts=1, max_interruptions=1, halted_seconds=1.0).start()
    job.until(up(2))
    since = time.monotonic()
    os.kill(job.pid_of(1), signal.SIGSTOP)
    ended_within(job, since, 1)
    first = job.status["attempts"][0]
    assert (first["reason"], first["counts_as"]) == ("no_answer", "error")
    assert (first["first_failure"]["rank"], first["first_failure"]["node"]) == (1, 1)
    assert "was stopped and did not go on for 1 s" in first["first_failure"]["message"]
    assert job.status["state"] == "succeeded"


def test_a_rank_that_was_halted_and_goes_on_is_no_failure(gang: Make) -> None:
    job = gang(WORK, nodes=2, halted_seconds=600.0).start()
    job.until(up(2))
    pid = job.pid_of(0)
    os.kill(pid, signal.SIGSTOP)
    job.until(lambda _job: " (python" in (stat := Path(f"/proc/{pid}/stat").read_text()) and ") T " in stat)
    os.kill(pid, signal.SIGCONT)
    (Path(job.order.root) / "go").touch()
    job.wait()
    assert job.status["state"] == "succeeded"


def test_a_cut_cable_is_seen_by_its_carrier_and_names_the_node(gang: Make) -> None:
    job = gang(WORK, nodes=2, node_networks=True, cut_seconds=1.0).start()
    job.until(up(2))
    since = time.monotonic()
    pull_cable(job, 1)
    failure = ended_within(job, since, 1)
    assert (failure["node"], failure["rank"]) == (1, 1)
    assert failure["message"] == "the network of node 1 was cut for 1 s"
    assert (job.status["state"], job.status["reason"]) == ("failed", "node_lost")


def test_nodes_have_networks_of_their_own_that_reach_each_other_by_name(gang: Make) -> None:
    job = gang(
        """
        import os, socket, time
        if os.environ["RANK"] == "0":
            listener = socket.create_server(("", 29500))
            print("told", listener.accept()[0].recv(9).decode(), os.environ["GLOO_SOCKET_IFNAME"])
        else:
            own = socket.create_server(("", 29500))          # the same port on another node
            peer = socket.socket()
            while peer.connect_ex(("node-0", 29500)):
                peer = socket.socket()
                time.sleep(0.02)
            peer.sendall(b"hello")
            print(peer.getsockname()[0], os.environ["MASTER_ADDR"])
        """,
        nodes=2,
        node_networks=True,
    ).run()
    assert job.status["state"] == "succeeded", (job.log(0), job.log(1))
    assert job.log(0) == "told hello eth0\n"
    assert job.log(1) == "10.77.0.2 10.77.0.1\n"


def test_a_notice_gives_the_ranks_their_grace_to_save_and_is_no_cancel(gang: Make) -> None:
    job = gang(
        """
        import signal, sys, time
        def save(number, frame):
            print("saved", flush=True)
            sys.exit(0)
        signal.signal(signal.SIGTERM, save)
        print("up", flush=True)
        while True:
            time.sleep(0.02)
        """,
        nodes=2,
        grace_seconds=30,
        max_restarts=3,
    ).start()
    job.until(up(2))
    job.order.notice_mark.touch()
    job.process.terminate()
    assert job.wait() == 75
    assert (job.status["state"], job.status["reason"]) == ("failed", "interrupted")
    assert [one["counts_as"] for one in job.status["attempts"]] == ["interruption"]
    assert "saved" in job.log(0)
    assert "saved" in job.log(1)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a disk of its own")
def test_a_full_disk_is_told_with_rank_line_and_cause_though_nothing_can_be_written(gang: Make) -> None:
    job = gang(
        """
        import os
        from gearshift import train
        train.log(step=1, loss=0.5)
        if os.environ["RANK"] == "1":
            with open(os.environ["GS_OUT"] + "/checkpoint", "wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 12))    # 直到磁盘写满为止
        while True:
            pass
        """,
        nodes=2,
        max_restarts=5,
    )
    out = job.order.out
    out.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(out)], check=True)
    try:
        failure = ended_within(job.start(), time.monotonic(), 5)
        assert (failure["rank"], failure["node"], failure["where"]) == (1, 1, "In[1], line 8")
        assert failure["message"] == "OSError: [Errno 28] No space left on device"
        assert "file.write(bytes(1 << 12))    # 直到磁盘写满为止" in failure["traceback"]
        assert (job.status["state"], job.status["reason"], job.status["attempt"]) == (
            "failed",
            "user_error",
            0,
        )
    finally:
        subprocess.run(["umount", str(out)], check=True)


def test_a_supervisor_that_goes_on_after_another_counts_on(gang: Make) -> None:
    before = {"attempt": 0, "ended_at": "2026-12-01T00:00:00Z", "reason": "lost", "counts_as": "interruption"}
    job = gang("import os; print(os.environ['GS_ATTEMPT'])", attempts_before=(before,)).run()
    assert job.log(0, 1) == "1\n"
    assert (job.status["attempt"], job.status["attempts"]) == (1, [before])


def pull_cable(job: Any, node: int) -> None:
    """Set the switch's end of a node's cable down, from within the gang's own network."""
    inner = next(pid for pid in children(job.process.pid))
    code = (
        "import ctypes, os, sys\n"
        "from gearshift.train.gang import netlink\n"
        "for kind in ('user', 'net'):\n"
        "    fd = os.open(f'/proc/{sys.argv[1]}/ns/{kind}', os.O_RDONLY)\n"
        "    assert ctypes.CDLL(None, use_errno=True).setns(fd, 0) == 0, os.strerror(ctypes.get_errno())\n"
        "netlink.down(f'gs0n{sys.argv[2]}')\n"
    )
    subprocess.run([sys.executable, "-P", "-c", code, str(inner), str(node)], check=True)


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
