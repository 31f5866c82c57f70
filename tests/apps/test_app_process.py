"""An app's process: what it leaves behind when it ends, and what it sees."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import psutil
from gearshift.lab.apps.process import LOG_BYTES, AppProcess, AppState, environment
from gearshift.model.app import App
from gearshift.model.record import Text

FORKS = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True); sys.exit(3)"


def process(folder: Path, *command: str) -> AppProcess:
    app = App(id="one", title=Text(en="One", zh="一"), command=command, listens="socket", starter="first")
    return AppProcess(app, "/user/a/b/app", 0, folder, folder, folder)


def test_nothing_of_an_app_that_ended_holds_its_port(tmp_path: Path) -> None:
    one = process(tmp_path, sys.executable, "-c", FORKS)
    asyncio.run(asyncio.wait_for(one.start(), 20))
    assert (one.state, one.exit_code) == (AppState.ENDED, 3)
    child = int(one.last_lines()[0])
    gone = not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    if not gone:
        psutil.Process(child).wait(5)


def test_however_often_it_is_pressed_one_process_starts(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    one = process(tmp_path, "sh", "-c", f"echo $$ >> {pids}; sleep 0.5")

    async def pressed_twice() -> None:
        await asyncio.gather(one.start(), one.start())

    asyncio.run(asyncio.wait_for(pressed_twice(), 20))
    assert len(pids.read_text().split()) == 1
    asyncio.run(asyncio.wait_for(one.start(), 20))
    assert len(pids.read_text().split()) == 2, "once it has ended it starts again"


def test_a_log_that_grows_for_ever_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    talks = "for n in range(600): print(n, 'x' * 100_000)\nprint('the end')"
    one = process(tmp_path, sys.executable, "-c", talks)
    asyncio.run(asyncio.wait_for(one.start(), 60))
    assert one.log.stat().st_size > 2 * LOG_BYTES
    assert one.log.stat().st_blocks * 512 < 1.5 * LOG_BYTES
    assert one.last_lines()[-1] == "the end"
    with one.log.open() as file:
        assert file.readline().startswith("0 x")


def test_a_first_file_is_put_once_and_never_again(tmp_path: Path) -> None:
    one = process(tmp_path, "true")
    asyncio.run(one.start())
    file = tmp_path / "apps/one/app.py"
    assert file.read_text() == "first"
    file.write_text("mine")
    asyncio.run(one.start())
    assert file.read_text() == "mine"


def test_an_app_sees_nothing_of_what_the_server_is_trusted_by() -> None:
    ours = {"JUPYTERHUB_API_TOKEN": "t", "GEARSHIFT_DOOR_KEY": "k", "JUPYTER_PATH": "p", "HOME": "h"}
    app = App(id="one", title=Text(en="One", zh="一"), command=("x",), listens="port", env={"PORT": "{port}"})
    assert environment(ours, app, {"port": "7"}) == {"JUPYTER_PATH": "p", "HOME": "h", "PORT": "7"}
