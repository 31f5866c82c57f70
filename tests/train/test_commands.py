"""`gearshift job …` against the running product: a script as a gang, its log, its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gearshift.client import Client
from gearshift_testing.running import Running

CAPS = ("--max-price", "5", "--max-cost", "1")


@pytest.fixture
def command(running: Running, tmp_path: Path) -> object:
    """The command line of somebody outside, in a folder with a script and a module beside it."""
    (tmp_path / "beside.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "train.py").write_text(
        "import os, sys\nfrom beside import double\n"
        "print('rank', os.environ['RANK'], double(21), sys.argv[1:], flush=True)\n"
        "if '--fail' in sys.argv:\n    raise ValueError('boom')\n"
    )
    env = os.environ | {"GEARSHIFT_URL": running.url, "GEARSHIFT_TOKEN": running.sign_in("cleo")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-P", "-c", "from gearshift.cli import main; exit(main())", "job", *words]
        return subprocess.run(
            argv, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    return run


def test_a_script_runs_as_a_gang_with_its_modules_and_words(command) -> None:  # type: ignore[no-untyped-def]
    done = command("run", "--machine", "sim-1", "--nodes", "2", "-f", *CAPS, "train.py", "--epochs", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rank 0 42 ['--epochs', '3']" in done.stdout
    assert "Finished" in done.stderr
    id = done.stdout.split()[1]
    assert "rank 1 42" in command("logs", id, "--rank", "1").stdout
    assert f"{id}  train.py  Finished" in command("ls").stdout
    assert "2 × 1 on sim-1" in command("show", id).stdout
    assert f"job {id} succeeded" in command("cancel", id, *CAPS).stdout


def test_a_failure_is_the_exit_status_and_names_script_and_line(command) -> None:  # type: ignore[no-untyped-def]
    done = command("run", "--machine", "sim-1", "-f", *CAPS, "train.py", "--fail")
    assert done.returncode == 1
    assert 'File "train.py", line 5' in done.stdout
    assert "Rank 0 on node 0 failed first, exit code 1: ValueError: boom" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--machine", "sim-1", "train.py"), "needs a press"),
        (("run", "--machine", "sim-1", *CAPS, "none.py"), "none.py"),
        (("run", "--machine", "sim-1", "--nodes", "0", *CAPS, "train.py"), "Allowed: 1-4"),
        (("run", "--machine", "sim-1", "--nodes", "1000", *CAPS, "train.py"), "Allowed: 1-4"),
        (("run", "--machine", "gpu-9", *CAPS, "train.py"), "no machine 'gpu-9'"),
        (("run", "--machine", "sim-1", "--priority", "3", *CAPS, "train.py"), "Allowed: -10 to 0"),
        (("run", "--machine", "sim-1", "--expect", "soon", *CAPS, "train.py"), "'soon' is no duration"),
        (("logs", "job-00000000"), "no job 'job-00000000'"),
        (("logs", "-f", "job-00000000"), "no job 'job-00000000'"),
        (("cancel", "job-00000000", *CAPS), "no job 'job-00000000'"),
    ],
)
def test_a_wrong_word_is_refused_with_status_2(command, words, said) -> None:  # type: ignore[no-untyped-def]
    done = command(*words)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_spec_file_says_what_the_options_say(command, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    spec = (
        'script = "train.py"\nname = "from a file"\nmachine = "sim-1"\nnodes = 2\nargv = ["--epochs", "9"]\n'
    )
    (tmp_path / "job.toml").write_text(spec)
    done = command("run", "-f", *CAPS, "job.toml")
    assert "rank 0 42 ['--epochs', '9']" in done.stdout, done.stderr
    assert "from a file" in command("ls").stdout
    (tmp_path / "job.toml").write_text(spec + "nodse = 4\n")
    refused = command("run", *CAPS, "job.toml")
    assert (refused.returncode, "nodse" in refused.stderr) == (2, True), refused.stderr


def test_an_ended_job_is_resumed_from_its_newest_checkpoint(  # type: ignore[no-untyped-def]
    command, running: Running, tmp_path: Path
) -> None:
    (tmp_path / "steps.py").write_text(
        "import os, sys\nfrom pathlib import Path\nfrom gearshift.train import metrics\n"
        "from gearshift.train.gang import checkpoints\n"
        "root, before = Path(os.environ['GS_CKPT']), os.environ['GS_RESUME']\n"
        "print('from', Path(before).name if before else 'nothing', flush=True)\n"
        "whole = checkpoints.folder(root, 7 if not before else 9)\n"
        "whole.mkdir()\n(whole / 'complete').touch()\n"
        "metrics.log(step=7, checkpoint=7)\n"
        "if not before:\n    raise SystemExit(3)\n"
    )
    (tmp_path / "steps.toml").write_text('script = "steps.py"\nmachine = "sim-1"\nattached = true\n')
    failed = command("run", "-f", *CAPS, "steps.toml")
    assert (failed.returncode, "from nothing" in failed.stdout) == (1, True), failed.stderr
    id = failed.stdout.split()[1]
    done = command("resume", id, "-f", *CAPS)
    assert "from step-00000007" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
    with Client(running.url, running.sign_in("cleo")) as control:
        specs = [control.job(one)["spec"]["attached"] for one in (id, done.stdout.split()[1])]
    assert specs == [True, False], "no cell attends to a job that was resumed"
    assert command("top").stdout == "nothing runs\n"


def test_what_cannot_be_resumed_says_why(command) -> None:  # type: ignore[no-untyped-def]
    done = command("run", "--machine", "sim-1", "-f", *CAPS, "train.py")
    id = done.stdout.split()[1]
    refused = command("resume", id, *CAPS)
    assert refused.returncode == 2
    assert f"Job '{id}' has no complete checkpoint" in refused.stderr
    assert "no job 'job-00000000'" in command("resume", "job-00000000", *CAPS).stderr


def test_what_is_expected_and_how_urgent_it_is_reach_the_line(  # type: ignore[no-untyped-def]
    command, running: Running
) -> None:
    words = ("--machine", "sim-1", "--expect", "90min", "--priority", "-3", "--retry", "error=1", "-f", *CAPS)
    done = command("run", *words, "train.py")
    assert done.returncode == 0, done.stderr
    with Client(running.url, running.sign_in("cleo")) as control:
        spec = control.job(done.stdout.split()[1])["spec"]
    assert (spec["expected_seconds"], spec["priority"], spec["max_restarts"]) == (5400, -3, 1)


def test_a_job_that_was_sent_off_is_waited_for_elsewhere_and_its_end_is_the_exit_status(  # type: ignore[no-untyped-def]
    command, running: Running, tmp_path: Path
) -> None:
    (tmp_path / "waits.py").write_text(
        "import os, sys, time\nprint('up', flush=True)\n"
        "while not os.path.exists(os.environ['GO']):\n    time.sleep(0.02)\n"
        "print('went on', flush=True)\nsys.exit(int(sys.argv[1]))\n"
    )
    go = running.home.homes / "cleo" / "go"
    sent = [
        command("run", "--machine", "sim-1", "--env", f"GO={go}", *CAPS, "--", "waits.py", c) for c in "03"
    ]
    assert [one.returncode for one in sent] == [0, 0], sent[0].stderr + sent[1].stderr
    ids = [one.stdout.split()[1] for one in sent]
    with ThreadPoolExecutor(2) as pool:
        followed = [pool.submit(command, "logs", "-f", id) for id in ids]
        try:
            go.touch()
            ended = [one.result() for one in followed]
        finally:
            go.unlink(missing_ok=True)
    assert [one.returncode for one in ended] == [0, 1], [one.stderr for one in ended]
    assert all(one.stdout == "up\nwent on\n" for one in ended)
    assert f"job {ids[0]}: Finished" in ended[0].stderr


def test_following_a_job_that_is_cancelled_ends_as_an_interrupted_command(command, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "for_ever.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(600)\n")
    id = command("run", "--machine", "sim-1", *CAPS, "for_ever.py").stdout.split()[1]
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(command, "logs", "-f", id)
        assert command("cancel", id, *CAPS).returncode == 0
        ended = following.result()
    assert (ended.returncode, "cancelled" in ended.stderr.lower()) == (130, True), ended.stderr
