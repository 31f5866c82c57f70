"""One person's code against another person and against us, from inside a real workspace."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from gearshift.kernel import Kernel
from gearshift_testing import submitting
from gearshift_testing.driving import Driver
from gearshift_testing.evidence import server_token
from gearshift_testing.running import Running

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: two people with uids"),
]

NEEDLE = f"only-mia-may-read-{secrets.token_hex(8)}-"
PLACES = ("home", "disk", "variable", "job-log", "result")

SEARCH = """
import json, os
needles = [needle[::-1].encode() for needle in {needles}]
found, read = [], 0
for top in {tops}:
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            try:
                handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                try:
                    data = os.read(handle, 1 << 22)
                finally:
                    os.close(handle)
            except OSError:
                continue
            read += 1
            found += [path for needle in needles if needle in data]
print(json.dumps([read, found]))
"""

KNOCK = """
import json, os, httpx
own = {{"Authorization": "token " + os.environ["JUPYTERHUB_API_TOKEN"]}}
listed = open("/proc/net/tcp").read()
said = {{}}
for path in {paths}:
    for name, headers in (("nothing", {{}}), ("own token", own), ("empty key", {{"X-Gearshift-Door-Key": ""}})):
        answer = httpx.get(f"http://127.0.0.1:{port}/user/mia/work/{{path}}", headers=headers, timeout=10)
        said[f"{{path}} with {{name}}"] = answer.status_code
print(json.dumps([f":{{{port}:04X}} " in listed, said]))
"""

DOORS = (
    "api/status", "api/kernels", "api/sessions", "api/contents", "api/terminals", "gearshift/health", "gearshift/metrics",
    "gearshift/state/report?operation=x", "metrics", "lab",
)  # fmt: skip

FORGE = """
import json, os, httpx
token = os.environ["JUPYTERHUB_API_TOKEN"]
headers = {{"Authorization": "token " + token}}
api = os.environ["GEARSHIFT_CONTROL_URL"] + "/api/v1/"
server = os.environ["JUPYTERHUB_SERVICE_URL"].rstrip("/") + "/gearshift/api/"
body = {{"kind": "switch", "workspace": "eve/work", "machine": "sim-1"}}
plan = httpx.post(api + "plans", json=body, headers=headers, timeout=30).json()["id"]
said = {{}}
pressed = [("1",), (token,), ("{page}",), ("true",)]
for door in (api, server):
    for proof, in pressed:
        for extra in ({{}}, {{"Cookie": "_xsrf=a", "X-XSRFToken": "a"}}, {{"Sec-Fetch-Site": "same-origin"}}):
            for sent in ({{"press": True}}, {{"terminal": True}}, {{"max_price_nano": 10**12, "max_cost_nano": 10**12}}):
                sends = {{**headers, **extra, "X-Gearshift-Press": proof}}
                answer = httpx.post(f"{{door}}plans/{{plan}}/confirm", json=sent, headers=sends, timeout=30)
                said[f"{{door}} {{proof}} {{extra}} {{sent}}"] = answer.json()["error"]["code"]
hub, own = os.environ["JUPYTERHUB_API_URL"], {{}}
for method, path in (("POST", "users/eve/tokens"), ("POST", "users/eve/servers/more"), ("DELETE", "users/eve/servers/work"),
                     ("POST", "shares/eve/work"), ("GET", "users"), ("GET", "users/mia"), ("POST", "users/mia/servers/x"),
                     ("POST", "gearshift/workspaces/mia/work/stop"), ("GET", "gearshift/workspaces")):
    answer = httpx.request(method, f"{{hub}}/{{path}}", json={{"operation": "x"}}, headers=headers, timeout=30)
    own[f"{{method}} {{path}}"] = answer.status_code
print(json.dumps([said, own]))
"""

LISTENING = """
import json, socket
found = []
for line in open("/proc/net/tcp").read().splitlines()[1:]:
    place, state, uid = [line.split()[field] for field in (1, 3, 7)]
    if state == "0A" and int(uid) == {uid} and int(place[-4:], 16) != {port}:
        with socket.socket() as door:
            found.append([int(place[-4:], 16), door.connect_ex(("127.0.0.1", int(place[-4:], 16)))])
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Two:
    """mia with something in every place where people keep things, and eve's kernel."""

    product: Running
    mia: Driver
    eve: Driver
    kernel: Kernel

    def run(self, code: str) -> Any:
        return json.loads(self.kernel.run(code, timeout=120).text)


@pytest.fixture(scope="module")
def two(running: Running) -> Iterator[Two]:
    mia, eve = Driver(running, "mia"), Driver(running, "eve")
    disk = mia.post("disks", {"name": "data"})["id"]
    begun = mia.begin_start("work", disks=[{"disk": disk, "mode": "rw"}]), eve.begin_start("work")
    job = submitting.submit(
        mia, f"from gearshift import train; print('{NEEDLE}job-log'); train.result('{NEEDLE}result')"
    )
    mia.done(begun[0])
    eve.done(begun[1])
    writes = f"import os; open(os.path.expanduser('~/note'), 'w').write('{NEEDLE}home'); "
    writes += (
        f"open(os.path.expanduser('~/disks/data/note'), 'w').write('{NEEDLE}disk'); kept = '{NEEDLE}variable'"
    )
    with closing(Kernel(running.server("mia", "work"), running.sign_in("mia"))) as hers:
        hers.run(writes)
    mia.done(mia.begin("stop", workspace="mia/work"))
    mia.start("work", disks=[{"disk": disk, "mode": "rw"}])
    with closing(Kernel(running.server("mia", "work"), running.sign_in("mia"))) as hers:
        hers.run(writes)
    assert submitting.ended(mia, job)["state"] == "succeeded"
    with closing(Kernel(running.server("eve", "work"), running.sign_in("eve"))) as kernel:
        yield Two(running, mia, eve, kernel)
    for driver in (mia, eve):
        driver.stop("work")


def test_no_file_of_the_box_tells_one_person_what_another_has(two: Two) -> None:
    home, held = two.product.home, two.product.home.secrets()
    needles = [NEEDLE, server_token(two.mia, "work"), two.product.sign_in("mia"), *vars(held).values()]
    tops = [str(home.root), str(home.runtime), "/tmp", "/dev/shm", "/proc", "/run", str(home.root.parent)]
    read, found = two.run(SEARCH.format(needles=[needle[::-1] for needle in needles], tops=tops))
    assert found == []
    assert read > 20
    kept = [path for path in home.root.rglob("*") if path.is_file() and NEEDLE.encode() in path.read_bytes()]
    assert len({path.relative_to(home.root).parts[0] for path in kept}) >= 3, "the needles were not laid out"


def test_the_port_of_another_persons_server_opens_to_nobody_else(two: Two) -> None:
    port = two.mia.state("work")["port"]
    reached, said = two.run(KNOCK.format(port=port, paths=DOORS))
    assert reached, "the port is not there to be knocked at"
    assert {status for where, status in said.items() if not where.startswith("lab ")} == {403}
    assert {status for where, status in said.items() if where.startswith("lab ")} <= {302, 403}


def test_a_kernel_opens_no_door_when_lab_asks_for_its_debugger(two: Two) -> None:
    with closing(Kernel(two.product.server("mia", "work"), two.product.sign_in("mia"))) as hers:
        uid = int(hers.run("import os; print(os.getuid())").text)
        look = LISTENING.format(uid=uid, port=two.mia.state("work")["port"])
        before = two.run(look)
        begin = {"type": "request", "seq": 1, "command": "initialize", "arguments": {"clientID": "lab"}}
        on_control(hers, "debug_request", begin, "debug_reply")
        features = on_control(hers, "kernel_info_request", {}, "kernel_info_reply")["supported_features"]
        after = two.run(look)
    assert after == before, "what takes only messages with the kernel's own secret is there from the start"
    assert "debugger" not in features


def on_control(kernel: Kernel, kind: str, content: dict[str, Any], answer: str) -> Any:
    """What the kernel answers to a request on its control channel."""
    header = {"msg_id": secrets.token_hex(8), "msg_type": kind, "username": "", "session": kernel.session}
    message = {
        "header": {**header, "version": "5.4", "date": ""},
        "parent_header": {},
        "metadata": {},
        "content": content,
        "channel": "control",
    }
    kernel.connection().send(json.dumps(message))
    while True:
        heard = json.loads(kernel.connection().recv())
        if heard["parent_header"].get("msg_id") == header["msg_id"] and heard["msg_type"] == answer:
            return heard["content"]


def test_code_in_a_kernel_cannot_confirm_spend_or_reach_more_than_it_was_given(two: Two) -> None:
    with closing(two.eve.browser("work")) as page:
        cookie = next(c.value for c in page.cookies.jar if c.name.startswith("jupyterhub-user-"))
    confirmed, reached = two.run(FORGE.format(page=(cookie or "").strip('"')))
    assert set(confirmed.values()) == {"needs_confirmation"}
    assert {call: status for call, status in reached.items() if status < 400} == {}
    assert two.eve.workspace("work")["spec"]["machine"] == "cpu-small"
