"""The way from a kernel to control: where it is, with which token, and which workspace this is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import httpx

from gearshift.client import Caps, Client
from gearshift.model.errors import fail, from_body

SERVICE = "/services/gearshift"


@dataclass(frozen=True)
class Place:
    """What the environment says about this kernel, read when asked."""

    url: str
    """The deployment's address, as `Client` takes it."""
    token: str = field(repr=False)
    spend_token: str | None = field(default=None, repr=False)
    workspace: str | None = None
    machine: str | None = None
    image: str | None = None

    @classmethod
    def here(cls, environment: Mapping[str, str] | None = None) -> Place:
        env = os.environ if environment is None else environment
        spend = env.get("GEARSHIFT_SPEND_TOKEN") or None
        token = env.get("JUPYTERHUB_API_TOKEN") or env.get("GEARSHIFT_TOKEN") or spend
        url = env.get("GEARSHIFT_CONTROL_URL") or env.get("GEARSHIFT_URL")
        if not url or not token:
            raise fail("control_unavailable", missing=[] if url else ["GEARSHIFT_CONTROL_URL"])
        return cls(
            url=url.rstrip("/").removesuffix(SERVICE),
            token=token,
            spend_token=spend,
            workspace=env.get("GEARSHIFT_WORKSPACE") or None,
            machine=env.get("GEARSHIFT_MACHINE") or None,
            image=env.get("GEARSHIFT_IMAGE") or None,
        )


class Door(Client):
    """Control's API as a kernel uses it: proposing with the server's token, spending with a token that may."""

    def __init__(self, place: Place, transport: httpx.BaseTransport | None = None) -> None:
        super().__init__(place.url, place.token, transport)
        self.place = place
        self._transport = transport

    @classmethod
    def here(cls) -> Door:
        """The way from this kernel, opened once for a place: making a client costs more than a call."""
        return _opened(Place.here())

    def spend(self, plan: Mapping[str, Any], caps: Caps) -> dict[str, Any]:
        """Confirm within caps; there is a token for it, or this is not called."""
        assert self.place.spend_token is not None
        with Client(self.place.url, self.place.spend_token, self._transport) as spender:
            return spender.confirm(plan, caps)

    def job_of_plan(self, plan: str) -> dict[str, Any] | None:
        """The job that confirming this plan made; None before the press."""
        found = self._call("GET", "jobs", params={"plan": plan})
        return found[0] if found else None

    def log_end(self, job: str, rank: int, size: int) -> str:
        """The last `size` bytes of a rank's log."""
        return str(self.job_log(job, rank, -size)["text"])

    def result(self, job: str) -> bytes:
        """What rank 0 handed back, as a file."""
        try:
            answer = self._http.get(f"jobs/{job}/result")
        except httpx.TransportError as error:
            raise fail("control_unavailable", cause=str(error)) from error
        if answer.is_error:
            raise from_body(answer.json(), answer.status_code)
        return answer.content

    def dataset(self, name: str) -> dict[str, Any]:
        """One card with its state in this workspace."""
        return self._object("GET", f"datasets/{name}", params={"workspace": self.workspace_id})

    def datasets_here(self, query: str) -> list[dict[str, Any]]:
        """What is offered, with its state in this workspace where there is one."""
        params = {"q": query, **({"workspace": self.place.workspace} if self.place.workspace else {})}
        found: list[dict[str, Any]] = self._call("GET", "datasets", params=params)
        return found

    @property
    def workspace_id(self) -> str:
        """This workspace, or `unknown_workspace` in a kernel outside of one."""
        if self.place.workspace is None:
            raise fail("unknown_workspace", field="workspace", value=None)
        return self.place.workspace

    @property
    def symbol(self) -> str:
        """The currency's."""
        return str(self.me()["currency_symbol"])


@lru_cache(maxsize=2)
def _opened(place: Place) -> Door:
    return Door(place)
