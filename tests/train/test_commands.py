"""`gearshift job …` against the running product: a script as a gang, its log, its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
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
        (("logs", "job-00000000"), "no job 'job-00000000'"),
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
