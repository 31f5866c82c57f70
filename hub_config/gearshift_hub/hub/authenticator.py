"""Who may sign in: control's accounts, asked over its socket; admins come as a group of the hub."""

from __future__ import annotations

import time
import unicodedata
from pathlib import Path
from typing import Any

from gearshift.model.errors import GearshiftError
from jupyterhub.auth import Authenticator
from traitlets import Unicode

from gearshift_hub.hub import pages, workspaces
from gearshift_hub.hub.control import Account, ControlLink
from gearshift_hub.hub.holds import holds_of
from gearshift_hub.paths import Home
from gearshift_hub.scopes import ADMIN_GROUP

FRESH_S = 5.0


class GearshiftAuthenticator(Authenticator):  # type: ignore[misc]
    """Names are taken as they are (NFC, no blanks around): `a.b`, `a-b` and `A.C` are three people."""

    home_root = Unicode(help="The deployment's folder.").tag(config=True)

    _accounts: dict[str, Account] | None = None
    _asked_at = 0.0

    @property
    def gearshift_home(self) -> Home:
        return Home(Path(self.home_root))

    @property
    def control(self) -> ControlLink:
        return ControlLink(self.gearshift_home)

    def normalize_username(self, username: str) -> str:
        return unicodedata.normalize("NFC", username.strip())

    def validate_username(self, username: str) -> bool:
        """The rule is control's; the hub itself only cannot have a slash, which splits its addresses."""
        return bool(username) and "/" not in username and username.isprintable()

    async def authenticate(self, handler: Any, data: dict[str, str]) -> dict[str, Any] | None:
        """The account behind a name and password; a refusal is kept on the handler for the page to tell."""
        try:
            account = await self.control.verify(
                self.normalize_username(data.get("username", "")), data.get("password", "")
            )
        except GearshiftError as error:
            handler.sign_in_error = error
            return None
        return _as_hub_user(account)

    async def refresh_user(self, user: Any, handler: Any = None, **_: Any) -> dict[str, Any] | bool:
        """Signed in only as long as the account is there and not disabled; unknown is not disabled."""
        accounts = await self._fresh()
        if accounts is None:
            return True
        account = accounts.get(user.name)
        if account is None or account.disabled:
            return False
        held = ADMIN_GROUP in {group.name for group in user.groups}
        if (user.admin, held) == (account.admin, account.admin):
            return True
        return _as_hub_user(account)

    def get_handlers(self, app: Any) -> list[tuple[Any, ...]]:
        """Our pages and routes; the first match wins, so they replace those of the hub."""
        _load_held(app, self.gearshift_home)
        return [*pages.handlers(), *workspaces.handlers()]

    async def _fresh(self) -> dict[str, Account] | None:
        now = time.monotonic()
        if self._accounts is None or now - self._asked_at > FRESH_S:
            try:
                self._accounts = await self.control.accounts()
                self._asked_at = now
            except GearshiftError as error:
                self.log.warning("Accounts cannot be checked now: %s", error.message)
                return None
        return self._accounts


def _as_hub_user(account: Account) -> dict[str, Any]:
    groups = [ADMIN_GROUP] if account.admin else []
    return {"name": account.name, "admin": account.admin, "groups": groups}


def _load_held(app: Any, home: Home) -> None:
    """Have the spawners of open switches in memory: the hub deletes sign-ins of servers it has not loaded."""
    for name, server, _hold in holds_of(home).all():
        user = app.users.get(name)
        if user is not None and server in user.orm_spawners:
            user.get_spawner(server)
