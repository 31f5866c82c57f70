"""`make run` as its reader does it: an ordinary user, a fresh checkout, a bare shell, a terminal, Ctrl-C; and what is
said when something is missing first.

The packages are linked from the environment of the tests, as if they had been installed; the product's wheel is built.
"""

from __future__ import annotations

import importlib.util
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import psutil
import pytest
from gearshift.kernel import Kernel
from gearshift_hub.paths import Home
from gearshift_testing import running as products
from gearshift_testing.driving import Driver, until
from gearshift_testing.running import Running

ROOT = Path(__file__).resolve().parents[2]
UID = 23459
OURS = ("gearshift", "_editable")
LAB = "jupyterlab-gearshift"


@dataclass(frozen=True)
class Bare:
    """Somebody with a home that holds a checkout and nothing else."""

    home: Path

    @property
    def checkout(self) -> Path:
        return self.home / "gearshift"

    @property
    def state(self) -> Path:
        """Where `make run` keeps everything when nobody says where."""
        return self.home / ".local/share/gearshift"

    def command(self, *words: str, path: str | None = None, **env: str) -> list[str]:
        """The command line that runs this as that user, in a bare environment."""
        python = Path(os.path.realpath(sys.executable)).parent
        settings = {"HOME": str(self.home), "PATH": path or f"{python}:/usr/bin:/bin", **env}
        become = (
            ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"] if os.geteuid() == 0 else []
        )
        return [*become, "env", "-i", *(f"{name}={value}" for name, value in settings.items()), *words]

    def run(self, *words: str, path: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        argv = self.command(*words, path=path, **env)
        return subprocess.run(
            argv, cwd=self.checkout, capture_output=True, text=True, timeout=120, check=False
        )


@pytest.fixture(scope="module")
def bare() -> Iterator[Bare]:
    person = Bare(products.new_home().root)
    list_files = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(list_files, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            target = person.checkout / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    give(person.home)
    yield person
    shutil.rmtree(person.home)
    shutil.rmtree(Home(person.state).runtime, ignore_errors=True)


@pytest.fixture(scope="module")
def bootstrap(bare: Bare) -> ModuleType:
    """The checkout's own bootstrap, as a module."""
    spec = importlib.util.spec_from_file_location("bootstrap", bare.checkout / "hub_config/bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    spec.loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


def give(folder: Path) -> None:
    """Make it all the user's, links as well."""
    if os.geteuid() == 0:
        subprocess.run(["chown", "-Rh", f"{UID}:{UID}", str(folder)], check=True)


def link_packages(target: Path, bootstrap: ModuleType) -> None:
    """An environment that holds what the tests' own holds, but for the product; stamped as bootstrap does."""
    source = Path(sys.prefix)
    packages = Path(f"lib/python3.{sys.version_info.minor}/site-packages")
    extensions = Path("share/jupyter/labextensions")
    for folder in (Path("bin"), packages, extensions, Path("share/jupyter"), Path("share")):
        link_entries(source / folder, target / folder)
    shutil.copytree(source / "etc", target / "etc", copy_function=os.symlink)
    shutil.copy2(source / "pyvenv.cfg", target / "pyvenv.cfg")
    wanted = bootstrap.requirements(["hub", "lab", "train"])
    bootstrap.Stamp(target / "packages.json").write(pins=bootstrap.pins(), installed=wanted)
    built = target.parent / "build/extensions/gearshift/labextension"
    shutil.copytree(source / extensions / LAB, built)
    digest = bootstrap.digest_of_files("extensions/jupyterlab-gearshift")
    bootstrap.Stamp(target / "product.json").write(lab=digest)


def link_entries(source: Path, target: Path) -> None:
    """Links to what is there, but for the product and for what has been made here already."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        here = target / entry.name
        if not here.exists() and not entry.name.startswith((*OURS, LAB)):
            here.symlink_to(entry.resolve() if entry.name.startswith("python") else entry)


class Terminal:
    """A command in a terminal of its own, what it says in a file, and the keys that a person presses."""

    def __init__(self, argv: list[str], cwd: Path, output: Path) -> None:
        self._keys, there = pty.openpty()
        self.output = output
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *argv], cwd=cwd, stdin=there, stdout=there, stderr=there
        )
        os.close(there)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def press(self, keys: bytes) -> None:
        os.write(self._keys, keys)

    def wait(self, seconds: float) -> int:
        code = self.process.wait(seconds)
        self._reader.join(10)
        os.close(self._keys)
        return code

    def _read(self) -> None:
        with self.output.open("ab", buffering=0) as file:
            try:
                while said := os.read(self._keys, 1 << 16):
                    file.write(said.replace(b"\r\n", b"\n"))
            except OSError:  # the other side has closed
                return


def theirs(bare: Bare) -> list[str]:
    """Processes that belong to this person's deployment."""
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        words = [*(process.info["cmdline"] or []), *(process.info["environ"] or {}).values()]
        if process.pid != os.getpid() and any(str(bare.home) in word for word in words):
            found.append(" ".join(process.info["cmdline"] or []))
    return found


def test_an_ordinary_user_runs_it_works_and_ends_it_with_ctrl_c(bare: Bare, bootstrap: ModuleType) -> None:
    link_packages(bare.state / "env", bootstrap)
    give(bare.home)
    before = sorted(str(path) for path in bare.checkout.rglob("*"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    output = bare.home.with_suffix(".out")
    output.touch()
    terminal = Terminal(bare.command("make", "run", f"ARGS=--port {port}"), bare.checkout, output)
    product = Running(Home(bare.state), terminal.process, output)
    try:
        until(lambda: "Ctrl-C stops" in output.read_text() or terminal.ended, 180, "it is ready")
        assert not terminal.ended, output.read_text()
        assert "installing Gearshift itself" in output.read_text()
        assert f"Gearshift is ready: http://127.0.0.1:{port}/" in output.read_text()
        products.activate_admin(product)
        admin = Driver(product, products.ADMIN)
        assert admin.start("work")["state"] == "ready"
        kernel = Kernel(product.server(products.ADMIN, "work"), product.admin)
        uid = UID if os.geteuid() == 0 else os.getuid()
        assert kernel.run("import os, gearshift; print(os.getuid(), gearshift.__file__)").text.startswith(
            f"{uid} {bare.state}/env/"
        )
        kernel.close()
        terminal.press(b"\x03")
        assert terminal.wait(90) in (0, -signal.SIGINT)  # the second is make's own answer to Ctrl-C
        until(lambda: output.read_text().rstrip().endswith("Stopped."), 60, "it says that it has stopped")
        until(lambda: not theirs(bare), 30, "nothing is left")
        assert sorted(str(path) for path in bare.checkout.rglob("*")) == before
        assert {path.name for path in bare.home.iterdir()} <= {"gearshift", ".local", ".cache"}
    finally:
        if not terminal.ended:
            terminal.process.terminate()
        output.unlink()


def test_make_test_names_the_missing_package_to_a_user_who_cannot_install_it(bare: Bare) -> None:
    tools = bare.home / "tools"
    tools.mkdir()
    for tool in ("make", "python3", "sh", "env"):
        (tools / tool).symlink_to(
            os.path.realpath(sys.executable) if tool == "python3" else str(shutil.which(tool))
        )
    said = bare.run("make", "test", path=str(tools))
    shutil.rmtree(tools)
    assert said.returncode == 2, said.stdout + said.stderr
    assert "gearshift: the tests need the Debian package chromium (apt install chromium" in said.stderr


def test_a_folder_that_cannot_be_written_is_one_sentence_with_a_way_on(bare: Bare) -> None:
    closed = bare.home / "closed"
    closed.mkdir(mode=0o555)
    give(closed)
    said = bare.run("make", "run", GEARSHIFT_HOME=str(closed / "state"))
    assert said.returncode == 2
    told = [line for line in said.stderr.splitlines() if not line.startswith("make")]
    assert told == [
        f"gearshift: {closed}/state cannot be written (Permission denied). Set GEARSHIFT_HOME to a folder that can."
    ]


@pytest.mark.root
def test_a_full_disk_is_one_sentence_with_what_is_needed(bare: Bare) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    disk = bare.home / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=4m,uid={UID}", "tmpfs", str(disk)], check=True)
    try:
        said = bare.run("make", "run", GEARSHIFT_HOME=str(disk / "state"))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        read_only = bare.run("make", "run", GEARSHIFT_HOME=str(disk / "state"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert (said.returncode, read_only.returncode) == (2, 2)
    assert "has 0.0 GB free and the packages need about 4 GB. Free some space" in said.stderr
    assert "cannot be written (Read-only file system). Set GEARSHIFT_HOME" in read_only.stderr


def test_torch_comes_from_another_index_where_one_is_named_and_nothing_else_does(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = tmp_path / "asked"
    python = tmp_path / "env/python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\necho "$@" >> {asked}\n')
    python.chmod(0o755)
    usual = bootstrap.pins()
    monkeypatch.setenv("GEARSHIFT_TORCH_INDEX", "https://index.example/rocm")
    assert bootstrap.pins() != usual, "another build is another environment"
    bootstrap.install_packages(tmp_path, python, ["train"])
    tools, torch, rest = asked.read_text().splitlines()
    assert "--index-url https://index.example/rocm torch==" in torch
    assert "deepspeed" not in torch
    assert "index.example" not in tools + rest
    assert "deepspeed==" in rest


def test_a_missing_compiler_is_named_where_a_package_could_not_be_built(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(bootstrap.Refusal) as refused:
        bootstrap.run([sys.executable, "-c", "raise SystemExit(1)"], "installing packages")
    assert "installing packages failed (exit 1)" in str(refused.value)
    assert "no C compiler" in str(refused.value)
    assert "apt install gcc python3-dev" in str(refused.value)
