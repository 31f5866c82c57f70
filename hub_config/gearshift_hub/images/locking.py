"""Writes the locks anew, and says which no longer fit what they were made from; the second needs no network."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from gearshift_hub.images import installer, locks
from gearshift_hub.images.catalog import Catalog, Variant

OLDEST_PYTHON = "3.11"
FOREIGN = ("nvidia-", "triton")
"""What a torch build for another chip brings along."""


class LockError(Exception):
    """A lock that cannot be written; the text says why."""


def stale(catalog: Catalog) -> Iterator[str]:
    """A sentence for each lock that does not come from the requirements beside it."""
    for variant in [*catalog.variants(), *filter(None, map(catalog.app, catalog.apps))]:
        if not variant.lock.exists():
            if variant.needs is None:
                yield f"{variant.name} has no lock"
        elif locks.recorded_inputs(variant.lock) != inputs(variant):
            yield f"{variant.name}: its requirements have changed since it was locked"


def inputs(variant: Variant) -> str:
    return locks.inputs_digest(variant.chain, variant.asked)


def write(catalog: Catalog, variant: Variant, cache: Path, constraints: Path | None) -> None:
    """Resolve the image's requirements and put the lock beside them. Torch itself is left to the site."""
    parent = variant.declaration.parent
    above = catalog.variant(parent, variant.runtime) if parent else None
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "asked.in"
        asked.write_text("".join(f"{line}\n" for line in variant.asked))
        limits = [constraints] if constraints and variant.app is None else []
        if above is not None and above.lock.exists():
            limits.append(pins(above.lock, Path(folder) / "parent.txt"))
        body = installer.run(_compile(variant, asked, limits), cache)
    foreign = [name for name in FOREIGN if f"\n{name}" in body and variant.runtime == "cpu"]
    if foreign:
        raise LockError(
            f"{variant.name}: the torch found here brings {', '.join(foreign)}. Name an index with builds for"
            f" {variant.runtime.value} in {installer.TORCH_INDEX}."
        )
    variant.lock.write_text(locks.written(body, variant.name, inputs(variant)), "utf-8")


def pins(lock: Path, target: Path) -> Path:
    """The versions of a lock without its hashes, as a file of constraints."""
    target.write_text("".join(f"{name}=={version}\n" for name, version in locks.packages(lock).items()))
    return target


def _compile(variant: Variant, asked: Path, limits: list[Path]) -> list[str]:
    """A torch build is one system's, and so are many apps; an image without it has a lock that is good for all."""
    one_system = variant.torch or variant.app
    system = ["--python-platform", "x86_64-unknown-linux-gnu"] if one_system else ["--universal"]
    words = ["pip", "compile", "--quiet", "--generate-hashes", "--no-annotate", "--no-header", *system]
    words += ["--python-version", OLDEST_PYTHON, "--no-emit-package", "torch"]
    words += [word for limit in limits for word in ("--constraint", str(limit))]
    return [*words, *(str(path) for path in variant.chain), str(asked)]
