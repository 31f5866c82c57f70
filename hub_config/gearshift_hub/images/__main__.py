"""`gearshift image`: list, lock, build, test and pin the images of the catalog."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

from gearshift.model.image import Making
from gearshift.model.units import format_bytes

from gearshift_hub.images import locking, promises
from gearshift_hub.images.catalog import Catalog, Variant
from gearshift_hub.images.containers import ContainerError, Containers
from gearshift_hub.images.environments import Environments
from gearshift_hub.images.installer import InstallError
from gearshift_hub.images.locking import LockError
from gearshift_hub.images.oci import LAYOUT, Built, Forge
from gearshift_hub.paths import Home

CONSTRAINTS = "constraints.txt"


class RefusedError(Exception):
    """What was asked for cannot be; the text is the whole message."""


def main(argv: list[str] | None = None) -> int:
    """0 when done, 1 when something does not hold, 2 with a sentence when it was refused."""
    given = parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = given.run
    os.umask(0o022)  # everybody reads what is made here
    try:
        return run(given)
    except (RefusedError, InstallError, LockError, ContainerError) as refused:
        print(f"gearshift: {refused}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="gearshift image", description=__doc__)
    verbs = made.add_subparsers(title="verbs", metavar="VERB", required=True)
    verbs.add_parser("ls", help="what is declared, locked and made here").set_defaults(run=ls)
    lock = verbs.add_parser("lock", help="write the locks anew from the requirements (of a checkout)")
    lock.add_argument("images", nargs="*", metavar="ID", help="without it all that can be locked here")
    lock.add_argument("--check", action="store_true", help="only say which are stale; needs no network")
    lock.set_defaults(run=write_locks)
    build = verbs.add_parser("build", help="make an image on this box, as an environment or as a container")
    _takes_form(build)
    build.add_argument("--again", action="store_true", help="make it anew even where it is there")
    build.set_defaults(run=make)
    test = verbs.add_parser("test", help="prove what an image promises, inside it")
    _takes_form(test)
    test.set_defaults(run=prove)
    pin = verbs.add_parser("pin", help="print the line of a deployment file that lets in this digest alone")
    _takes_form(pin)
    pin.set_defaults(run=print_pin)
    save = verbs.add_parser(
        "save", help="write the container of an image into one file, to be carried elsewhere"
    )
    save.add_argument("image", metavar="ID")
    save.add_argument("file", metavar="FILE", type=Path)
    save.set_defaults(run=save_archive)
    return made


def _takes_form(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("image", metavar="ID")
    verb.add_argument(
        "--as", dest="form", choices=["env", "oci"], default="env", help="environment (default) or container"
    )


def ls(_given: argparse.Namespace) -> int:
    environments = Environments(Home.default())
    catalog = Catalog()
    forge = Forge(catalog, Containers(Home.default()))
    for variant in [*catalog.variants(), *filter(None, map(catalog.app, catalog.apps))]:
        container = forge.find(variant) if variant.digest else None
        made = environments.find(variant.digest) if variant.digest else None
        size = format_bytes(made.size_bytes) if made else ""
        state = "made" if made else "locked" if variant.digest else "declared"
        needs = "" if variant.digest or variant.needs is None else f"needs {variant.needs.en}"
        said = f"container {container.digest[:19]}" if container else needs
        line = f"{variant.name:24} {state:9} {variant.digest[:19] or '-':20} {size:>8}  {said}"
        print(line.rstrip())
    return 0


def write_locks(given: argparse.Namespace) -> int:
    catalog = Catalog()
    if given.check:
        said = list(locking.stale(catalog))
        for sentence in said:
            print(f"{sentence}. Run `gearshift image lock`.", file=sys.stderr)
        return int(bool(said))
    chosen = [_variant(catalog, name) for name in given.images]
    constraints = catalog.folder.parent / CONSTRAINTS
    for variant in chosen or [one for one in catalog.variants() if one.needs is None]:
        locking.write(catalog, variant, _cache(), constraints if constraints.exists() else None)
        print(f"{variant.name} {variant.digest}", flush=True)
    return 0


def make(given: argparse.Namespace) -> int:
    variant = _locked(given.image)
    if given.form == "oci":
        built = _forge().build(variant, given.again)
        size = format_bytes(built.size_bytes)
        print(f"{built.reference}: {built.digest}, {size} with zstd layers, {built.seconds:g} s")
        return 0
    environments = Environments(Home.default())
    if given.again:
        environments.remove(variant.digest)
    made = environments.build(variant, _say)
    print(
        f"{variant.name}: {len(made.packages)} packages, {format_bytes(made.size_bytes)}, {made.seconds:g} s"
    )
    return 0


def prove(given: argparse.Namespace) -> int:
    """Runs under the image's own Python, without anything of ours on its path."""
    variant = _locked(given.image)
    if given.form == "oci":
        return _prove_container(variant)
    made = Environments(Home.default()).build(variant, _say)
    asked = promises.Asked(variant.lock, variant.declaration.main, bool(variant.torch))
    done = subprocess.run(promises.command(made.interpreter, asked), env=promises.environment(), check=False)
    return done.returncode


def _prove_container(variant: Variant) -> int:
    """The same promises, as a person of the container would find them."""
    built, forge = _built(variant), _forge()
    script, lock = "/run/promises.py", Path("/run/image.lock")
    asked = promises.Asked(lock, variant.declaration.main, bool(variant.torch), sealed=True)
    command = promises.command(Path("/opt/venv/bin/python"), asked, script)
    mounts = [(Path(promises.__file__), script), (variant.lock, str(lock))]
    argv = forge.containers.inside(built.reference, command, mounts)
    return subprocess.run(argv, env=forge.containers.environment(), check=False).returncode


def print_pin(given: argparse.Namespace) -> int:
    """An environment is known by its lock; a container by its manifest, which a cluster's table of images names."""
    variant = _locked(given.image)
    if given.form == "oci":
        print(f'{variant.name} = "REGISTRY/{variant.name}@{_built(variant).digest}"')
    else:
        print(f'digest = "{variant.digest}"')
    return 0


def save_archive(given: argparse.Namespace) -> int:
    """As an OCI archive: what `podman load` and `skopeo copy` take."""
    variant = _locked(given.image)
    _built(variant)
    layout = _forge().folder(variant) / LAYOUT
    with tarfile.open(given.file, "w") as archive:
        for part in sorted(layout.iterdir()):
            archive.add(part, part.name)
    print(f"{given.file}: {format_bytes(given.file.stat().st_size)}")
    return 0


def _forge() -> Forge:
    if obstacle := Containers.obstacle():
        raise RefusedError(obstacle)
    return Forge(Catalog(), Containers(Home.default()))


def _built(variant: Variant) -> Built:
    found = Forge(Catalog(), Containers(Home.default())).find(variant)
    if found is None:
        raise RefusedError(
            f"{variant.name} is not built as a container: `gearshift image build {variant.name} --as oci` does it."
        )
    return found


def _say(stage: Making, detail: str) -> None:
    """A line that a person reads and control knows again by its first word."""
    print(f"{stage.value}: {stage.words.en}, {detail}", flush=True)


def _cache() -> Path:
    return Environments(Home.default()).cache


def _variant(catalog: Catalog, name: str) -> Variant:
    found = catalog.named(name)
    if found is None:
        known = ", ".join(one.name for one in catalog.variants())
        raise RefusedError(f"the catalog declares no image {name!r}. Declared: {known}.")
    return found


def _locked(name: str) -> Variant:
    variant = _variant(Catalog(), name)
    if not variant.digest:
        needs = variant.needs
        raise RefusedError(
            f"{name} is only declared: it has no lock{f', for it needs {needs.en}' if needs else ''}."
        )
    return variant


if __name__ == "__main__":
    raise SystemExit(main())
