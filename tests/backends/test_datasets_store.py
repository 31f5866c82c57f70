"""The shared store: made once, checked by hash, read by everybody and written by nobody; cards that are true."""

import csv
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from gearshift.model.dataset import Card, DatasetFile
from gearshift.model.errors import GearshiftError
from gearshift_hub.backends.local.datasets import LocalDatasets, version
from gearshift_hub.control.services import dataset_cards

ROOT = Path(__file__).resolve().parents[2]
CARDS = dataset_cards.load(ROOT / "datasets" / "cards")


@pytest.fixture
def datasets() -> Iterator[LocalDatasets]:
    made = Path(tempfile.mkdtemp(prefix="gearshift-test-", dir="/var/tmp"))
    made.chmod(0o755)
    yield LocalDatasets(made)
    for folder, _, _ in os.walk(made):
        os.chmod(folder, 0o755)
    shutil.rmtree(made)


def with_file(card: Card, **changes: object) -> Card:
    """The card with its first file changed."""
    first = DatasetFile.model_validate(card.files[0].model_dump() | changes)
    return card.model_copy(update={"files": (first, *card.files[1:])})


@pytest.mark.parametrize("card", CARDS.values(), ids=list(CARDS))
def test_every_card_is_materialised_as_it_says(datasets: LocalDatasets, card: Card) -> None:
    place = datasets.materialise(card)
    assert datasets.damaged(card) == []
    assert sorted(os.listdir(place)) == sorted([*(file.path for file in card.files), "README.md"])
    assert sum((place / file.path).stat().st_size for file in card.files) == card.size_bytes
    with (place / card.files[0].path).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == card.samples
    assert all(None not in row and None not in row.values() for row in rows)
    text = (place / "README.md").read_text()
    assert card.licence_url in text
    assert card.title.zh in text


def test_the_values_are_those_that_the_package_itself_loads(datasets: LocalDatasets) -> None:
    with (datasets.materialise(CARDS["iris"]) / "iris.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[1] == ["5.1", "3.5", "1.4", "0.2", "setosa"]
    assert {row[-1] for row in rows[1:]} == {"setosa", "versicolor", "virginica"}
    with (datasets.materialise(CARDS["digits"]) / "digits.csv").open(newline="") as file:
        digits = [[int(cell) for cell in row] for row in list(csv.reader(file))[1:]]
    assert {len(row) for row in digits} == {65}
    assert {row[-1] for row in digits} == set(range(10))
    assert max(max(row[:-1]) for row in digits) == 16


def test_a_second_time_nothing_is_written(datasets: LocalDatasets) -> None:
    place = datasets.materialise(CARDS["iris"])
    before = (place.stat().st_ino, place.stat().st_mtime_ns)
    assert datasets.materialise(CARDS["iris"]) == place
    assert (place.stat().st_ino, place.stat().st_mtime_ns) == before


def test_two_who_ask_at_once_get_one_copy(datasets: LocalDatasets) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from gearshift_hub.backends.local.datasets import LocalDatasets\n"
        "from gearshift_hub.control.services.dataset_cards import load\n"
        "place = LocalDatasets(Path(sys.argv[1])).materialise(load(Path(sys.argv[2]))['digits'])\n"
        "print(place.stat().st_ino)"
    )
    arguments = [sys.executable, "-c", script, str(datasets.store), str(ROOT / "datasets" / "cards")]
    asking = [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = {process.communicate(timeout=60)[0] for process in asking}
    assert len(answers) == 1
    assert [p.name for p in (datasets.store / "digits").iterdir() if p.is_dir()] == [version(CARDS["digits"])]


def test_what_a_killed_maker_left_is_swept_and_made_anew(datasets: LocalDatasets) -> None:
    left = datasets.store / "iris" / ".new-killed"
    left.mkdir(parents=True)
    (left / "iris.csv").write_text("half")
    left.chmod(0o555)
    datasets.materialise(CARDS["iris"])
    assert not left.exists()
    assert datasets.damaged(CARDS["iris"]) == []


def test_wrong_content_is_refused_with_both_hashes_and_leaves_nothing(datasets: LocalDatasets) -> None:
    wrong = with_file(CARDS["iris"], sha256="0" * 64)
    with pytest.raises(GearshiftError, match="has sha256 b6b8") as refused:
        datasets.materialise(wrong)
    assert (refused.value.code, refused.value.facts["expected"]) == ("data_failed", "0" * 64)
    assert not datasets.is_there(wrong)
    assert [p.name for p in (datasets.store / "iris").iterdir()] == [".lock"]


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ({"package": "no-such-package"}, "no-such-package is not installed"),
        ({"files": ("sklearn/datasets/data/none.csv",)}, "No such file"),
        ({"files": ("../../../../../../etc/passwd",)}, "not a path inside"),
        ({"maker": "magic"}, "unknown maker 'magic'"),
    ],
)
def test_a_source_that_cannot_give_the_files_is_a_stated_failure(
    datasets: LocalDatasets, source: dict[str, object], cause: str
) -> None:
    card = CARDS["iris"]
    with pytest.raises(GearshiftError, match=cause):
        datasets.materialise(card.model_copy(update={"source": card.source.model_copy(update=source)}))
    assert not datasets.is_there(card)


def test_a_path_on_a_card_cannot_leave_the_store(datasets: LocalDatasets) -> None:
    card = CARDS["palmer-penguins"]
    outside = with_file(card, path="../../../x")
    with pytest.raises(GearshiftError):
        datasets.materialise(outside)
    assert not (datasets.store.parent / "x").exists()


def test_damage_is_found_by_name(datasets: LocalDatasets) -> None:
    place = datasets.materialise(CARDS["palmer-penguins"])
    place.chmod(0o755)
    (place / "penguins.csv").unlink()
    assert datasets.damaged(CARDS["palmer-penguins"]) == ["penguins.csv"]


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="another uid needs root")
def test_another_uid_reads_the_store_and_cannot_write_it(datasets: LocalDatasets) -> None:
    before = os.umask(0o077)  # control's own
    try:
        place = datasets.materialise(CARDS["iris"])
    finally:
        os.umask(before)

    def may(command: str) -> bool:
        done = subprocess.run(
            ["sh", "-c", command], check=False, user=26101, group=26101, extra_groups=[], capture_output=True
        )
        return done.returncode == 0

    assert may(f"cat {place}/iris.csv {place}/README.md")
    for attempt in (
        f"touch {place}/new",
        f"echo x >> {place}/iris.csv",
        f"rm -f {place}/iris.csv",
        f"mkdir {place.parent}/other",
        f"chmod 777 {place}",
    ):
        assert not may(attempt)
    assert hashlib.sha256((place / "iris.csv").read_bytes()).hexdigest() == CARDS["iris"].files[0].sha256
