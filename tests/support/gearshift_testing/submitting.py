"""Jobs of a running product, sent and followed as a program does."""

from __future__ import annotations

from typing import Any

import httpx

from gearshift_testing.driving import Driver, until
from gearshift_testing.gangs import packed

ENDED = ("succeeded", "failed", "cancelled")


def send(driver: Driver, bundle: bytes) -> str:
    """Keep a bundle; its SHA-256."""
    headers = {"Authorization": f"token {driver.product.sign_in(driver.user)}"}
    answer = httpx.post(f"{driver.product.api}/jobs/bundles", content=bundle, headers=headers, timeout=60)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["sha256"])


def submit(driver: Driver, code: str | bytes, **spec: Any) -> str:
    """Plan and confirm a job that runs this cell, or this bundle; its id."""
    sha256 = send(driver, packed(code) if isinstance(code, str) else code)
    small = {
        "name": "job",
        "machine": "cpu-small",
        "image": "pytorch",
        "nodes": 1,
        "procs": 1,
        "launch": "env",
    }
    return str(driver.begin("job", spec={**small, "code": sha256, **spec})["id"])


def ended(driver: Driver, job: str, seconds: float = 90.0) -> dict[str, Any]:
    """The job once it has ended, however."""
    return until(lambda: if_ended(driver, job), seconds, f"{job} ends")


def log_of(driver: Driver, job: str, rank: int = 0) -> str:
    return str(driver.get(f"jobs/{job}/logs?rank={rank}")["text"])


def if_ended(driver: Driver, job: str) -> dict[str, Any] | None:
    """The job, once it has ended."""
    found: dict[str, Any] = driver.get(f"jobs/{job}")
    return found if found["state"] in ENDED else None
