"""Records: strict when a person writes, tolerant when a program reads, the same after a trip through JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from gearshift.model.errors import BadInput
from gearshift.model.job import EndReason, JobSpec, JobState
from gearshift.model.launch import ImageRef, LaunchPlan, Person, ProcessLimits, WorkspaceRef
from gearshift.model.lease import Lease
from gearshift.model.machine import Amount, Machine, Plan
from gearshift.model.problems import nearest, parse
from gearshift.model.workspace import DiskMount, Workspace, WorkspaceSpec, WorkspaceState
from gearshift_testing.catalogue import NOW, gpu, gpu_half, machine
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

SPECS = st.builds(
    WorkspaceSpec,
    image=st.text(),
    machine=st.text(),
    disks=st.lists(st.builds(DiskMount, disk=st.text()), max_size=3).map(tuple),
    datasets=st.lists(st.text(), max_size=3).map(tuple),
)


@given(SPECS)
def test_a_spec_survives_json(spec: WorkspaceSpec) -> None:
    assert WorkspaceSpec.model_validate(spec.model_dump(mode="json")) == spec


def test_an_unknown_key_of_a_person_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(BadInput) as caught:
        parse(WorkspaceSpec, {"image": "pytorch", "machine": "cpu-small", "datsets": ["digits"]})
    error = caught.value
    assert (error.code, error.field) == ("bad_request", "datsets")
    assert error.allowed is not None
    assert "datasets" in error.allowed
    assert "Did you mean 'datasets'?" in error.facts["problems"][0]


def test_the_same_key_is_passed_over_when_a_program_reads_it() -> None:
    row = {"image": "i", "machine": "m", "disks": [{"disk": "d", "colour": "red"}], "future": 1}
    assert WorkspaceSpec.read(row) == WorkspaceSpec(image="i", machine="m", disks=(DiskMount(disk="d"),))


@pytest.mark.parametrize(
    ("data", "field", "said"),
    [
        ({"machine": "m"}, "image", "missing"),
        ({"image": "i", "machine": "m", "plan": "spot"}, "plan", "on_demand"),
        ({"image": "i", "machine": 3}, "machine", "string"),
        ({"image": "i", "machine": "m", "disks": [{"disk": "d", "mode": "rwx"}]}, "disks[0].mode", "ro"),
    ],
)
def test_a_wrong_field_is_named_by_its_path(data: dict[str, object], field: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(WorkspaceSpec, data)
    assert caught.value.field == field
    assert said in caught.value.message


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none() | st.lists(st.text())))
def test_whatever_is_sent_it_is_a_spec_or_bad_request(data: dict[str, object]) -> None:
    with pytest.raises(BadInput) as caught:
        parse(WorkspaceSpec, data)
    assert caught.value.code == "bad_request"


def test_nothing_can_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        machine().capacity = 9  # type: ignore[misc]


def test_instants_are_utc_and_written_with_microseconds() -> None:
    there = datetime(2026, 11, 30, 20, 52, 16, 123456, tzinfo=timezone(timedelta(hours=8)))
    lease = Lease(id="l", pool="p", machine="m", amount=Amount(), owner="A", expires_at=there)
    assert lease.model_dump(mode="json")["expires_at"] == "2026-11-30T12:52:16.123456Z"
    assert lease.expires_at is not None
    assert lease.expires_at.tzinfo is UTC
    assert Lease.model_validate(lease.model_dump(mode="json")) == lease


def test_an_instant_without_a_zone_is_refused() -> None:
    for bad in (datetime(2026, 1, 1), "2026-01-01T00:00:00"):
        with pytest.raises(ValidationError, match="zone"):
            Lease(id="l", pool="p", machine="m", amount=Amount(), owner="A", expires_at=bad)


@pytest.mark.parametrize("kind", [machine(), gpu(4), gpu_half()])
def test_a_machine_survives_json(kind: Machine) -> None:
    assert Machine.model_validate(kind.model_dump(mode="json")) == kind
    assert kind.prices[0].plan is Plan.ON_DEMAND


def test_a_live_switch_needs_the_same_pool_and_chip() -> None:
    assert machine().differs_only_in_size(machine("cpu-large", cores_milli=4000))
    assert gpu(1).differs_only_in_size(gpu(1, cores_milli=4000))
    assert not machine().differs_only_in_size(gpu(1))
    assert not machine().differs_only_in_size(machine(pool="other"))


@pytest.mark.parametrize("state", list(WorkspaceState))
def test_a_workspace_can_be_started_only_when_nothing_of_it_may_be_running(state: WorkspaceState) -> None:
    assert not (state.can_start and state.holds_machine)
    assert not (state.is_moving and not state.holds_machine)


def test_a_workspace_is_known_by_owner_and_name() -> None:
    spec = WorkspaceSpec(image="i", machine="m")
    work = Workspace(
        owner="A", name="work", display_name="Work", spec=spec, state=WorkspaceState.STOPPED, since=NOW
    )
    assert work.id == "A/work"
    assert Workspace.model_validate(work.model_dump(mode="json")) == work


@pytest.mark.parametrize("reason", list(EndReason))
def test_every_reason_ends_a_job_in_a_final_state(reason: EndReason) -> None:
    assert reason.state.is_final
    assert JobState.CANCELLING.can_become(reason.state) == (reason.state is JobState.CANCELLED)


@pytest.mark.parametrize("state", list(JobState))
def test_every_state_of_a_job_leads_to_an_end(state: JobState) -> None:
    reached = {state}
    for _ in JobState:
        reached |= {after for before in reached for after in JobState if before.can_become(after)}
    assert any(after.is_final for after in reached)
    assert not any(state.can_become(after) for after in JobState if state.is_final)


def test_a_job_spec_is_strict_and_counts_its_ranks() -> None:
    spec = JobSpec(name="j", machine="m", image="i", nodes=2, procs=3, code="0" * 64)
    assert spec.world_size == 6
    with pytest.raises(BadInput):
        parse(JobSpec, {**spec.model_dump(mode="json"), "nods": 2})
    with pytest.raises(BadInput):
        parse(JobSpec, {**spec.model_dump(mode="json"), "code": "../x"})


def test_two_launch_plans_of_the_same_choice_are_equal() -> None:
    def plan() -> LaunchPlan:
        return LaunchPlan(
            operation="op",
            workspace=WorkspaceRef(owner="A", name="work"),
            person=Person(name="A", slug="a", uid=20000, gid=20000, home="/h"),
            image=ImageRef(id="i", python="python", digest="d"),
            limits=ProcessLimits(memory_bytes=1, cpus=0.5),
            runtime_dir="/r",
            state_dir="/s",
            tree="ws-1-1",
        )

    assert plan() == plan()
    assert LaunchPlan.model_validate_json(plan().model_dump_json()) == plan()


@pytest.mark.parametrize(("word", "meant"), [("machne", "machine"), ("imgae", "image"), ("zzz", None)])
def test_the_nearest_name_is_the_one_that_was_meant(word: str, meant: str | None) -> None:
    assert nearest(word, WorkspaceSpec.model_fields) == meant
