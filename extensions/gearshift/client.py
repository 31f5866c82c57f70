"""One method per endpoint of control's API, for the command line, the demo and programs outside a workspace.

Refusals are raised as `gearshift.model.errors.GearshiftError`, an unreachable control as `control_unavailable`.
Records of `gearshift.model` come back as such, the rest as decoded JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx

from gearshift.model.disk import Disk
from gearshift.model.errors import fail, from_body
from gearshift.model.kept_state import KeptState
from gearshift.model.operation import Operation, OperationState
from gearshift.model.workspace import Workspace

PATIENCE_S = 120.0
POLL_S = 0.05


@dataclass(frozen=True)
class Caps:
    """What a token that may spend allows without a press, in nano-units of the currency."""

    max_price_nano: int
    max_cost_nano: int

    def said(self) -> dict[str, int]:
        return {"max_price_nano": self.max_price_nano, "max_cost_nano": self.max_cost_nano}


@dataclass(frozen=True)
class Event:
    """One thing that happened; `id` is where a stream goes on from."""

    id: int
    kind: str
    data: dict[str, Any]


class Client:
    """`url` is the public address of the deployment (`http://host:8000/`), `token` a hub token of the person."""

    def __init__(self, url: str, token: str, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/") + "/"
        self._http = httpx.Client(
            base_url=f"{self.url}services/gearshift/api/v1/",
            headers={"Authorization": f"token {token}"},
            timeout=PATIENCE_S,
            trust_env=False,
            transport=transport,
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    # -- who, what there is, what it costs

    def me(self) -> dict[str, Any]:
        return self._object("GET", "me")

    def catalog(self, workspace: str | None = None) -> dict[str, Any]:
        return self._object("GET", "catalog", params=_given(workspace=workspace))

    def ledger(self, start: str | None = None, end: str | None = None) -> dict[str, Any]:
        return self._object("GET", "ledger", params=_given(**{"from": start, "to": end}))

    def verify_ledger(self) -> dict[str, Any]:
        return self._object("GET", "ledger/verify")

    def today(self) -> dict[str, Any]:
        return self._object("GET", "costs/today")

    # -- workspaces, plans, operations

    def workspaces(self) -> list[Workspace]:
        return [Workspace.model_validate(row) for row in self._call("GET", "workspaces")]

    def workspace(self, workspace: str) -> Workspace:
        """`workspace` is `owner/name`, as everywhere."""
        return Workspace.model_validate(self._call("GET", f"workspaces/{_path(workspace)}"))

    def plan(self, kind: str, **body: Any) -> dict[str, Any]:
        """What would happen and what it costs; nothing happens yet."""
        return self._object("POST", "plans", json={"kind": kind, **body})

    def confirm(self, plan: Mapping[str, Any], caps: Caps | None) -> dict[str, Any]:
        """Say yes, within caps, or without them as the yes on a terminal; the Operation or the Job."""
        said: Mapping[str, Any] = {"terminal": True} if caps is None else caps.said()
        return self._object("POST", f"plans/{plan['id']}/confirm", json=said)

    def operations(self, workspace: str | None = None, limit: int = 20) -> list[Operation]:
        """The newest first."""
        params = _given(workspace=workspace, limit=limit)
        return [Operation.model_validate(row) for row in self._call("GET", "operations", params=params)]

    def operation(self, operation: str) -> Operation:
        return Operation.model_validate(self._call("GET", f"operations/{operation}"))

    def cancel(self, operation: str) -> Operation:
        return Operation.model_validate(self._call("POST", f"operations/{operation}/cancel"))

    def wait(self, operation: str, timeout: float = 300) -> Operation:
        """The operation once it has ended; `TimeoutError` past `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            found = self.operation(operation)
            if found.state is not OperationState.RUNNING:
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(f"{operation} is still at {found.step} after {timeout:g} s")
            time.sleep(POLL_S)

    def do(self, kind: str, caps: Caps | None, timeout: float = 300, **body: Any) -> Operation:
        """Plan, confirm and wait in one call: start, stop, switch."""
        return self.wait(self.confirm(self.plan(kind, **body), caps)["id"], timeout)

    def ticket(self, workspace: str) -> dict[str, Any]:
        """The read-only credential with which a page follows this workspace's events."""
        return self._object("POST", f"workspaces/{_path(workspace)}/ticket")

    def events(self, workspace: str | None = None, last_id: int | None = None) -> Iterator[Event]:
        """Events as they come, from `last_id` on or from now; ends when control closes the stream."""
        headers = {} if last_id is None else {"Last-Event-ID": str(last_id)}
        params = _given(workspace=workspace)
        try:
            with self._http.stream("GET", "events", params=params, headers=headers) as answer:
                if answer.is_error:
                    answer.read()
                    raise from_body(_decoded(answer), answer.status_code)
                yield from _events(answer.iter_lines())
        except httpx.TransportError as error:
            raise fail("control_unavailable", cause=str(error)) from error

    # -- what is told of a workspace

    def notices(self, workspace: str) -> list[dict[str, Any]]:
        """What was told in the last seven days, the newest first."""
        found: list[dict[str, Any]] = self._call("GET", f"workspaces/{_path(workspace)}/notices")
        return found

    def report_incident(self, workspace: str, incident: Mapping[str, Any]) -> None:
        """What happened to a kernel; only the workspace's own server may say it."""
        self._call("POST", f"workspaces/{_path(workspace)}/incidents", json=incident)

    # -- kept kernel state

    def states(self) -> list[KeptState]:
        """Of all your workspaces, the newest first."""
        return [KeptState.model_validate(row) for row in self._call("GET", "states")]

    def states_of(self, workspace: str) -> list[KeptState]:
        path = f"workspaces/{_path(workspace)}/states"
        return [KeptState.model_validate(row) for row in self._call("GET", path)]

    def take_snapshot(self, workspace: str, note: str = "") -> Operation:
        """Save the variables of all its kernels, which go on."""
        path = f"workspaces/{_path(workspace)}/states"
        return Operation.model_validate(self._call("POST", path, json={"note": note}))

    # -- idle time

    def switch_times(self, workspace: str) -> list[dict[str, Any]]:
        """What a switch to each machine would take now, and whether the kernels fit there."""
        found: list[dict[str, Any]] = self._call("GET", f"workspaces/{_path(workspace)}/switch-times")
        return found

    def cost(self, workspace: str, start: str, end: str | None = None) -> dict[str, Any]:
        """What it cost from `start` to `end` or now, by machine."""
        params = _given(**{"from": start, "to": end})
        return self._object("GET", f"workspaces/{_path(workspace)}/cost", params=params)

    def idle(self, workspace: str) -> dict[str, Any]:
        """What it is busy with, and what happens when nobody uses it."""
        return self._object("GET", f"workspaces/{_path(workspace)}/idle")

    def choose_idle(self, workspace: str, action: str, after_hours: float) -> dict[str, Any]:
        """What happens then, within the deployment's bounds."""
        body = {"action": action, "after_hours": after_hours}
        return self._object("PUT", f"workspaces/{_path(workspace)}/idle", json=body)

    def unchoose_idle(self, workspace: str) -> dict[str, Any]:
        """As the deployment says, again."""
        return self._object("DELETE", f"workspaces/{_path(workspace)}/idle")

    def keep(self, workspace: str, hours: float = 1.0) -> dict[str, Any]:
        """So much longer than it would be kept."""
        return self._object("POST", f"workspaces/{_path(workspace)}/idle/keep", json={"hours": hours})

    def end_of_work(self, workspace: str, action: str, at: str | None = None) -> dict[str, Any]:
        """`drop` or `stop` once the work that runs has ended, not before `at`; `keep` calls it off."""
        body = _given(action=action, at=at)
        return self._object("PUT", f"workspaces/{_path(workspace)}/idle/end", json=body)

    # -- disks

    def disk(self, disk: str) -> Disk:
        """One disk by id or name."""
        return Disk.model_validate(self._call("GET", f"disks/{_path(disk)}"))

    def resize_disk(self, disk: str, quota_bytes: int) -> Disk:
        return Disk.model_validate(
            self._call("PATCH", f"disks/{_path(disk)}", json={"quota_bytes": quota_bytes})
        )

    def restore_disk(self, disk: str) -> Disk:
        """Out of the bin again."""
        return Disk.model_validate(self._call("POST", f"disks/{_path(disk)}/restore"))

    def disks(self) -> list[Disk]:
        return [Disk.model_validate(row) for row in self._call("GET", "disks")]

    def create_disk(self, name: str, quota_bytes: int | None = None) -> Disk:
        body = _given(name=name, quota_bytes=quota_bytes)
        return Disk.model_validate(self._call("POST", "disks", json=body))

    def share_disk(self, disk: str, user: str, mode: str) -> Disk:
        path = f"disks/{_path(disk)}/members/{_path(user)}"
        return Disk.model_validate(self._call("PUT", path, json={"mode": mode}))

    def attach_disk(self, workspace: str, disk: str, mode: str = "rw") -> dict[str, Any]:
        path = f"workspaces/{_path(workspace)}/disks"
        return self._object("POST", path, json={"disk": disk, "mode": mode})

    def detach_disk(self, workspace: str, disk: str) -> dict[str, Any]:
        return self._object("DELETE", f"workspaces/{_path(workspace)}/disks/{_path(disk)}")

    # -- data sets

    def datasets(self, query: str = "") -> Any:
        return self._call("GET", "datasets", params=_given(q=query or None))

    def dataset_card(self, dataset: str, workspace: str | None = None) -> dict[str, Any]:
        """One card, with its state in a workspace."""
        return self._object("GET", f"datasets/{_path(dataset)}", params=_given(workspace=workspace))

    def attach_dataset(self, workspace: str, dataset: str) -> dict[str, Any]:
        return self._object("POST", f"workspaces/{_path(workspace)}/datasets", json={"dataset": dataset})

    def detach_dataset(self, workspace: str, dataset: str) -> dict[str, Any]:
        return self._object("DELETE", f"workspaces/{_path(workspace)}/datasets/{_path(dataset)}")

    # -- the waitlist

    def waits(self) -> list[dict[str, Any]]:
        """What you wait for, newest first."""
        found: list[dict[str, Any]] = self._call("GET", "waitlist")
        return found

    def place_on_waitlist(self, wait: str) -> dict[str, Any]:
        return self._object("GET", f"waitlist/{_path(wait)}")

    def wait_outlook(self, machine: str) -> dict[str, Any]:
        """The place that you would have, and when its turn is expected."""
        return self._object("GET", "waitlist/outlook", params={"machine": machine})

    def join_waitlist(self, what: str, machine: str, **body: Any) -> dict[str, Any]:
        """Wait to be asked; `what` is start or switch. What begins by itself is a plan of kind `wait`."""
        return self._object("POST", "waitlist", json={"what": what, "machine": machine, **body})

    def keep_wait(self, wait: str) -> dict[str, Any]:
        """The machine that is held, as long again."""
        return self._object("POST", f"waitlist/{_path(wait)}/keep")

    def withdraw_wait(self, wait: str) -> dict[str, Any]:
        return self._object("DELETE", f"waitlist/{_path(wait)}")

    # -- jobs

    def jobs(self, workspace: str | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._call("GET", "jobs", params=_given(workspace=workspace))
        return found

    def job(self, job: str) -> dict[str, Any]:
        return self._object("GET", f"jobs/{_path(job)}")

    def attend_job(self, job: str, over: bool = False) -> None:
        """A sign of life for an attached job; `over` ends it."""
        self._call("POST", f"jobs/{_path(job)}/attendance", json={"over": over})

    def send_bundle(self, data: bytes) -> str:
        """The bundle's SHA-256, which a job's spec names as its code."""
        return str(self._object("POST", "jobs/bundles", content=data)["sha256"])

    def job_log(self, job: str, rank: int = 0, offset: int = 0) -> dict[str, Any]:
        return self._object("GET", f"jobs/{_path(job)}/logs", params={"rank": rank, "offset": offset})

    def job_metrics(self, job: str, points: int = 600) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._call(
            "GET", f"jobs/{_path(job)}/metrics", params={"points": points}
        )
        return found

    def job_result(self, job: str) -> bytes:
        """What rank 0 handed back, as a file."""
        return self._send("GET", f"jobs/{_path(job)}/result").content

    # -- the one way out

    def _object(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._call(method, path, **arguments)
        return found

    def _call(self, method: str, path: str, **arguments: Any) -> Any:
        answer = self._send(method, path, **arguments)
        return answer.json() if answer.content else {}

    def _send(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **arguments)
        except httpx.TransportError as error:
            raise fail("control_unavailable", cause=str(error)) from error
        if answer.is_error:
            raise from_body(_decoded(answer), answer.status_code)
        return answer


def _events(lines: Iterable[str]) -> Iterator[Event]:
    """Server-sent events: fields up to an empty line; a line that begins with a colon is a beat."""
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "id" in fields:
            yield Event(int(fields["id"]), fields["event"], json.loads(fields["data"]))
            fields = {}


def _path(name: str) -> str:
    """`owner/name` keeps its one slash; everything else a person may have typed is escaped."""
    return "/".join(quote(part, safe="") for part in name.split("/"))


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _decoded(answer: httpx.Response) -> Mapping[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, Mapping) else {}
