"""What nobody should send: each gets an answer of ours below 500, and the next request finds everything at work."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from gearshift_testing import endpoints, submitting
from gearshift_testing.driving import Driver
from gearshift_testing.evidence import home_of, write_server_config
from gearshift_testing.running import Running

WHO, NAME = "ruby", "work"

SPEC = {"image": "pytorch", "machine": "cpu-small"}

BODIES = {
    "no JSON": b"{",
    "a list": b"[]",
    "a number": b"1",
    "nothing": b"null",
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "no text": b"\xff\xfe\x00",
    "half a character": json.dumps({"kind": "start", "name": "\ud800", "operation": "\ud800", "disk": "\ud800"}).encode(),
    "no number": b'{"kind": NaN, "operation": NaN, "quota_bytes": Infinity, "press": NaN}',
    "a huge number": b'{"quota_bytes": 1' + b"0" * 5000 + b', "max_price_nano": 1' + b"0" * 400 + b"}",
    "a NUL": b'{"kind": "start", "name": "a\\u0000", "operation": "a\\u0000", "dataset": "\\u0000", "mode": "\\u0000"}',
    "odd fields": b'{"kind": {"a": 1}, "operation": [], "name": {"b": []}, "disk": 7, "mode": [], "spec": 5, "press": {}}',
    "a long name": json.dumps({"kind": "start", "name": "x" * 300, "spec": SPEC}).encode(),
    "a foreign name": json.dumps({"kind": "start", "name": "../测试 a@b", "spec": SPEC}).encode(),
}  # fmt: skip
KINDS = ("application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "")

CONTROL = [one for one in endpoints.of_control() if one.changes and one.kind == "api"]
PASSED_ON = ("plans", "confirm", "bundles")
LAB = [
    one
    for one in endpoints.of_lab()
    if one.changes and ("/api/" not in one.path or one.path.endswith(PASSED_ON))
]

OWN_ANSWERS = """
import pathlib, tornado.web
mode, find = pathlib.Path.home() / "mode", tornado.web.Application.find_handler
ANSWERS = {
    "list": b"[]", "text": b'"x"', "no number": b'{"ok": NaN, "kernels": [{"kernel_id": "a", "seconds": NaN}]}',
    "half a character": b'{"kernels": [{"kernel_id": "\\\\ud800"}]}', "a number of kernels": b'{"kernels": 5}',
    "odd kernels": b'{"kernels": [5, null, {"variables": 7}, {"kernel_id": {}, "variables": [1]}]}',
    "deep": b'{"kernels": ' + b"[" * 5000 + b"]" * 5000 + b"}", "an odd error": b'{"error": {"code": ["x"]}}',
    "without end": b'{"kernels": "' + b"x" * (40 << 20) + b'"}',
}
class Own(tornado.web.RequestHandler):
    def prepare(self):
        self.set_header("Content-Type", "application/json")
        if mode.read_text() == "an odd error":
            self.set_status(409)
        self.finish(ANSWERS[mode.read_text()])
def answer(self, request, **more):
    ours = "/gearshift/" in request.path and mode.exists()
    return self.get_handler_delegate(request, Own) if ours else find(self, request, **more)
tornado.web.Application.find_handler = answer
"""
OWN_FIGURES = """
import os, time
out = os.path.abspath(os.path.dirname(os.readlink("/proc/self/fd/1")) + "/../..")
STATUS = [b"[" * 500_000, b'{"state": "failed", "reason": "lost", "ended_at": "9999-12-31T23:59:59-14:00"}',
    b'{"state": "running", "attempt": -5, "ranks": [{"rank": -1, "node": 0, "state": "x"}]}',
    b'{"state": "running", "note": "\\ud800", "attempt": ' + b"9" * 400 + b"}",
    b'{"state": "running", "checkpoint_step": ' + b"9" * 100 + b"}"]
FIGURES = b'{"step": 1, "loss": NaN}\\n{"step": 1e400}\\n{"step": ' + b"9" * 300 + b"}\\n" + b"[" * 100_000 + b"\\n"
os.makedirs(out + "/metrics", exist_ok=True)
for status in STATUS:
    for _ in range(20):
        with open(out + "/aside", "wb") as file:
            file.write(status)
        os.rename(out + "/aside", out + "/status.json")
        with open(out + "/metrics/rank-0.jsonl", "ab") as file:
            file.write(FIGURES)
        time.sleep(0.02)
"""
ANSWERS = (
    "list", "text", "no number", "half a character", "a number of kernels", "odd kernels", "deep", "an odd error",
    "without end",
)  # fmt: skip


@pytest.fixture(scope="module")
def ruby(running: Running) -> Iterator[Driver]:
    driver = Driver(running, WHO)
    driver.start(NAME)
    yield driver
    driver.stop(NAME)


@pytest.mark.parametrize("body", BODIES)
def test_no_body_is_a_fault_of_ours(ruby: Driver, body: str) -> None:
    token = {"Authorization": f"token {ruby.product.sign_in(WHO)}"}
    bases = ((f"{ruby.product.url}services/gearshift", CONTROL), (ruby.product.server(WHO, NAME), LAB))
    with httpx.Client(headers=token, timeout=60) as client:
        for base, known in bases:
            for one in known:
                url = base.rstrip("/") + "/" + one.filled(owner=WHO, name=NAME).lstrip("/")
                kinds = KINDS if one.path.endswith("v1/plans") else KINDS[:1]
                for kind in kinds:
                    sent = client.request(
                        one.method, url, content=BODIES[body], headers={"Content-Type": kind}
                    )
                    assert sent.status_code < 500, (one, kind, sent.text[:300])
    assert ruby.workspace(NAME)["state"] == "ready"


@pytest.mark.parametrize("path", ["ledger?from=9999-12-31T23:59:59-14:00", "ledger?to=0001-01-01T00:00:00%2B14:00",
    "operations?limit=1" + "0" * 30, "catalog?workspace=a%00/b", "jobs?plan=%00", "disks/a%00b",
    "workspaces/%F0%9F%92%A5/x", "datasets?q=" + "x" * 5000])  # fmt: skip
def test_no_address_is_a_fault_of_ours(ruby: Driver, path: str) -> None:
    assert ruby.call("GET", path).status_code < 500


@pytest.mark.parametrize("number", ["9" * 30, "-1", "²", "٣", "x"])
def test_an_odd_id_of_an_event_is_refused(ruby: Driver, number: str) -> None:
    headers = {"Authorization": f"token {ruby.product.sign_in(WHO)}", "Last-Event-ID": number.encode()}
    answer = httpx.get(f"{ruby.product.api}/events", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_request")


def test_a_large_body_is_refused_before_anybody_asks_who_sent_it(running: Running) -> None:
    for path in ("api/v1/plans", "start", "api/v1/disks"):
        url = f"{running.url}services/gearshift/{path}"
        answer = httpx.post(url, content=b"x" * (2 << 20), headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    port = running.home.ports().control_port
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.putrequest("POST", "/services/gearshift/api/v1/plans")
        connection.putheader("Content-Length", str(10**12))
        connection.endheaders(b"x")
        assert connection.getresponse().status == 413


def test_a_server_that_answers_rubbish_harms_nobody_but_its_owner(running: Running) -> None:
    eve, log = Driver(running, "eve-answers"), running.home.logs / "control.log"
    before = log.stat().st_size
    eve.start(NAME)
    eve.stop(NAME)
    write_server_config(running, eve.user, OWN_ANSWERS)
    eve.start(NAME)
    mode = home_of(running, eve.user) / "mode"
    for answer in ANSWERS:
        mode.write_text(answer)
        mode.chmod(0o644)
        plan = eve.plan("switch", workspace=f"{eve.user}/{NAME}", machine="sim-1")
        code = plan.json().get("error", {}).get("code")
        assert (plan.status_code, code) in ((502, "save_failed"), (502, "step_failed")), (answer, plan.text)
        assert eve.plan("stop", workspace=f"{eve.user}/{NAME}").status_code == 201
    assert b"Traceback" not in log.read_bytes()[before:]
    mode.unlink()
    eve.stop(NAME)


def test_a_job_whose_own_figures_are_rubbish_holds_up_no_other_job(running: Running) -> None:
    eve, mia, log = (
        Driver(running, "eve-figures"),
        Driver(running, "mia-figures"),
        running.home.logs / "control.log",
    )
    before = log.stat().st_size
    hostile = submitting.submit(eve, OWN_FIGURES)
    plain = submitting.submit(mia, "print('done')")
    assert submitting.ended(mia, plain)["state"] == "succeeded"
    while eve.get(f"jobs/{hostile}")["state"] not in submitting.ENDED:
        for path in ("jobs", f"jobs/{hostile}/metrics", f"jobs/{hostile}/logs"):
            answer = eve.call("GET", path)
            assert answer.status_code == 200, f"{path}: {answer.text}"
    ended = eve.get(f"jobs/{hostile}")
    assert ended["cost_nano"] > 0
    assert b"Traceback" not in log.read_bytes()[before:]
    assert running.internal("GET", "ledger/verify")["ok"]
