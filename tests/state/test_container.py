"""The state file: whole or not there, believed only when signed, complete and our own."""

from __future__ import annotations

import os
import subprocess
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from gearshift.state import DiskFull, Refused, key, save
from gearshift.state.container import CHUNK, PAGE, Reader, Writer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

KEY = b"k" * 32
some_blocks = st.lists(st.binary(max_size=3 * PAGE), max_size=6)
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def write(
    path: Path, blocks: list[bytes], secret: bytes = KEY, durable: bool = True
) -> list[tuple[int, int]]:
    with Writer(path, secret) as writer:
        spans = [writer.put(memoryview(block)) for block in blocks]
        writer.finish({"spans": spans}, durable=durable)
    return spans


@quick
@given(some_blocks, st.booleans())
def test_what_was_put_in_comes_out_and_large_blocks_begin_on_a_page(
    tmp_path: Path, blocks: list[bytes], durable: bool
) -> None:
    path = tmp_path / f"{uuid.uuid4()}.gsk"
    spans = write(path, blocks, durable=durable)
    reader = Reader(path, KEY)
    assert [bytes(reader.view(tuple(span))) for span in reader.index["spans"]] == blocks
    assert all(start % PAGE == 0 for start, length in spans if length >= PAGE)


def test_blocks_across_many_chunks_come_out(tmp_path: Path) -> None:
    blocks = [os.urandom(CHUNK - 1), b"x", os.urandom(2 * CHUNK + 17), b"", os.urandom(5)]
    spans = write(tmp_path / "f.gsk", blocks)
    reader = Reader(tmp_path / "f.gsk", KEY)
    assert [bytes(reader.view(span)) for span in spans] == blocks
    assert len(reader.index["chunks"]) == -(-(spans[-1][0] + spans[-1][1] - 4096) // CHUNK)


@quick
@given(st.data())
def test_any_changed_byte_is_refused(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / f"{uuid.uuid4()}.gsk"
    write(path, [os.urandom(9000), b"small"])
    raw = bytearray(path.read_bytes())
    meaning = [*range(64), *range(4096, len(raw))]  # the rest of the header is empty and read by nobody
    raw[data.draw(st.sampled_from(meaning))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(raw))
    with pytest.raises(Refused):
        Reader(path, KEY)


@quick
@given(st.integers(0, 13000))
def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / f"{uuid.uuid4()}.gsk"
    write(path, [os.urandom(9000)])
    os.truncate(path, min(length, path.stat().st_size - 1))
    with pytest.raises(Refused):
        Reader(path, KEY)


def test_another_key_is_refused_and_a_short_one_is_a_mistake(tmp_path: Path) -> None:
    write(tmp_path / "f.gsk", [b"x"])
    with pytest.raises(Refused, match="signature"):
        Reader(tmp_path / "f.gsk", b"j" * 32)
    with pytest.raises(ValueError, match="key"):
        Writer(tmp_path / "g.gsk", b"short")


def test_a_link_a_folder_and_a_file_open_to_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.gsk"
    write(path, [b"x"])
    assert path.stat().st_mode & 0o777 == 0o600
    (tmp_path / "link.gsk").symlink_to(path)
    (tmp_path / "folder.gsk").mkdir()
    for bad in ("link.gsk", "folder.gsk", "none.gsk"):
        with pytest.raises(Refused):
            Reader(tmp_path / bad, KEY)
    path.chmod(0o640)
    with pytest.raises(Refused, match="others"):
        Reader(path, KEY)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away needs root")
def test_a_file_or_key_of_somebody_else_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "f.gsk", [b"x"])
    os.chown(tmp_path / "f.gsk", 20001, 20001)
    with pytest.raises(Refused, match="somebody else"):
        Reader(tmp_path / "f.gsk", KEY)
    secret = key.ensure(tmp_path / "keys")
    os.chown(secret, 20001, 20001)
    with pytest.raises(Refused, match="not yours"):
        key.read(secret)


def test_a_key_is_made_once_and_is_for_its_owner_only(tmp_path: Path) -> None:
    path = key.ensure(tmp_path / "keys")
    first = key.read(path)
    assert key.read(key.ensure(tmp_path / "keys")) == first
    assert len(first) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(Refused):
        key.read(path)


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "f.gsk"
    write(path, [b"old"])

    def interrupted() -> None:
        with Writer(path, KEY) as writer:
            writer.put(memoryview(b"new"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [p.name for p in tmp_path.iterdir()] == ["f.gsk"]
    span = Reader(path, KEY).index["spans"][0]
    assert bytes(Reader(path, KEY).view(tuple(span))) == b"old"


def test_memory_that_changes_while_it_is_saved_does_not_spoil_the_file(tmp_path: Path) -> None:
    block, ended = bytearray(8 * CHUNK), threading.Event()

    def compute() -> None:
        while not ended.is_set():
            for at in range(0, len(block), 4096):
                block[at] = (block[at] + 1) % 256

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        write(tmp_path / "f.gsk", [block])
    finally:
        ended.set()
        thread.join()
    assert Reader(tmp_path / "f.gsk", KEY)


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """One megabyte, really."""
    place = Path(f"/var/tmp/gearshift-test-disk-{uuid.uuid4().hex[:8]}")
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(place)], check=True)
    yield place
    subprocess.run(["umount", str(place)], check=True)
    place.rmdir()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_said_and_leaves_nothing(small_disk: Path) -> None:
    path = small_disk / "f.gsk"
    save({"small": 1}, path, KEY)
    before = path.read_bytes()
    with pytest.raises(DiskFull):
        save({"large": os.urandom(4 << 20)}, path, KEY)
    assert [p.name for p in small_disk.iterdir()] == ["f.gsk"]
    assert path.read_bytes() == before
