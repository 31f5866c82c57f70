"""A job as an object in the notebook: `job.state`, `job.wait()`, `job.result`, `job.log(rank)`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gearshift.magics import phrases, showing, words
from gearshift.magics.door import Door
from gearshift.magics.phrases import say
from gearshift.magics.refusal import JobFailedError, MagicError, refused
from gearshift.magics.showing import FINAL, job_bundle, until_final
from gearshift.model.chinese import in_chinese
from gearshift.model.errors import GearshiftError
from gearshift.train import results


class JobHandle:
    """One job. Before the press it has no id yet: then it is found by its plan.

    The way to control is looked up when it is needed, so a handle travels with the kernel's other variables.
    """

    def __init__(self, symbol: str, job: str | None = None, plan: str | None = None) -> None:
        self._symbol = symbol
        self._id = job
        self._plan = plan

    @property
    def id(self) -> str:
        if self._id is None and self._plan is not None:
            self._take(showing.of_plan(self._door, self._plan)())
        if self._id is None:
            raise MagicError("needs_confirmation", say("not confirmed"))
        return self._id

    def _take(self, found: Mapping[str, Any] | None) -> None:
        """The job that the press made, once there is one."""
        if found is not None:
            self._id = str(found["id"])

    def _look(self) -> None:
        """Whether the press was made meanwhile; asked once, for what is shown at once."""
        if self._id is None and self._plan is not None:
            try:
                self._take(Door.here().job_of_plan(self._plan))
            except GearshiftError:
                return

    @property
    def _door(self) -> Door:
        try:
            return Door.here()
        except GearshiftError as error:
            raise refused(error) from None

    @property
    def record(self) -> Mapping[str, Any]:
        """The job as control shows it now."""
        try:
            return self._door.job(self.id)
        except GearshiftError as error:
            raise refused(error) from None

    @property
    def state(self) -> str:
        return str(self.record["state"])

    def wait(self, seconds: float | None = None) -> JobHandle:
        """Until it has ended; raises when it did not succeed. Interrupting only ends the waiting."""
        try:
            job = until_final(self._door, self.id, seconds)
        except GearshiftError as error:
            raise refused(error) from None
        if job["state"] not in FINAL:
            state = phrases.pick(job["state"], in_chinese(job["state"]))
            raise MagicError("timeout", say("goes on", id=self.id, state=state, seconds=seconds))
        if job["state"] != "succeeded":
            raise JobFailedError(job, words.sentence(job), tuple(words.last_lines(job)))
        return self

    def attend(self) -> JobHandle:
        """Wait for an attached job; interrupting, once or often, ends the job."""
        try:
            job = showing.attended(self._door, self.id)
        except GearshiftError as error:
            raise refused(error) from None
        if job["state"] != "succeeded":
            raise JobFailedError(job, words.sentence(job), tuple(words.last_lines(job)))
        return self

    @property
    def result(self) -> Any:
        """What rank 0 handed back with `gearshift.train.result(...)`."""
        try:
            data = self._door.result(self.id)
        except GearshiftError as error:
            raise refused(error) from None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / results.RESULT_FILE
            path.write_bytes(data)
            return results.read(path)

    def log(self, rank: int = 0) -> str:
        """The whole log of a rank."""
        text, offset = "", 0
        door, job = self._door, self.id
        while True:
            try:
                page = door.job_log(job, rank, offset)
            except GearshiftError as error:
                raise refused(error) from None
            text, offset = text + str(page["text"]), int(page["offset"])
            if not page["text"] or offset >= page["size_bytes"]:
                return text

    def metrics(self, points: int = 600) -> list[dict[str, Any]]:
        """The curve of rank 0."""
        try:
            return self._door.job_metrics(self.id, points)
        except GearshiftError as error:
            raise refused(error) from None

    def __repr__(self) -> str:
        self._look()
        return say("unconfirmed") if self._id is None else say("a job", id=self._id)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        self._look()
        if self._id is None:
            return {"text/plain": say("unconfirmed")}
        return job_bundle(self.record, self._symbol)


def mine() -> list[JobHandle]:
    """All jobs of this person, newest first."""
    door = Door.here()
    try:
        money = door.symbol
        return [JobHandle(money, str(job["id"])) for job in door.jobs()]
    except GearshiftError as error:
        raise refused(error) from None
