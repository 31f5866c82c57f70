"""Failures become cause and remedy by what the ranks really said; what is not known stays unknown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from gearshift.diagnosis import diagnose, patterns
from gearshift.model.job import EndReason

LOGS = sorted((Path(__file__).parent / "logs").glob("*.log"))
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def said(log: Path) -> tuple[str, tuple[str, ...], int | None]:
    """The error, the lines and the signal of a provoked failure (tests/train/provoke.py wrote it)."""
    ended, *lines = log.read_text().splitlines()
    killed = re.match(r"signal (\d+)", ended)
    return "", tuple(lines), int(killed[1]) if killed else None


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_a_provoked_failure_is_recognised_by_its_log(log: Path) -> None:
    found = diagnose(*said(log))
    assert found is not None
    assert found.id == log.stem


def test_enough_is_known_and_enough_of_it_was_provoked() -> None:
    known = [pattern.diagnosis.id for pattern in patterns()]
    assert len(set(known)) == len(known) >= 40
    assert len(LOGS) >= 15
    assert {log.stem for log in LOGS} <= set(known)


@pytest.mark.parametrize("pattern", patterns(), ids=lambda pattern: pattern.diagnosis.id)
def test_every_advice_is_said_in_both_languages(pattern: object) -> None:
    diagnosis = pattern.diagnosis  # type: ignore[attr-defined]
    for text in (diagnosis.cause, diagnosis.remedy):
        assert text.en.endswith(".")
        assert CHINESE.search(text.zh)
        assert not CHINESE.search(text.en)


@pytest.mark.parametrize(
    ("line", "known"),
    [
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
            "accelerator_out_of_memory",
        ),
        ("RuntimeError: HIP out of memory. Tried to allocate 96.00 MiB", "accelerator_out_of_memory"),
        ("RuntimeError: NPU out of memory. Tried to allocate 20.00 MiB", "npu_memory"),
        ("RuntimeError: CUDA error: device-side assert triggered", "device_assert"),
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "no_kernel_image",
        ),
        (
            "[rank1]:[E] [PG ID 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)",
            "nccl_timeout",
        ),
        ("torch.distributed.DistBackendError: NCCL error: unhandled system error", "nccl_system"),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "card_broken"),
        ("huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files", "hub_offline"),
        ("OSError: [Errno 30] Read-only file system: '/home/a/datasets/iris/x'", "read_only"),
        (
            "AssertionError: world size (6) is not divisible by tensor_model_parallel_size (4)",
            "megatron_divides",
        ),
        ("Exception: Current loss scale already at minimum - cannot decrease scale anymore.", "loss_scale"),
    ],
)
def test_a_reported_failure_is_recognised_by_its_sentence(line: str, known: str) -> None:
    found = diagnose(line, ())
    assert found is not None
    assert found.id == known


def test_what_is_not_known_stays_unknown() -> None:
    assert diagnose("ValueError: the moon is not made of cheese", ("step 3 loss 0.2", "bye")) is None
    assert diagnose("", (), None, EndReason.USER_ERROR) is None


def test_the_consequence_is_not_taken_for_the_cause() -> None:
    lines = (
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied",
        "Connection closed by peer [127.0.0.1]:4242",
    )
    found = diagnose("", lines)
    assert found is not None
    assert found.id == "shapes"


def test_a_rank_that_was_killed_is_not_explained_by_its_old_warnings() -> None:
    lines = ("warning: Connection refused, trying again", "step 9 loss 1.2")
    by_signal, for_memory = diagnose("", lines, 9), diagnose("", lines, 9, EndReason.OOM)
    assert by_signal is not None
    assert for_memory is not None
    assert (by_signal.id, for_memory.id) == ("killed", "host_out_of_memory")


def test_a_hostile_log_costs_little() -> None:
    lines = tuple("a" * 400 + " is not divisible by " + "(" * 500 for _ in range(60))
    assert diagnose("x" * 2000, lines) is None


@pytest.mark.parametrize(
    ("message", "reason", "known"),
    [
        ("node 1 was lost", EndReason.NODE_LOST, "node_lost"),
        ("the network of node 1 was cut for 5 s", EndReason.NODE_LOST, "node_lost"),
        ("rank 3 hangs: the others waited for it in a collective; …", EndReason.NO_ANSWER, "rank_hangs"),
        ("rank 3 was stopped and did not go on for 10 s", EndReason.NO_ANSWER, "rank_hangs"),
        (
            "node 1 (10.77.0.2) did not join within 54 s: rank 2: its process did not begin",
            EndReason.DID_NOT_JOIN,
            "node_missing",
        ),
        ("", EndReason.INTERRUPTED, "machine_taken_away"),
    ],
)
def test_what_the_supervisor_tells_has_its_advice(message: str, reason: EndReason, known: str) -> None:
    found = diagnose(message, ("epoch 3",), None, reason)
    assert found is not None
    assert found.id == known
