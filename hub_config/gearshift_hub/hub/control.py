"""How the hub process speaks with control: its internal socket, and what each answer means."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
from gearshift.model.errors import GearshiftError, fail, from_body
from gearshift.model.launch import LaunchPlan
from gearshift.model.record import Record

from gearshift_hub.paths import Home

PATIENCE_S = 30.0
"""Control answers from memory and database; past this it is as good as away."""


class Account(Record):
    """What sign-in needs to know of a person."""

    name: str
    admin: bool = False
    disabled: bool = False


class ControlLink:
    """Control's internal doors. No answer raises `control_unavailable`; a refusal raises what control said."""

    def __init__(self, home: Home, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._socket = str(home.control_socket)
        self._transport = transport

    async def launch(
        self, user: str, workspace: str, options: dict[str, Any], operation: str | None
    ) -> LaunchPlan:
        """What to start. Without an operation control admits it first and records one."""
        body = {"user": user, "workspace": workspace, "user_options": options, "operation": operation}
        return LaunchPlan.model_validate(await self._call("POST", "launches", body))

    async def report(self, user: str, workspace: str, **facts: Any) -> None:
        """Tell what a server of the hub's own doors, or one that ended by itself, has come to."""
        await self._call("POST", "reports", {"user": user, "workspace": workspace, **facts})

    async def stopping(self, user: str, workspace: str) -> str | None:
        """Record a stop that came through the hub's own door; returns the operation's id."""
        answer = await self._call("POST", "stops", {"user": user, "workspace": workspace})
        operation: str | None = answer.get("operation") or answer.get("id")
        return operation

    async def verify(self, name: str, password: str) -> Account:
        """The account behind a name and password; raises `wrong_sign_in` or `disabled_user`."""
        answer = await self._call("POST", "accounts/verify", {"name": name, "password": password})
        if not answer.get("ok"):
            raise fail("wrong_sign_in")
        return Account.model_validate({"name": name, **answer})

    async def activate(self, name: str, code: str, password: str) -> None:
        """Set the first password with the one-time code; raises `wrong_code`."""
        await self._call("POST", "accounts/activate", {"name": name, "code": code, "password": password})

    async def accounts(self) -> dict[str, Account]:
        answer = await self._call("GET", "accounts")
        rows = answer["accounts"] if isinstance(answer, dict) else answer
        return {row["name"]: Account.model_validate(row) for row in rows}

    async def add_account(self, name: str, admin: bool) -> str:
        """A new account; returns its one-time code."""
        answer = await self._call("POST", "accounts", {"name": name, "admin": admin})
        return str(answer["code"])

    async def account_action(self, name: str, action: str, body: dict[str, Any] | None = None) -> Any:
        """reset, disable, enable or credit."""
        return await self._call("POST", f"accounts/{quote(name, safe='')}/{action}", body)

    async def delete_account(self, name: str) -> Any:
        return await self._call("DELETE", f"accounts/{quote(name, safe='')}")

    async def verify_ledger(self) -> dict[str, Any]:
        answer: dict[str, Any] = await self._call("GET", "ledger/verify")
        return answer

    async def healthy(self) -> bool:
        """Whether control answers; never raises."""
        try:
            await self._call("GET", "health", patience_s=2.0)
        except GearshiftError:
            return False
        return True

    async def shut_down(self, patience_s: float) -> None:
        """Have kernel state saved, workspaces and jobs stopped and intervals closed; waits for it."""
        await self._call("POST", "shutdown", patience_s=patience_s)

    async def _call(
        self, method: str, path: str, body: dict[str, Any] | None = None, patience_s: float = PATIENCE_S
    ) -> Any:
        transport = self._transport or httpx.AsyncHTTPTransport(uds=self._socket)
        try:
            async with httpx.AsyncClient(transport=transport, timeout=patience_s) as client:
                answer = await client.request(method, f"http://control/internal/{path}", json=body)
        except httpx.TransportError as gone:
            raise fail("control_unavailable") from gone
        if answer.is_success:
            return answer.json() if answer.content else {}
        raise from_body(_json(answer), answer.status_code)


def _json(answer: httpx.Response) -> dict[str, Any]:
    try:
        read = answer.json()
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
