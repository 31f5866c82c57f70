"""C53: no path in a request leads outside of what its caller may use, on no endpoint, by no spelling."""

from __future__ import annotations

import http.client
import io
import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from gearshift.kernel import Kernel
from gearshift_hub.backends.local.paths_within import resolve_within
from gearshift_testing import endpoints, submitting
from gearshift_testing.driving import Driver
from gearshift_testing.endpoints import Endpoint
from gearshift_testing.gangs import packed
from gearshift_testing.running import Running

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: two people with uids"),
]

SECRET = "not-for-pat-5d0c1e"
OUTSIDE = (
    "team/../team-private/f",
    "team%2F..%2Fteam-private%2Ff",
    "%2e%2e%2fteam-private%2ff",
    "%252e%252e%252fteam-private%252ff",
    "team-private/f",
    "..",
    "..%5cteam-private%5cf",
    "f%00.txt",
    "{private}",
    "%2F{private}",
)
"""As they stand in a request line; `{private}` is the absolute path of the file that pat may not read."""


@dataclass(frozen=True)
class Disks:
    """oona's two disks; pat is a member of `team` and has it in a workspace."""

    pat: Driver
    team: Path
    private: Path
    """The file in `team-private`."""

    def spellings(self) -> list[str]:
        return [one.format(private=quote(str(self.private).lstrip("/"))) for one in OUTSIDE]


@pytest.fixture(scope="module")
def disks(running: Running) -> Iterator[Disks]:
    oona, pat = Driver(running, "oona"), Driver(running, "pat")
    running.sign_in("pat")
    made = {name: oona.post("disks", {"name": name})["id"] for name in ("team", "team-private")}
    assert oona.call("PUT", f"disks/{made['team']}/members/pat", {"mode": "rw"}).is_success
    team, hidden = (running.home.disks / made[name] for name in ("team", "team-private"))
    owner = team.stat().st_uid
    for path, text in ((team / "a..b" / "f", "fine"), (hidden / "f", SECRET)):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.chown(path, owner, owner)
    for name, target in (("out", hidden / "f"), ("out-relative", f"../{hidden.name}/f"), ("outside", hidden)):
        (team / name).symlink_to(target)
    pat.start("work", disks=[{"disk": made["team"], "mode": "rw"}])
    (team / "a..b" / "f").chmod(0o644)
    (team / "a..b").chmod(0o755)
    yield Disks(pat, team, hidden / "f")
    pat.stop("work")


def raw(base: str, method: str, path: str, token: str, body: bytes = b"") -> tuple[int, bytes]:
    """A request whose path nobody repairs on the way."""
    parts = urlsplit(base)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
    connection.request(method, parts.path + path, body, headers)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def places(one: Endpoint) -> list[str]:
    return [part[1:-1] for part in one.path.split("/") if part.startswith("{")]


CONTROL = [one for one in endpoints.of_control() if places(one)]
LAB = [one for one in endpoints.of_lab() if places(one)]


@pytest.mark.parametrize("one", CONTROL, ids=lambda one: f"{one.method} {one.path}")
def test_c53_no_place_in_controls_addresses_takes_a_path(
    disks: Disks, running: Running, one: Endpoint
) -> None:
    sweep(disks, f"{running.url}services/gearshift", one)


@pytest.mark.parametrize("one", LAB, ids=lambda one: f"{one.method} {one.path}")
def test_c53_no_place_in_the_server_extensions_addresses_takes_a_path(
    disks: Disks, running: Running, one: Endpoint
) -> None:
    sweep(disks, running.server("pat", "work"), one)


def sweep(disks: Disks, base: str, one: Endpoint) -> None:
    """Each spelling in each place, the other places filled as they should be."""
    token = disks.pat.product.sign_in("pat")
    for place in places(one):
        for spelling in disks.spellings():
            path = one.filled(**{"owner": "pat", "name": "work", place: spelling})
            status, body = raw(base, one.method, path, token, b"{}")
            assert SECRET.encode() not in body, path
            fine = 200 if spelling == ".." else 404  # the proxy itself takes two dots for the folder above
            assert status in (fine, 302, 303, 307, 400, 403, 404, 405, 422), (path, status, body[:200])


def test_c53_fields_that_name_something_take_no_path(disks: Disks) -> None:
    names = ["../team-private", "team/../team-private", str(disks.private), "team-private", "f\0", "%2e%2e"]
    pat, start = disks.pat, {"kind": "start", "name": "new"}
    spec = {"image": "pytorch", "machine": "cpu-small"}
    for name in names:
        for body in (
            {**start, "spec": {**spec, "disks": [{"disk": name, "mode": "rw"}]}},
            {**start, "spec": {**spec, "datasets": [name]}},
            {**start, "spec": {**spec, "image": name}},
            {**start, "spec": {**spec, "machine": name}},
            {**start, "name": name, "spec": {**spec, "machine": "nothing"}},
            {"kind": "delete_disk", "disk": name},
            {"kind": "remove_member", "disk": name, "user": "pat"},
            {"kind": "cancel_job", "job": name},
            {"kind": "job", "spec": {**spec, "name": "j", "code": name}},
        ):
            answer = pat.call("POST", "plans", body)
            assert answer.status_code in (403, 404, 422), (body, answer.text)
        for path, body in (
            ("workspaces/pat/work/disks", {"disk": name}),
            ("workspaces/pat/work/datasets", {"dataset": name}),
            ("disks", {"name": name if name != "team-private" else "../x"}),
        ):
            assert pat.call("POST", path, body).status_code in (403, 404, 422), (path, body)


def test_c53_the_folder_of_an_operation_is_never_left(disks: Disks, running: Running) -> None:
    pat, states = disks.pat, running.home.kernels
    before = {path.name for path in states.rglob("*")}
    for name in ("../x", "..", "a/b", "/tmp/x", "%2e%2e", "x\0", "", "."):
        for path in ("gearshift/state/save", "gearshift/state/restore"):
            answer = pat.server("work", path, "POST", {"operation": name})
            assert answer.status_code in (403, 404, 422), (name, answer.text)
        answer = pat.server("work", f"gearshift/state/report?operation={quote(name)}")
        assert answer.status_code in (400, 403, 404, 422), (name, answer.text)
    assert {path.name for path in states.rglob("*")} == before


READING = """
import os
for path in {paths}:
    try:
        print(open(os.path.join(os.path.expanduser("~/disks"), path)).read())
    except OSError as error:
        print(error.strerror)
"""


@pytest.mark.parametrize("door", ["api/contents/", "files/"])
def test_c53_files_of_lab_end_at_what_the_person_may_read(disks: Disks, running: Running, door: str) -> None:
    token, base = running.sign_in("pat"), running.server("pat", "work")
    assert b"fine" in raw(base, "GET", f"{door}disks/team/a..b/f", token)[1]
    links = ["team/out", "team/out-relative", "team/outside/f"]
    for spelling in [*disks.spellings(), *links]:
        status, body = raw(base, "GET", f"{door}disks/{spelling}", token)
        assert SECRET.encode() not in body, spelling
        fine = 200 if spelling == ".." else 404
        broken = 500 if spelling in links else 404  # jupyter_server's own answer to a link it may not follow
        assert status in (fine, broken, 302, 400, 403, 404), (spelling, status)
    with_kernel = Kernel(base, token)
    code = READING.format(paths=[*links, str(disks.private)])
    assert set(with_kernel.run(code).text.split("\n")) == {"Permission denied", ""}
    with_kernel.close()


def test_c53_static_files_are_those_of_the_pages(running: Running) -> None:
    token, secrets = running.sign_in("pat"), running.home.secrets().control_secret.encode()
    state = quote(str(running.home.state / "secrets.json"))
    for door in (
        "services/gearshift/static/",
        "services/gearshift/static/v/",
        "hub/gearshift-static/",
    ):
        for path in (
            "../auth.py",
            "%2e%2e%2fauth.py",
            f"..{state}",
            state,
            f"%2f{state}",
            "a%00.css",
            "../pages/frame.py",
        ):
            status, body = raw(running.url, "GET", door + path, token)
            assert status in (302, 400, 403, 404), (door, path, status)
            assert secrets not in body
            assert b"from __future__" not in body


FLIPPING = """
import os, time
log, secret = os.readlink("/proc/self/fd/1"), {secret!r}
print("begins", flush=True)
end = time.monotonic() + 12
while time.monotonic() < end:
    os.rename(log, log + ".kept")
    os.symlink(secret, log)
    os.rename(log + ".kept", log)
out = os.path.dirname(log) + "/../../"
for name in (log, out + "result.zip", out + "metrics/rank-0.jsonl"):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    if os.path.lexists(name):
        os.unlink(name)
    os.symlink(secret, name)
"""


def test_c53_a_link_that_is_swapped_while_the_log_is_read_gives_no_byte(
    disks: Disks, running: Running
) -> None:
    secret = running.home.state / "secrets.json"
    held = json.loads(secret.read_text())["control_secret"]
    job = submitting.submit(disks.pat, FLIPPING.format(secret=str(secret)))
    done, reads = False, 0
    while not done:
        done = disks.pat.get(f"jobs/{job}")["state"] in submitting.ENDED
        for part in ("logs", "result", "metrics"):
            reads += 1
            assert held not in disks.pat.call("GET", f"jobs/{job}/{part}").text
    assert reads > 20


def test_c53_an_archive_entry_that_climbs_is_not_unpacked(disks: Disks, running: Running) -> None:
    home = running.home.homes / "pat"
    for entry in ("files/../climbed", f"files/{home}/climbed", "files/../../../../climbed"):
        bundle = io.BytesIO(packed("print('ran')"))
        with zipfile.ZipFile(bundle, "a") as archive:
            archive.writestr(entry, "x")
        job = submitting.ended(disks.pat, submitting.submit(disks.pat, bundle.getvalue()))
        assert (job["state"], job["reason"], job["cost_nano"]) == ("failed", "start_failed", 0), job
        assert "ran" not in submitting.log_of(disks.pat, job["id"])
    assert list(running.home.root.rglob("climbed")) == []


def test_c53_the_top_folder_works_as_a_root() -> None:
    assert resolve_within(Path("/"), "etc/hostname") == Path("/etc/hostname").resolve()
    assert resolve_within(Path("/"), "") == Path("/")
