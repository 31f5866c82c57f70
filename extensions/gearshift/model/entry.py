"""A line of the ledger and its place in the chain: each carries the hash of the one before it."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gearshift.model.record import Instant, Record

GENESIS = "0" * 64
"""The `prev_hash` of the first entry."""


class EntryKind(StrEnum):
    """Why money moved."""

    CREDIT = "credit"
    USAGE = "usage"
    CORRECTION = "correction"


class Draft(Record):
    """An entry before it has its place in the chain."""

    at: Instant
    account: str
    kind: EntryKind
    amount_nano: int
    source: str
    period_from: Instant | None = None
    period_to: Instant | None = None
    price_per_hour_nano: int | None = None
    note: str = ""


class Entry(Draft):
    """A line of the ledger."""

    seq: Annotated[int, Field(ge=1)]
    prev_hash: str
    hash: str


def chain(prev: Entry | None, draft: Draft) -> Entry:
    """The draft as the next line after `prev` (None: the first)."""
    seq = prev.seq + 1 if prev else 1
    prev_hash = prev.hash if prev else GENESIS
    return Entry(**_fields(draft), seq=seq, prev_hash=prev_hash, hash=digest(seq, prev_hash, draft))


def digest(seq: int, prev_hash: str, draft: Draft) -> str:
    """SHA-256 over the canonical JSON of all but the hash itself."""
    body = {**draft.model_dump(mode="json", include=set(Draft.model_fields)), "seq": seq, "prev": prev_hash}
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _fields(draft: Draft) -> dict[str, object]:
    return {name: getattr(draft, name) for name in Draft.model_fields}
