"""Images as control sees them: is the environment there, wait for it, or say what is being done (docs/how-to/images.md)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata

from gearshift.model.errors import fail
from gearshift.model.image import Image, Making
from gearshift.model.launch import ImageRef

from gearshift_hub.backends.images import ImageStore
from gearshift_hub.backends.local.images import LocalImages
from gearshift_hub.control.context import Context
from gearshift_hub.control.services import workspaces

MAKING_S = 1800.0
"""A large image over a slow network; it is free of charge meanwhile and can be cancelled."""
LOOK_S = 0.3
REASON = "image_"
"""Before what is being done, in a workspace's `reason`."""


def plug(ctx: Context) -> None:
    """Register the store of images."""
    if not ctx.backend.parts.has(ImageStore):
        ctx.backend.parts.put(ImageStore, LocalImages(ctx.home))

    async def close() -> None:
        store(ctx).close()

    ctx.hooks.shutdown.append(close)


def store(ctx: Context) -> ImageStore:
    return ctx.backend.parts.get(ImageStore)


def ref(ctx: Context, image: Image) -> ImageRef:
    """What a launch is told of it."""
    prefix = store(ctx).prefix(image) if image.catalog else ""
    return ImageRef(id=image.id, python=image.python, digest=image.digest, prefix=prefix, app=image.app)


def prefix(ctx: Context, name: str) -> str:
    """Where the Python of this image lies; empty for Gearshift's own."""
    image = _known(ctx, name)
    return store(ctx).prefix(image) if image is not None else ""


def doing(ctx: Context, name: str) -> Making | None:
    """What is still being done for an image before anything can start in it; None when it is there."""
    image = _known(ctx, name)
    return store(ctx).ensure(image) if image is not None else None


def check(ctx: Context, name: str) -> None:
    """Raise `image_changed` unless what was made for it is as it was made."""
    image = _known(ctx, name)
    if image is not None:
        store(ctx).check(image)


def require(ctx: Context, name: str) -> None:
    """Raise `image_not_ready` unless it is there; it is being made from now on."""
    said = doing(ctx, name)
    if said is not None:
        words = said.words
        raise fail("image_not_ready", field="image", value=name, doing=words.en, doing_zh=words.zh)


def seconds(ctx: Context, name: str) -> float:
    """How long a start may wait for it."""
    image = _known(ctx, name)
    return 0.0 if image is None or is_there(ctx, image) else MAKING_S


def is_there(ctx: Context, image: Image) -> bool:
    return image.is_own or store(ctx).is_there(image)


def versions(image: Image) -> Mapping[str, str]:
    """Its main packages, as its lock says or as they are installed in Gearshift's own environment."""
    return image.versions or _own_versions(image.packages)


@lru_cache
def _own_versions(packages: tuple[str, ...]) -> Mapping[str, str]:
    return {name: found for name in packages if (found := _own_version(name))}


def _own_version(name: str) -> str | None:
    try:
        return metadata.version(name).partition("+")[0]
    except metadata.PackageNotFoundError:
        return None


async def made(ctx: Context, workspace: str, name: str) -> None:
    """Wait until it is there, and tell meanwhile what is being done."""
    told = None
    while (said := doing(ctx, name)) is not None:
        if said != told:
            told = said
            _tell(ctx, workspace, REASON + said.value)
        await ctx.clock.sleep(LOOK_S)
    if told is not None:
        _tell(ctx, workspace, None)


def _tell(ctx: Context, workspace: str, reason: str | None) -> None:
    owner, name = workspaces.parse_id(workspace)
    with ctx.db.transaction() as session:
        row = workspaces.find(session, owner, name)
        if row is not None:
            row.reason = reason
            workspaces.tell(ctx, session, row)


def _known(ctx: Context, name: str) -> Image | None:
    """An image with an environment of its own; the rest is admission's to judge."""
    image = ctx.deployment.image(name)
    return image if image is not None and image.catalog and image.can_start else None
