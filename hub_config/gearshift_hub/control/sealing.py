"""What control signs or seals with its one secret: event tickets, session cookies, XSRF tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography.fernet import Fernet, InvalidToken


@dataclass(frozen=True)
class Ticket:
    """The right to read the events of one workspace until an instant."""

    owner: str
    workspace: str
    """`owner/name`."""
    expires_at: datetime


class Sealer:
    """Everything here is worthless without the secret, and each use has its own key."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._fernet = Fernet(base64.urlsafe_b64encode(self._key("cookie")))

    def ticket(self, ticket: Ticket) -> str:
        said = json.dumps([ticket.owner, ticket.workspace, int(ticket.expires_at.timestamp())]).encode()
        return f"{_encode(said)}.{_encode(self._sign('ticket', said))}"

    def open_ticket(self, text: str, now: datetime) -> Ticket | None:
        """The ticket, or None when it is forged, broken or over."""
        try:
            said, signature = (_decode(part) for part in text.split("."))
        except ValueError:
            return None
        if not hmac.compare_digest(signature, self._sign("ticket", said)):
            return None
        owner, workspace, until = json.loads(said)
        expires_at = datetime.fromtimestamp(until, UTC)
        return Ticket(owner, workspace, expires_at) if now < expires_at else None

    def seal(self, payload: dict[str, Any]) -> str:
        """A cookie value that only we can read."""
        return self._fernet.encrypt(json.dumps(payload).encode()).decode()

    def unseal(self, text: str, max_age_s: int) -> dict[str, Any] | None:
        try:
            opened = json.loads(self._fernet.decrypt(text.encode(), ttl=max_age_s))
        except (InvalidToken, UnicodeError):
            return None
        assert isinstance(opened, dict)
        return opened

    def xsrf(self, session: str) -> str:
        """The token that pages of this session send with whatever changes something."""
        return self._sign("xsrf", session.encode()).hex()

    def _key(self, use: str) -> bytes:
        return hmac.digest(self._secret, use.encode(), hashlib.sha256)

    def _sign(self, use: str, said: bytes) -> bytes:
        return hmac.digest(self._key(use), said, hashlib.sha256)


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
