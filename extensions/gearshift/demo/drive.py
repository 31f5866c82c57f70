"""Knows the drive: start, attach, train, switch, train on, a two-node job, stop, and whether all of it was right."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from gearshift.client import Caps, Client
from gearshift.demo import cells
from gearshift.demo.own import Place
from gearshift.demo.table import Table
from gearshift.kernel import Kernel
from gearshift.model.operation import Operation, OperationState
from gearshift.model.units import format_money, parse_money
from gearshift.signin import sign_in

NAME = "demo"
DISK = "demo-disk"
SMALL, LARGE = "cpu-small", "sim-1"
PRICE, COST = "20", "5"
"""Caps of the demo in the deployment's currency: per hour, and for each thing it starts."""
CAPS = Caps(parse_money(PRICE), parse_money(COST))
JOB_LINE = (
    f"%%gearshift --nodes 2 --procs 1 --machine {LARGE} --launch deepspeed --name {NAME} --wait"
    f" --max-price {PRICE} --max-cost {COST}"
)
JOB_S = 240.0


class WentWrong(Exception):
    """A step did not end as it must; the text says which and why."""


class Spending:
    """What the person has spent, by the ledger and what is accrued."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._left = self._balance()

    def _balance(self) -> int:
        return int(self._client.me()["balance_nano"])

    def since_last_asked(self) -> str:
        before, self._left = self._left, self._balance()
        return format_money(before - self._left, self._client.me()["currency_symbol"], places=4)


@dataclass
class Drive:
    """One run; `client` acts as the person."""

    client: Client
    token: str = field(repr=False)
    workspace: str
    server_url: str
    table: Table

    def go(self) -> None:
        self._start()
        kernel = Kernel(self.server_url, self.token, "demo.ipynb")
        self._attach()
        with self.table.step("train") as line:
            kernel.run(cells.PREPARE)
            line.what = f"half an epoch on {SMALL}: {kernel.run(cells.FIRST_HALF).text.strip()}"
        self._switch()
        kernel.disconnect()
        with self.table.step("train on") as line:
            line.what = f"same variables on {LARGE}: {kernel.run(cells.SECOND_HALF).text.strip()}"
        self._compare(kernel)
        self._job(kernel)
        kernel.close()
        self._stop()
        self._bill()

    def _start(self) -> None:
        with self.table.step("start") as line:
            spec = {
                "image": self.client.catalog()["images"][0]["id"],
                "machine": SMALL,
                "disks": [{"disk": self._disk(), "mode": "rw"}],
            }
            self._do("start", name=NAME, spec=spec)
            line.what = f"{self.workspace} on {SMALL} with {DISK}, ready and answering"

    def _disk(self) -> str:
        found = next((disk.id for disk in self.client.disks() if disk.name == DISK), None)
        return found or self.client.create_disk(DISK).id

    def _attach(self) -> None:
        with self.table.step("attach") as line:
            attached = self.client.attach_dataset(self.workspace, cells.DATASET)
            line.what = f"{cells.DATASET}, read-only, while it runs: {attached['path']}"

    def _switch(self) -> None:
        with self.table.step("switch") as line:
            operation = self._do("switch", workspace=self.workspace, machine=LARGE)
            steps = ", ".join(step.name for step in operation.steps)
            line.what = f"{SMALL} -> {LARGE} (a simulated chip): {steps}"

    def _compare(self, switched: Kernel) -> None:
        """The same epoch in a kernel that never moved has the same losses, bit by bit."""
        with self.table.step("compare") as line:
            unswitched = Kernel(self.server_url, self.token, "unswitched.ipynb")
            for code in (cells.PREPARE, cells.FIRST_HALF, cells.SECOND_HALF):
                unswitched.run(code)
            here, there = (json.loads(kernel.run(cells.LOSSES).text) for kernel in (switched, unswitched))
            unswitched.close()
            if here != there:
                raise WentWrong("the switched run's losses differ from those of the unswitched run")
            line.what = f"{len(here)} losses equal those of an unswitched run, bit by bit"

    def _job(self, kernel: Kernel) -> None:
        with self.table.step("job") as line:
            kernel.run(f"import os; os.environ['GEARSHIFT_SPEND_TOKEN'] = {self.token!r}", silent=True)
            kernel.run("%load_ext gearshift", silent=True)
            kernel.run(f"{JOB_LINE}\n{cells.JOB}", timeout=JOB_S)
            kernel.run("del os.environ['GEARSHIFT_SPEND_TOKEN']", silent=True)
            job = self.client.jobs(self.workspace)[0]
            if job["state"] != "succeeded":
                raise WentWrong(
                    f"the job ended {job['state']}: {job.get('first_failure') or job.get('reason')}"
                )
            log = self.client.job_log(job["id"])["text"].strip().splitlines()
            line.what = next((text for text in reversed(log) if text.startswith("ZeRO-2")), "no last line")

    def _stop(self) -> None:
        days = self.client.plan("stop", workspace=self.workspace)["figures"]["keep_days"]
        with self.table.step("stop") as line:
            self._do("stop", workspace=self.workspace)
            line.what = f"kernel state kept {days:g} days, disk stays"

    def _bill(self) -> None:
        with self.table.step("bill") as line:
            report, me = self.client.verify_ledger(), self.client.me()
            if not report["ok"]:
                raise WentWrong(f"the ledger does not add up from entry {report['first_bad']}")
            spent = sum(
                row["amount_nano"] for row in self.client.ledger()["entries"] if row["kind"] == "usage"
            )
            cost = format_money(abs(spent), me["currency_symbol"], places=4)
            line.what = f"{cost} spent; ledger intact: {report['entries']} entries recomputed"

    def _do(self, kind: str, **body: object) -> Operation:
        operation = self.client.do(kind, CAPS, 300, **body)
        if operation.state is not OperationState.DONE:
            raise WentWrong(
                f"{kind} ended {operation.state}: {(operation.error or {}).get('message', 'no cause')}"
            )
        return operation


def drive(place: Place) -> None:
    """The whole line on `place`; raises `WentWrong` or what a step raised."""
    table = Table()
    with table.step("sign in") as line:
        token = sign_in(place.url, place.name, place.password, note="gearshift demo")
        line.what = f"{place.name} at {place.url}"
    with Client(place.url, token) as client:
        table.cost = Spending(client).since_last_asked
        server_url = f"{place.url.rstrip('/')}/user/{place.name}/{NAME}/"
        Drive(client, token, f"{place.name}/{NAME}", server_url, table).go()
