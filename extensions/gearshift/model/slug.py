"""How a name that a person gives becomes the name of a thing: one rule for homes, disks, jobs and hosts.

A name that is a DNS label already stays as it is. Any other is written in a-z, 0-9 and -, and gets `-` plus eight hex
digits of the SHA-256 of the original, so that two different names stay different. A plain name that *looks* like it
carries such digits counts as changed, so that nobody can choose the slug of somebody else. Compare slugs by full
equality only.
"""

from __future__ import annotations

import hashlib
import re

from gearshift.model.errors import fail

WORKSPACE_NAME_LIMIT = 30
WORKSPACE_NAME_RULE = "1-30 of a-z, 0-9 and -, beginning with a letter, no - at the end or twice in a row"

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_HASHED = re.compile(r".*-[0-9a-f]{8}", re.ASCII | re.DOTALL)
_WORKSPACE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", re.ASCII)
_DIGEST = 8


def slug(text: str, limit: int = 63) -> str:
    """A DNS label of at most `limit` characters, different for different texts."""
    if limit < _DIGEST + 2:
        raise ValueError(f"a slug needs at least {_DIGEST + 2} characters, not {limit}")
    if len(text) <= limit and _LABEL.fullmatch(text) and not _HASHED.fullmatch(text):
        return text
    return _hashed(_stem(text) or "x", text, limit)


def workspace_name(display: str) -> str:
    """The id of a workspace with this display name."""
    name = slug(display, WORKSPACE_NAME_LIMIT)
    if is_workspace_name(name):
        return name
    stem = _stem(display)
    return _hashed(stem if stem[:1].isalpha() else f"w-{stem}", display, WORKSPACE_NAME_LIMIT)


def is_workspace_name(name: str) -> bool:
    return len(name) <= WORKSPACE_NAME_LIMIT and _WORKSPACE.fullmatch(name) is not None


def check_workspace_name(name: str) -> str:
    """The name itself, or the error `bad_name`."""
    if not is_workspace_name(name):
        raise fail("bad_name", field="name", value=name, allowed=[WORKSPACE_NAME_RULE])
    return name


def _stem(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _hashed(stem: str, text: str, limit: int) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{stem[: limit - _DIGEST - 1].rstrip('-')}-{digest}"
