"""Jobs in control with real gangs: a cell's code as two nodes, its logs, curve and result; failure, cancel, hostile files.

As root the ranks run under the person's own uid, as in the product.
"""

from __future__ import annotations

import io
import os
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from gearshift.train import results
from gearshift_testing.controls import ON_SQLITE, Control, Person
from gearshift_testing.gangs import DirectTrees, Jobs

ENDED = ("succeeded", "failed", "cancelled")


pytestmark = ON_SQLITE
"""One kind of database is enough here: the processes are what is looked at."""


@pytest.fixture
def jobs(control: Control, trees: DirectTrees) -> Jobs:
    return Jobs.real(control, trees)


TRAINING = """
    import os
    from gearshift import train
    print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']} as {os.getuid()} on {os.environ['GEARSHIFT_DEVICES']}")
    for step in range(2000):
        train.log(step=step, steps=2000, loss=1 / (step + 1))
    train.result({"answer": 42, "home": os.getcwd()})
"""


async def test_a_cell_runs_on_two_nodes_as_its_owner_and_its_curve_log_and_result_come_back(
    jobs: Jobs, control: Control, alice: Person
) -> None:
    home = jobs.home_of(alice)
    id = await jobs.submit(alice, TRAINING, nodes=2)
    done = await jobs.until(alice, id, *ENDED)
    assert (done["state"], done["reason"]) == ("succeeded", "succeeded"), done
    assert done["metrics_last"]["step"] == 1999
    assert [rank["state"] for rank in done["ranks"]] == ["succeeded", "succeeded"]
    log = (await alice.get(f"/jobs/{id}/logs", rank=1)).json()
    uid = 20000 if os.geteuid() == 0 else os.getuid()
    assert log["text"] == f"rank 1 of 2 as {uid} on d1\n"
    assert (log["offset"], log["done"]) == (len(log["text"]), True)
    curve = (await alice.get(f"/jobs/{id}/metrics", points=600)).json()
    assert 300 <= len(curve) <= 600
    assert (curve[0]["step"], curve[-1]["step"], curve[-1]["loss"]) == (0, 1999, 1 / 2000)
    answer = await alice.get(f"/jobs/{id}/result")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert results.MANIFEST in archive.namelist()
    path = Path(control.folder.name) / "back.zip"
    path.write_bytes(answer.content)
    assert results.read(path) == {"answer": 42, "home": str(home)}
    assert jobs.held() == 0
    assert [interval.closed_at is not None for interval in jobs.intervals(id)] == [True]


async def test_C35_the_job_names_node_rank_exit_code_and_last_lines_of_the_first_failure(
    jobs: Jobs, alice: Person
) -> None:
    jobs.home_of(alice)
    source = """
        import os, sys, time
        if os.environ["RANK"] == "3":
            print("boom")
            sys.exit(7)
        time.sleep(60)
    """
    id = await jobs.submit(alice, source, nodes=2, procs=2)
    failed = await jobs.until(alice, id, *ENDED)
    first = failed["first_failure"]
    assert (failed["state"], failed["reason"]) == ("failed", "user_error")
    assert (first["node"], first["rank"], first["exit_code"]) == (1, 3, 7)
    assert "boom" in first["lines"]
    assert first["diagnosis"] is None
    assert [rank["state"] for rank in failed["ranks"]] == ["stopped", "stopped", "stopped", "failed"]


async def test_a_failure_that_is_known_says_its_cause_and_what_helps(jobs: Jobs, alice: Person) -> None:
    jobs.home_of(alice)
    id = await jobs.submit(alice, "open('data/train.bin')")
    failed = await jobs.until(alice, id, *ENDED)
    known = failed["first_failure"]["diagnosis"]
    assert known["id"] == "file_missing"
    assert "does not exist where the ranks run" in known["cause"]["en"]
    assert "已挂载" in known["remedy"]["zh"]


async def test_cancel_ends_every_process_and_closes_the_interval(
    jobs: Jobs, trees: DirectTrees, alice: Person
) -> None:
    jobs.home_of(alice)
    source = """
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
        print("up", flush=True)
        time.sleep(600)
    """
    id = await jobs.submit(alice, source, nodes=2)
    await jobs.until(alice, id, "running")
    while "up" not in (await alice.get(f"/jobs/{id}/logs", rank=1)).json()["text"]:
        await jobs.turn()
    await alice.begin("cancel_job", job=id)
    ended = await jobs.until(alice, id, *ENDED)
    assert (ended["state"], ended["reason"]) == ("cancelled", "cancelled")
    assert trees.names() == []
    assert _left(id) == []
    assert jobs.held() == 0
    assert [interval.closed_at is not None for interval in jobs.intervals(id)] == [True]


async def test_a_killed_supervisor_leaves_nothing_and_is_told_as_lost(
    jobs: Jobs, trees: DirectTrees, alice: Person
) -> None:
    jobs.home_of(alice)
    id = await jobs.submit(alice, "import time; time.sleep(600)", nodes=2)
    await jobs.until(alice, id, "running")
    trees.processes[id].kill()
    ended = await jobs.until(alice, id, *ENDED)
    assert (ended["state"], ended["reason"]) == ("failed", "lost")
    assert _left(id) == []


async def test_C53_links_pipes_and_foreign_files_in_a_jobs_folder_give_no_byte(
    jobs: Jobs, control: Control, alice: Person
) -> None:
    jobs.home_of(alice)
    secret = Path(control.folder.name) / "secret"
    secret.write_text("another person's secret")
    id = await jobs.submit(alice, "print('hello')")
    await jobs.until(alice, id, *ENDED)
    out = control.ctx.home.jobs / id / "out"
    log, result, status = out / "attempts/0/rank-0.log", out / "result.zip", out / "status.json"
    for hostile in (_link_to(secret), _link_to(Path("/etc/passwd")), os.mkfifo, os.mkdir):
        for path in (log, result):
            _replace(path, hostile)
            answer = await alice.get(f"/jobs/{id}/logs" if path == log else f"/jobs/{id}/result")
            assert "secret" not in answer.text
            assert "root:" not in answer.text
    assert (await alice.get(f"/jobs/{id}/result")).status_code == 404
    assert status.exists()
    for wrong in ("../../secret", "job-../secret", "%2e%2e%2fsecret", "job-0"):
        assert (await alice.get(f"/jobs/{wrong}/logs")).status_code == 404
    for rank in (-1, 1, 10**9):
        assert (await alice.get(f"/jobs/{id}/logs", rank=rank)).status_code == 422
    assert (await alice.get(f"/jobs/{id}/logs", attempt=5)).status_code == 422


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: two people with their own uids")
async def test_a_hard_link_to_somebody_elses_file_is_not_read(
    jobs: Jobs, control: Control, alice: Person
) -> None:
    jobs.home_of(alice)
    secret = control.ctx.home.jobs.parent / "secret"
    secret.write_text("another person's secret")
    id = await jobs.submit(alice, "print('hello')")
    await jobs.until(alice, id, *ENDED)
    log = control.ctx.home.jobs / id / "out" / "attempts/0/rank-0.log"
    log.unlink()
    os.link(secret, log)
    assert (await alice.get(f"/jobs/{id}/logs")).json()["text"] == ""


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: two people with their own uids")
async def test_another_person_can_neither_read_join_nor_signal_a_job(
    jobs: Jobs, control: Control, alice: Person, bob: Person
) -> None:
    for who in (alice, bob):
        jobs.home_of(who)
    source = """
        import os, socket, time
        listener = socket.create_server(("127.0.0.1", int(os.environ["MASTER_PORT"])))
        print(os.environ["MASTER_PORT"], flush=True)
        time.sleep(600)
    """
    victim = await jobs.submit(alice, source)
    await jobs.until(alice, victim, "running")
    while not (port := (await alice.get(f"/jobs/{victim}/logs")).json()["text"].strip()):
        await jobs.turn()
    pids = _left(victim)
    attack = f"""
        import os, socket
        for name in ("out/status.json", "bundle.zip", "job.json"):
            try:
                open(os.path.join({str(control.ctx.home.jobs / victim)!r}, name)).read()
                print("read", name)
            except OSError as error:
                print("no", type(error).__name__)
        with socket.socket() as probe:
            print("joined" if probe.connect_ex(("127.0.0.1", {port})) == 0 else "refused")
        for pid in {pids!r}:
            try:
                os.kill(pid, 9)
                print("killed")
            except OSError as error:
                print("no", type(error).__name__)
    """
    attacker = await jobs.submit(bob, attack)
    await jobs.until(bob, attacker, *ENDED)
    said = (await bob.get(f"/jobs/{attacker}/logs")).json()["text"]
    assert "no PermissionError" in said
    assert not {"read", "joined", "killed"} & set(said.split()), said
    assert (await jobs.job(alice, victim))["state"] == "running"
    await alice.begin("cancel_job", job=victim)
    await jobs.until(alice, victim, *ENDED)


async def test_bundles_have_a_limit_and_an_empty_one_is_refused(
    jobs: Jobs, control: Control, alice: Person
) -> None:
    limit = control.deployment.limits.bundle_bytes
    async with control.outside(alice.headers) as client:
        large = await client.post("/api/v1/jobs/bundles", content=b"x" * (limit + 1))
        empty = await client.post("/api/v1/jobs/bundles", content=b"")
    assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")
    assert empty.json()["error"]["field"] == "bundle"
    assert await jobs.send(alice, "pass") == await jobs.send(alice, "pass")


async def test_a_bundle_goes_after_a_week_unless_a_job_in_line_needs_it(
    jobs: Jobs, control: Control, alice: Person
) -> None:
    jobs.home_of(alice)
    old, waiting = await jobs.send(alice, "print('old')"), await jobs.submit(alice, "print('waited')")
    needed = jobs.row(waiting).spec["code"]
    folder = control.ctx.home.jobs / "bundles" / "alice"
    long_ago = (control.clock.now() - timedelta(days=8)).timestamp()
    for sha256 in (old, needed):
        os.utime(folder / sha256, (long_ago, long_ago))
    fresh = await jobs.send(alice, "print('fresh')")
    assert {path.name for path in folder.iterdir()} == {needed, fresh}
    assert (await jobs.until(alice, waiting, *ENDED))["state"] == "succeeded"


async def test_a_bundle_that_is_no_bundle_fails_the_start_and_costs_nothing(
    jobs: Jobs, control: Control, alice: Person
) -> None:
    jobs.home_of(alice)
    async with control.outside(alice.headers) as client:
        code = (await client.post("/api/v1/jobs/bundles", content=b"not a zip")).json()["sha256"]
    spec = {**await jobs.spec(alice), "code": code}
    id = (await alice.begin("job", spec=spec))["id"]
    failed = await jobs.until(alice, id, *ENDED)
    assert (failed["reason"], failed["cost_nano"]) == ("start_failed", 0)
    assert "bundle" in failed["note"]


def _left(job: str) -> list[int]:
    """Processes that carry this job's mark."""
    mark = f"GS_JOB={job}\0".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "environ").read_bytes() + b"\0":
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def _link_to(target: Path) -> Any:
    return lambda path: os.symlink(target, path)


def _replace(path: Path, make: Any) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    path.unlink(missing_ok=True)
    make(path)
    if os.geteuid() == 0:
        os.chown(path, 20000, 20000, follow_symlinks=False)
