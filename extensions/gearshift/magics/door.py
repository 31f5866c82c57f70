"""The way from a kernel to control: where it is, with which token, and which workspace this is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from gearshift.model.errors import fail, from_body

SECONDS = 60.0


@dataclass(frozen=True)
class Place:
    """What the environment says about this kernel, read when asked."""

    url: str
    token: str
    spend_token: str | None
    workspace: str | None
    machine: str | None
    image: str | None

    @classmethod
    def here(cls, environment: Mapping[str, str] | None = None) -> Place:
        env = os.environ if environment is None else environment
        spend = env.get("GEARSHIFT_SPEND_TOKEN") or None
        token = env.get("JUPYTERHUB_API_TOKEN") or env.get("GEARSHIFT_TOKEN") or spend
        url = env.get("GEARSHIFT_CONTROL_URL") or env.get("GEARSHIFT_URL")
        if not url or not token:
            raise fail("control_unavailable", missing=[] if url else ["GEARSHIFT_CONTROL_URL"])
        return cls(
            url=url.rstrip("/"),
            token=token,
            spend_token=spend,
            workspace=env.get("GEARSHIFT_WORKSPACE") or None,
            machine=env.get("GEARSHIFT_MACHINE") or None,
            image=env.get("GEARSHIFT_IMAGE") or None,
        )


@dataclass
class Door:
    """Control's API, one call a method name; refusals are raised as the errors they are."""

    place: Place
    transport: httpx.BaseTransport | None = None
    _client: httpx.Client = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._client = httpx.Client(
            base_url=f"{self.place.url}/api/v1/", timeout=SECONDS, trust_env=False, transport=self.transport
        )

    def get(self, path: str, **query: Any) -> Any:
        asked = {name: value for name, value in query.items() if value is not None}
        return self._send("GET", path, self.place.token, params=asked)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._send("POST", path, self.place.token, json=dict(body))

    def delete(self, path: str) -> Any:
        return self._send("DELETE", path, self.place.token)

    def upload(self, path: str, data: bytes) -> Any:
        return self._send("POST", path, self.place.token, content=data)

    def spend(self, path: str, body: Mapping[str, Any]) -> Any:
        """With the token that may spend; there is one, or this is not called."""
        assert self.place.spend_token is not None
        return self._send("POST", path, self.place.spend_token, json=dict(body))

    def download(self, path: str) -> bytes:
        return self._answer("GET", path, self.place.token).content

    def _send(self, method: str, path: str, token: str, **arguments: Any) -> Any:
        return self._answer(method, path, token, **arguments).json()

    def _answer(self, method: str, path: str, token: str, **arguments: Any) -> httpx.Response:
        headers = {"Authorization": f"token {token}"}
        try:
            answer = self._client.request(method, path, headers=headers, **arguments)
        except httpx.HTTPError as error:
            raise fail("control_unavailable", cause=str(error)) from error
        if answer.is_error:
            raise from_body(_json(answer), answer.status_code)
        return answer


def _json(answer: httpx.Response) -> Mapping[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, Mapping) else {}
