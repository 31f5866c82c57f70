"""Routes that control calls itself: it shows the key this workspace was started with and needs no sign-in."""

from __future__ import annotations

import hmac

from jupyter_server.auth.identity import User

from gearshift.lab.answering import Answering
from gearshift.model.launch import DOOR_KEY_HEADER

SETTING = "gearshift_door_key"


class ControlDoor(Answering):
    """People with a session or token come in as everywhere. The key travels in a header that no page can send from
    another site, so it needs no XSRF token.
    """

    by_control = False
    """Nobody else: what only control knows must not be told to us by others."""

    async def prepare(self) -> None:
        key, shown = self.settings[SETTING], self.request.headers.get(DOOR_KEY_HEADER, "")
        if key and hmac.compare_digest(shown.encode(), key.encode()):
            self.by_control = True
            self.current_user = self._jupyter_current_user = User(username="control")
            return
        await super().prepare()
