"""Runs a command with a cluster: the one that KUBECONFIG names, else one of its own, started before and ended after.

For a cluster that is given, GEARSHIFT_TEST_REACH is this machine's address as its nodes see it, and GEARSHIFT_TEST_IMAGE the
name, with its digest, under which they find the image that `gearshift_testing.pod_image` makes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from gearshift_testing import pod_image

ROOT = Path(__file__).resolve().parents[2]
PLACES = (ROOT / "shared/cluster/cluster", ROOT.parent / "shared/cluster/cluster")
NEEDED = ("GEARSHIFT_TEST_REACH", "GEARSHIFT_TEST_IMAGE")
BRIDGE = "10.213.0.1"
"""This machine, as the nodes of a cluster of our own see it."""
CACHE = Path("/var/tmp/gearshift-pod-image")
PARTS = "dns,storage,policies"


def main(command: list[str]) -> int:
    if os.environ.get("KUBECONFIG"):
        missing = [name for name in NEEDED if not os.environ.get(name)]
        if missing:
            return refuse(f"with a cluster of your own, {' and '.join(missing)} must be set")
        return run(command, dict(os.environ))
    cluster = next((place for place in PLACES if place.exists()), None)
    if cluster is None:
        return refuse("KUBECONFIG names no cluster, and there is no `cluster` script beside the checkout")
    if os.geteuid() != 0:
        return refuse("a cluster of our own needs root; or name one in KUBECONFIG")
    return with_own(cluster, command)


def with_own(cluster: Path, command: list[str]) -> int:
    """Start, load, run, end."""
    install()
    say("making the pods' image (a first time takes some minutes)")
    archive, image = pod_image.make(CACHE, Path(os.environ.get("GEARSHIFT_HOME", "/var/lib/gearshift")))
    say("starting the cluster")
    try:
        began = time.monotonic()
        up = subprocess.run(
            [cluster, "up", "--nodes", "1", "--with", PARTS], check=True, stdout=subprocess.PIPE, text=True
        )
        subprocess.run([cluster, "load", archive], check=True, stdout=subprocess.DEVNULL)
        say(f"the cluster is there after {time.monotonic() - began:.0f} s")
        kubeconfig = up.stdout.split()[-1]
        return run(
            command,
            {
                **os.environ,
                "KUBECONFIG": kubeconfig,
                "GEARSHIFT_TEST_REACH": BRIDGE,
                "GEARSHIFT_TEST_IMAGE": image,
            },
        )
    finally:
        subprocess.run([cluster, "down"], check=True, stdout=subprocess.DEVNULL)


def install() -> None:
    if not Path("/usr/sbin/debootstrap").exists():
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-q"], check=True, env=quiet, stdout=subprocess.DEVNULL)
        wanted = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "debootstrap"]
        subprocess.run(wanted, check=True, env=quiet, stdout=subprocess.DEVNULL)


def run(command: list[str], environment: dict[str, str]) -> int:
    return subprocess.run(
        command, check=False, env={**environment, "GEARSHIFT_TEST_BACKEND": "kubernetes"}
    ).returncode


def refuse(why: str) -> int:
    print(f"gearshift: {why}", file=sys.stderr)
    return 2


def say(text: str) -> None:
    print(f"gearshift: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
