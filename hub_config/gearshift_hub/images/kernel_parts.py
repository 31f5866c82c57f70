"""The folder through which an image's Python finds `gearshift`, and nothing else of Gearshift's own environment."""

from __future__ import annotations

from pathlib import Path

import gearshift

from gearshift_hub.paths import Home


def folder(home: Home) -> Path:
    """It holds one link; what `gearshift` itself needs is promised by every image."""
    return home.run / "jupyter" / "parts"


def put(home: Home) -> None:
    """Link the package that is installed, so that kernel and server are always of one version."""
    place = folder(home)
    place.mkdir(mode=0o755, exist_ok=True)
    place.chmod(0o755)
    link, target = place / "gearshift", Path(gearshift.__path__[0])
    if link.is_symlink() and link.readlink() == target:
        return
    draft = place / ".gearshift.new"
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    draft.replace(link)
