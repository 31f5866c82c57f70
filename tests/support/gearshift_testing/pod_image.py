"""Makes the image of the tests' pods: this Debian with its Python, the packages of `gearshift[lab]`, and Gearshift.

No build tool: debootstrap, pip in a changed root, and an OCI archive of two layers. The lower one is kept while the pins
stay the same; the upper one holds Gearshift itself and takes seconds.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "hub_config"))
import bootstrap  # noqa: E402 - a script of the tree, not of the package

REPOSITORY = "localhost/gearshift/workspace"
OCI = "application/vnd.oci.image"
PIP = (sys.executable, "-m", "pip")
VENV = "/opt/gearshift"
DEBIAN = "ca-certificates,python3,python3-venv,tini,git"
USER = 1000
LEFT_OUT = (
    "./proc",
    "./sys",
    "./dev",
    "./wheels",
    "./var/cache/apt",
    "./var/lib/apt/lists",
    "./var/log",
    "./etc/apt",
)


def make(cache: Path, server: Path) -> tuple[Path, str]:
    """The archive, ready for `cluster load`, and the image's name; `server` is the home where `make env` has built."""
    cache.mkdir(parents=True, exist_ok=True)
    archive = cache / "workspace.tar"
    return archive, _archive(archive, [_lower(cache), _upper(cache, server)])


def _lower(cache: Path) -> Path:
    """Debian and the packages."""
    wanted = _requirements()
    key = hashlib.sha256(
        json.dumps([wanted, DEBIAN, _suite(), (ROOT / "constraints.txt").read_text()]).encode()
    ).hexdigest()[:16]
    layer, root = cache / f"packages-{key}.tar", cache / "root"
    if layer.exists() and root.exists():
        return layer
    for old in cache.glob("packages-*.tar"):
        old.unlink()
    shutil.rmtree(root, ignore_errors=True)
    _run("debootstrap", "--variant=minbase", f"--include={DEBIAN}", _suite(), str(root), _mirror())
    wheels = root / "wheels"
    _download(wheels, wanted)
    with _entered(root):
        _inside(root, "useradd", "-m", "-u", str(USER), "-s", "/bin/bash", "jovyan")
        _inside(root, "python3", "-m", "venv", VENV)
        pip = (f"{VENV}/bin/pip", "install", "-q", "--no-index", "--find-links", "/wheels")
        _inside(root, *pip, *wanted)
    shutil.rmtree(wheels)
    _pack(root, layer, sorted(path for path in _names(root) if not _left_out(path)))
    return layer


def _upper(cache: Path, server: Path) -> Path:
    """Gearshift, as a wheel of the tree as it is: what pip has recorded of it, and the folders above."""
    root, layer = cache / "root", cache / "gearshift.tar"
    wheels = root / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    wheel = _wheel(cache, server, wheels)
    with _entered(root):
        pip = (f"{VENV}/bin/pip", "install", "-q", "--no-index", "--no-deps", "--force-reinstall")
        _inside(root, *pip, f"/wheels/{wheel}")
    shutil.rmtree(wheels)
    _pack(root, layer, sorted(_installed(root)))
    return layer


def _installed(root: Path) -> set[str]:
    site = next((root / VENV.lstrip("/") / "lib").glob("python3*")) / "site-packages"
    record = next(site.glob("gearshift-*.dist-info")) / "RECORD"
    files = {(site / line.split(",")[0]).resolve() for line in record.read_text().splitlines()}
    top = root.resolve()
    above = {folder for file in files for folder in file.parents if top in folder.parents}
    return {f"./{path.relative_to(top)}" for path in files | above if path.exists()}


def _wheel(cache: Path, server: Path, into: Path) -> str:
    build = cache / "build"
    shutil.rmtree(build, ignore_errors=True)
    bootstrap.copy_sources(build)
    shutil.rmtree(build / "extensions/gearshift/locale", ignore_errors=True)  # a link in a development tree
    extension = "extensions/gearshift/labextension"
    built = [folder for folder in (ROOT / extension, server / "build" / extension) if folder.is_dir()]
    if not built:
        raise SystemExit("gearshift: the Lab extension is not built; `make env` builds it")
    shutil.copytree(built[0], build / extension)
    into.mkdir()
    _run(*PIP, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(into), str(build))
    return next(into.glob("gearshift-*.whl")).name


def _requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return sorted({*project["dependencies"], *project["optional-dependencies"]["lab"]})


def _download(into: Path, wanted: list[str]) -> None:
    pins = str(ROOT / "constraints.txt")
    _run(*PIP, "download", "-q", "--prefer-binary", "-c", pins, "-d", str(into), *wanted)
    for source in [*into.glob("*.tar.gz"), *into.glob("*.zip")]:
        _run(*PIP, "wheel", "-q", "--no-deps", "-w", str(into), str(source))


def _suite() -> str:
    """The same Debian as here, so that the Python is the same and so are the wheels."""
    facts = dict(
        line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line
    )
    return facts["VERSION_CODENAME"].strip('"')


def _mirror() -> str:
    """Where this machine has its Debian from."""
    told = _run("apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)")
    found = [line.split()[1] for line in told.splitlines() if line.split()[0] == _suite()]
    if not found:
        raise SystemExit("gearshift: apt knows no source of this Debian; see /etc/apt")
    return found[0]


@contextmanager
def _entered(root: Path) -> Iterator[None]:
    """With what a program expects beneath a root."""
    for name, kind in (("proc", "proc"), ("dev", "devtmpfs")):
        _run("mount", "-t", kind, kind, str(root / name))
    try:
        yield
    finally:
        for name in ("dev", "proc"):
            _run("umount", "-l", str(root / name))


def _inside(root: Path, *command: str) -> None:
    _run(
        "chroot",
        str(root),
        "/usr/bin/env",
        "-i",
        "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME=/root",
        *command,
    )


def _names(root: Path) -> Iterator[str]:
    for path in root.rglob("*"):
        yield f"./{path.relative_to(root)}"


def _left_out(path: str) -> bool:
    return any(path.startswith(f"{name}/") for name in LEFT_OUT)


def _pack(root: Path, layer: Path, names: list[str]) -> None:
    draft = layer.with_suffix(".part")
    with tarfile.open(draft, "w") as tar:
        for name in names:
            tar.add(root / name, arcname=name[2:], recursive=False)
    draft.rename(layer)


def _archive(target: Path, layers: list[Path]) -> str:
    """An OCI archive; returns the name, with its digest, under which a node finds the image."""
    sizes = {_sha256(layer): layer for layer in layers}
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": str(USER),
            "WorkingDir": "/home/jovyan",
            "Entrypoint": ["tini", "-g", "--"],
            "Env": [f"PATH={VENV}/bin:/usr/local/bin:/usr/bin:/bin", f"GEARSHIFT_IMAGE_PREFIX={VENV}"],
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in sizes]},
    }
    body = json.dumps(config).encode()
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": _blob(f"{OCI}.config.v1+json", hashlib.sha256(body).hexdigest(), len(body)),
            "layers": [
                _blob(f"{OCI}.layer.v1.tar", digest, layer.stat().st_size) for digest, layer in sizes.items()
            ],
        }
    ).encode()
    digest = hashlib.sha256(manifest).hexdigest()
    name = f"{REPOSITORY}@sha256:{digest}"
    entry = _blob(f"{OCI}.manifest.v1+json", digest, len(manifest))
    index = {"schemaVersion": 2, "manifests": [{**entry, "annotations": {"io.containerd.image.name": name}}]}
    draft = target.with_suffix(".part")
    with tarfile.open(draft, "w") as tar:
        _put(tar, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
        _put(tar, "index.json", json.dumps(index).encode())
        _put(tar, f"blobs/sha256/{digest}", manifest)
        _put(tar, f"blobs/sha256/{hashlib.sha256(body).hexdigest()}", body)
        for sha256, layer in sizes.items():
            tar.add(layer, arcname=f"blobs/sha256/{sha256}")
    draft.rename(target)
    return name


def _blob(kind: str, digest: str, size: int) -> dict[str, Any]:
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": size}


def _put(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _run(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(
            f"gearshift: {' '.join(command[:4])} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
    return done.stdout


if __name__ == "__main__":
    print(*make(Path(sys.argv[1]), Path(sys.argv[2])))
