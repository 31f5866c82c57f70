"""Knows which Debian packages the tests need beside Python: installs them as root, else names what is missing.

Exit status 0 when all are there, 2 with one sentence when one is missing and this is not root.
Standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from glob import glob

NEEDED = {
    "chromium": lambda: shutil.which("chromium"),
    "postgresql": lambda: shutil.which("initdb") or glob("/usr/lib/postgresql/*/bin/initdb"),
    "fonts-noto-cjk": lambda: glob("/usr/share/fonts/opentype/noto/NotoSansCJK*"),
    "make": lambda: shutil.which("make"),
    "iptables": lambda: shutil.which("iptables"),
    "buildah": lambda: shutil.which("buildah"),
    "podman": lambda: shutil.which("podman"),
    "runc": lambda: shutil.which("runc"),
    "debootstrap": lambda: shutil.which("debootstrap"),
    "g++": lambda: shutil.which("g++"),  # DeepSpeed compiles its gloo helper once
}


def main() -> int:
    missing = [name for name, found in NEEDED.items() if not found()]
    if not missing:
        return 0
    if os.geteuid() != 0:
        print(
            f"gearshift: the tests need the Debian package {missing[0]} (apt install {' '.join(missing)})",
            file=sys.stderr,
        )
        return 2
    return install(missing)


def install(packages: list[str]) -> int:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-q"],
        ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages],
    ):
        if subprocess.run(command, env=env, check=False).returncode:
            print(f"gearshift: {' '.join(command)} failed; the lines above say why", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
