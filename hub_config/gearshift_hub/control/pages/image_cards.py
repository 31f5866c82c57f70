"""The cards of images on the start page: what the declaration says, and whether a start begins at once, later or never."""

from __future__ import annotations

from typing import Any

from gearshift.model.image import Image, Runtime

from gearshift_hub.control.context import Context
from gearshift_hub.control.pages.figures import Voice
from gearshift_hub.control.services import images

ICONS = {Runtime.CPU: "text"}
RUNTIMES = {
    Runtime.CPU: "CPU",
    Runtime.CUDA: "CUDA",
    Runtime.ROCM: "ROCm",
    Runtime.CANN: "CANN",
    Runtime.XLA: "XLA",
}

DRAWN = 2
"""Packages with their versions on a card; the others are told beside it."""


def cards(ctx: Context, chosen: str, expected: int, v: Voice) -> list[dict[str, Any]]:
    """All of the deployment, in the order of its file."""
    return [_card(ctx, image, chosen, expected, v) for image in ctx.deployment.images]


def startable(ctx: Context) -> list[str]:
    """Those that can be chosen."""
    return [image.id for image in ctx.deployment.images if image.can_start]


def _card(ctx: Context, image: Image, chosen: str, expected: int, v: Voice) -> dict[str, Any]:
    driver = image.minimum_driver
    return {
        "id": image.id,
        "title": v.text(image.title),
        "subtitle": v.text(image.subtitle),
        "holds": _holds(image),
        "is_app": image.app is not None,
        "runtime": RUNTIMES[image.runtime],
        "needs_driver": v.say("image.driver", version=driver) if driver and image.can_start else "",
        "icon": ICONS.get(image.runtime, "tensor"),
        "checked": image.id == chosen,
        "can_start": image.can_start,
        "when": _when(ctx, image, expected, v),
        "more": "\n".join(_more(image, v)),
    }


def _holds(image: Image) -> str:
    """Python and the first packages it is known for, with their versions."""
    first = list(images.versions(image).items())[:DRAWN]
    return " · ".join([f"Python {image.python}", *(f"{name} {version}" for name, version in first)])


def _when(ctx: Context, image: Image, expected: int, v: Voice) -> str:
    if image.is_only_declared:
        return v.say("image.declared")
    if image.has_moved:
        return v.say("image.moved")
    if images.is_there(ctx, image):
        return v.say("start.ready_short", n=expected)
    if image.size_bytes:
        return v.say("image.first_size", size=v.size(image.size_bytes))
    return v.say("image.first")


def _more(image: Image, v: Voice) -> list[str]:
    """What the pointer or a screen reader is told beyond what is drawn."""
    lines = [", ".join(f"{name} {version}" for name, version in images.versions(image).items())]
    if image.is_only_declared and image.needs:
        lines.append(v.say("image.needs", needs=v.text(image.needs)))
    if image.has_moved:
        lines.append(v.say("image.digests", pinned=image.digest, found=image.locked or "–"))
    elif image.locked:
        lines.append(v.say("image.digest", digest=image.locked))
    if image.licence:
        lines.append(v.say("image.licence", licence=image.licence))
    if image.deprecated:
        lines.append(v.say("image.deprecated", day=image.deprecated))
    return [line for line in lines if line]
