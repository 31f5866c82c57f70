"""What is written down of trees, how a request travels, and what a person first finds at home."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from gearshift.model.launch import Person
from gearshift_hub.backends.local import people, process_table
from gearshift_hub.backends.local.isolation import Bind
from gearshift_hub.backends.local.limits import Limits
from gearshift_hub.backends.local.records import Record, Records, TreeExists, check_name
from gearshift_hub.backends.local.request import (
    Request,
    Started,
    StartRefused,
    peer_uid,
    receive_answer,
    receive_request,
    send_refusal,
    send_request,
    send_started,
    socket_address,
)
from gearshift_hub.paths import Home
from gearshift_testing.box import home_folder
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture
def records(tmp_path: Path) -> Records:
    records = Records(tmp_path / "trees")
    records.prepare()
    return records


def _record(tree: str = "ws-1", **changes: object) -> Record:
    """A record whose leader and keeper are this very process."""
    own = process_table.read(os.getpid())
    assert own is not None
    record = Record(tree, own.pid, own.start, own.pid, own.start, 20001, "now", process_table.boot_id())
    return replace(record, **changes)  # type: ignore[arg-type]


def test_a_record_comes_back_as_it_was_written(records: Records) -> None:
    record = _record(labels={"workspace": "a/b"}, cores=(1, 2), guarded_ports=(5000,))
    records.add(record)
    assert records.get("ws-1") == record
    assert list(records.open()) == [record]


def test_a_running_tree_keeps_its_name_and_an_ended_one_gives_it_up(records: Records) -> None:
    records.add(_record())
    with pytest.raises(TreeExists):
        records.add(_record())
    records.forget("ws-1")
    records.add(_record(start=1, keeper_start=1))
    records.end("ws-1", 3)
    assert records.exit_code("ws-1") == 3
    records.add(_record())
    assert records.exit_code("ws-1") is None
    assert not records.ended("ws-1")


def test_a_pid_of_an_earlier_boot_or_of_another_process_is_not_alive() -> None:
    assert _record().leads
    assert _record().is_kept
    assert not _record(boot="another").leads
    assert not _record(start=1).leads
    assert not _record(boot="another").is_kept


def test_a_torn_record_is_no_record(records: Records, tmp_path: Path) -> None:
    records.add(_record())
    (tmp_path / "trees" / "ws-1" / "record.json").write_text('{"tree": "ws')
    assert records.get("ws-1") is None
    assert list(records.all()) == []


def test_records_of_long_ago_are_forgotten_and_running_ones_never(records: Records) -> None:
    records.add(_record("running"))
    records.add(_record("ended", start=1, keeper_start=1))
    records.end("ended", None)
    assert records.forget_old(3600) == []
    assert records.forget_old(-1) == ["ended"]
    assert [record.tree for record in records.all()] == ["running"]


@given(st.text(max_size=80))
def test_whatever_passes_as_a_tree_name_is_one_plain_path_part(name: str) -> None:
    try:
        check_name(name)
    except ValueError:
        return
    assert Path(name).parts == (name,)
    assert name not in {".", ".."}
    assert len(name) <= 63


@given(env=st.dictionaries(st.text(min_size=1), st.text()), big=st.integers(0, 200_000))
def test_a_request_of_any_size_arrives_as_it_was_sent(env: dict[str, str], big: int) -> None:
    person = Person(name="阿丽", slug="a", uid=20001, gid=20001, home="/h")
    sent = Request(
        "server", "ws-1", person, ["a", "b"], {**env, "BIG": "x" * big}, "/h", "/log", "server",
        Limits(1, 0.5, 2, 3, (0, 1)), ["d0"], [Bind("/a", "/b", True)], "/run/x", 80, [1], {"l": "v"},
    )  # fmt: skip
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with here, there:
        for end in (here, there):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        send_request(here, sent)
        assert receive_request(there) == sent
        assert peer_uid(there) == os.geteuid()


def test_a_request_that_breaks_off_is_refused() -> None:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there:
        here.send(b"+{")
        here.close()
        with pytest.raises(ConnectionError, match="ended early"):
            receive_request(there)


def test_an_answer_is_a_start_a_refusal_or_a_loss() -> None:
    assert _answer(lambda end: send_started(end, Started(7, "now"))) == Started(7, "now")
    with pytest.raises(StartRefused, match="no room"):
        _answer(lambda end: send_refusal(end, "refused", "no room"))
    with pytest.raises(StartRefused) as lost:
        _answer(lambda end: None)
    assert lost.value.kind == "lost"


def test_a_request_does_not_print_its_tokens() -> None:
    person = Person(name="A", slug="a", uid=20001, gid=20001, home="/h")
    request = Request("server", "ws-1", person, [], {"JUPYTERHUB_API_TOKEN": "hidden-token"}, "/", "/log")
    assert "hidden-token" not in repr(request)


def test_a_socket_below_a_very_long_path_can_be_used(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100) / ("y" * 100)
    folder.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        with socket_address(folder / "fork.sock") as address:
            listener.bind(address)
        listener.listen()
        caller = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with caller, socket_address(folder / "fork.sock") as address:
            caller.connect(address)


@pytest.fixture
def home() -> Iterator[Home]:
    with home_folder() as made:
        yield made


def test_a_new_home_is_closed_and_has_a_name_for_git(home: Home) -> None:
    person = people.ensure(home, 'Ann "the\n[core]" B\\', "ann", 28_123)
    folder = Path(person.home)
    assert folder.stat().st_mode & 0o7777 == 0o700
    assert folder.stat().st_uid == person.uid
    config = (folder / ".gitconfig").read_text()
    assert json.loads((folder / "first-drive.ipynb").read_text())["cells"]
    assert 'name = "Ann the [core] B"\n' in config
    assert config.count("[") == 2
    assert [entry for entry in home.homes.iterdir() if entry.name.startswith(".")] == []


def test_a_home_is_made_once_and_left_alone_after_that(home: Home) -> None:
    first = people.ensure(home, "Ann", "ann", 28_123)
    Path(first.home, ".gitconfig").unlink()
    assert people.ensure(home, "Ann", "ann", 28_123) == first
    assert not Path(first.home, ".gitconfig").exists()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: uids")
@pytest.mark.parametrize("uid", [0, 33, 999])
def test_nobody_gets_the_uid_of_an_account_of_the_box(home: Home, uid: int) -> None:
    with pytest.raises(ValueError, match="from 1000 on"):
        people.ensure(home, "Ann", "ann", uid)
    assert list(home.homes.iterdir()) == []


def test_a_deleted_persons_home_goes_where_nobody_enters_and_is_kept(home: Home) -> None:
    person = people.ensure(home, "Ann", "ann", 28_123)
    people.bin_home(home, "ann", "20261130")
    assert not Path(person.home).exists()
    assert (home.state / "bin" / "ann-20261130" / ".gitconfig").exists()
    assert (home.state / "bin").stat().st_mode & 0o777 == 0o700
    people.bin_home(home, "ann", "20261201")


def test_a_workspace_has_a_runtime_folder_of_ours_and_a_state_folder_of_theirs(home: Home) -> None:
    person = people.ensure(home, "Ann", "ann", 28_123)
    runtime, state = people.workspace_folders(home, person, "0a1b2c3d")
    assert (runtime.stat().st_uid, runtime.stat().st_mode & 0o777) == (os.geteuid(), 0o711)
    assert (state.stat().st_uid, state.stat().st_mode & 0o777) == (person.uid, 0o700)
    assert len(str(runtime)) <= 40 + 9
    assert people.workspace_folders(home, person, "0a1b2c3d") == (runtime, state)


def _answer(say):  # type: ignore[no-untyped-def]
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there:
        say(here)
        here.close()
        return receive_answer(there)
