"""Makes what a kernel sent fit for the shared document: numbers as floats, text without lone surrogates."""

from __future__ import annotations

from typing import Any


def plain(found: Any) -> Any:
    """Pages read whole numbers of the document as BigInt, which JSON does not know; saving turns them back."""
    if isinstance(found, str):
        return text(found)
    if isinstance(found, bool) or found is None:
        return found
    if isinstance(found, (int, float)):
        return float(found)
    if isinstance(found, dict):
        return {text(str(key)): plain(value) for key, value in found.items()}
    return [plain(one) for one in found]


def text(found: str) -> str:
    """A half of a surrogate pair has no UTF-8."""
    return found.encode("utf-8", "replace").decode()
