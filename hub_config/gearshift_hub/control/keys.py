"""Keys made from the one state secret, so that none is ever kept: each opens one thing of one person."""

from __future__ import annotations

import hashlib
import hmac


def state_key(secret: str, owner: str) -> str:
    """What signs a person's saved kernel state: their own, so that nobody else's is ever loaded."""
    return _derived(secret, owner)


def door_key(secret: str, owner: str, name: str) -> str:
    """What control shows to one workspace's server. People run code of their own in there, so it is no token of ours:
    it opens nothing but the kernel-state routes of this one workspace.
    """
    return _derived(secret, f"door\n{owner}/{name}")


def _derived(secret: str, use: str) -> str:
    return hmac.digest(secret.encode(), use.encode(), hashlib.sha256).hex()
