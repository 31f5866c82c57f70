"""The deployment file: the shipped ones load, and whatever is wrong is refused with key, value, remedy, all at once."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gearshift.model.admission import Request, admit
from gearshift.model.lease import Device, availability
from gearshift.model.machine import Plan
from gearshift.model.problems import Problem
from gearshift_hub import data
from gearshift_hub.deployment import Deployment, DeploymentError, from_data, load
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

DEFAULT: dict[str, Any] = tomllib.loads(data.path("gearshift.toml").read_text("utf-8"))
EXAMPLES = sorted(data.path("deployments").glob("*.toml"))

Change = Callable[[dict[str, Any]], object]


def problems(*changes: Change) -> tuple[Problem, ...]:
    """What is said about the default file after these changes."""
    raw = copy.deepcopy(DEFAULT)
    for change in changes:
        change(raw)
    told = refused(raw)
    assert told
    return told


def refused(raw: dict[str, Any]) -> tuple[Problem, ...]:
    """Why this data is refused; nothing, when it is not."""
    try:
        from_data(raw)
    except DeploymentError as error:
        return error.problems
    return ()


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    return load(data.path("gearshift.toml"))


def test_the_default_declares_what_a_cpu_box_needs(deployment: Deployment) -> None:
    assert [machine.id for machine in deployment.machines] == ["cpu-small", "cpu-large", "sim-1", "sim-4"]
    assert [machine.simulated for machine in deployment.machines] == [False, False, True, True]
    assert [m.prices_per_hour_nano[Plan.ON_DEMAND] for m in deployment.machines] == [
        10**8,
        2 * 10**8,
        10**9,
        4 * 10**9,
    ]
    assert deployment.pools[0].devices == ("d0", "d1", "d2", "d3")
    assert deployment.people.opening_credit_nano == 1000 * 10**9
    assert deployment.deadlines.start == 60


def test_the_default_says_what_is_the_default_anyway(deployment: Deployment) -> None:
    bare = {name: DEFAULT[name] for name in ("pools", "machines", "images", "apps", "datasets")}
    assert from_data(bare) == deployment


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_each_worked_example_loads(path: Path) -> None:
    assert load(path).machines


def test_there_are_worked_examples() -> None:
    assert "single-gpu-box.toml" in [path.name for path in EXAMPLES]


def test_all_default_machines_fit_a_box_of_two_cores(deployment: Deployment) -> None:
    pool = deployment.pools[0].resolve(cores=2, memory_bytes=8 * 2**30)
    assert pool.cores_milli == 8000
    for machine in deployment.machines:
        assert availability(machine, [pool], []).free >= 1


def test_real_cards_are_added_to_a_pool_that_found_them() -> None:
    box = load(data.path("deployments/single-gpu-box.toml"))
    card = Device(id="gpu0", memory_bytes=48 * 2**30, uuid="GPU-1")
    pool = box.pools[0].resolve(cores=16, memory_bytes=64 * 2**30, devices=[card])
    gpu, half = box.machine("gpu"), box.machine("gpu-half")
    assert gpu is not None
    assert half is not None
    assert (gpu.simulated, availability(gpu, [pool], []).total, availability(half, [pool], []).total) == (
        False,
        1,
        2,
    )


def test_a_start_is_admitted_from_the_default(deployment: Deployment) -> None:
    pools = [pool.resolve(cores=2, memory_bytes=8 * 2**30) for pool in deployment.pools]
    there = deployment.world(pools=pools, balance_nano=deployment.people.opening_credit_nano)
    got = admit(Request(user="A", machine="sim-4", image="pytorch", datasets=("digits",)), there)
    assert got.grants[0].device_ids == ("d0", "d1", "d2", "d3")


def test_a_deployment_cannot_be_changed(deployment: Deployment) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        deployment.site = deployment.site  # type: ignore[misc]


CONTRADICTIONS: list[tuple[str, Change, str, str]] = [
    (
        "a typo in a table",
        lambda d: d["site"].update(langauge="zh"),
        "site.langauge",
        "Did you mean 'language'?",
    ),
    (
        "a typo in a machine",
        lambda d: d["machines"][0].update(cpu=1),
        "machines[0].cpu",
        "Did you mean 'cpus'?",
    ),
    (
        "a typo in a chip",
        lambda d: d["machines"][2]["chip"].update(memry="1 GiB"),
        "machines[2].chip.memry",
        "'memory'",
    ),
    ("a typo in an image", lambda d: d["images"][0].update(runtme="cpu"), "images[0].runtme", "'runtime'"),
    ("an unknown table", lambda d: d.update(serverr={}), "serverr", "Did you mean 'server'?"),
    ("nothing like it", lambda d: d.update(zzz={}), "zzz", "Remove it"),
    (
        "a negative price",
        lambda d: d["machines"][0]["prices"].update(on_demand="-0.1"),
        "machines[0].prices.on_demand",
        "negative",
    ),
    (
        "a bare price",
        lambda d: d["machines"][0]["prices"].update(on_demand=0.1),
        "machines[0].prices.on_demand",
        "quotes",
    ),
    (
        "an unknown plan",
        lambda d: d["machines"][0]["prices"].update(spot="1"),
        "machines[0].prices.spot",
        "on_demand",
    ),
    ("no price", lambda d: d["machines"][0].update(prices={}), "machines[0].prices", "at least 1"),
    (
        "a duplicate machine",
        lambda d: d["machines"][1].update(id="cpu-small"),
        "machines[1].id",
        "machines[0]",
    ),
    ("a duplicate image", lambda d: d["images"].append(d["images"][0]), "images[2].id", "images[0]"),
    ("a duplicate pool", lambda d: d["pools"].append({"id": "box"}), "pools[1].id", "pools[0]"),
    (
        "a duplicate data set",
        lambda d: d["datasets"]["enabled"].append("iris"),
        "datasets.enabled[5]",
        "same id",
    ),
    ("a duplicate device", lambda d: d["pools"][0].update(devices=["d0", "d0"]), "pools[0].devices", "'box'"),
    (
        "an unknown pool",
        lambda d: d["machines"][0].update(pool="bxo"),
        "machines[0].pool",
        "Did you mean 'box'?",
    ),
    (
        "an unknown image",
        lambda d: d["machines"][0].update(images=["pytorc"]),
        "machines[0].images",
        "'pytorch'",
    ),
    (
        "too many chips",
        lambda d: d["machines"][3]["chip"].update(count=5),
        "machines[3].chip.count",
        "4 devices",
    ),
    (
        "too many cores",
        lambda d: (d["pools"][0].update(cores=2), d["machines"][1].update(cpus=9)),
        "machines[1].cpus",
        "8 cores",
    ),
    ("too much memory", lambda d: d["pools"][0].update(memory="3 GiB"), "machines[1].memory", "larger"),
    (
        "half of two chips",
        lambda d: d["machines"][3]["chip"].update(share=0.5),
        "machines[3].chip.share",
        "count = 1",
    ),
    (
        "real devices by hand",
        lambda d: d["pools"][0].update(simulated=False),
        "pools[0].devices",
        "simulated = true",
    ),
    (
        "an image without its chip",
        lambda d: d["images"][0].update(runtime="cuda"),
        "machines[0].images",
        "cuda",
    ),
    (
        "an image nobody runs",
        lambda d: d["images"].append({**d["images"][0], "id": "idle"}),
        "images[2].id",
        "no machine",
    ),
    ("two equal ports", lambda d: d["server"].update(hub_port=8000), "server.hub_port", "0 for a free one"),
    ("a port out of range", lambda d: d["server"].update(port=70000), "server.port", "65535"),
    ("a base url without slash", lambda d: d["server"].update(base_url="/team"), "server.base_url", "/team/"),
    ("uids upside down", lambda d: d["people"].update(uid_to=19999), "people.uid_to", "range"),
    ("system uids", lambda d: d["people"].update(uid_from=0), "people.uid_from", ">= 1000"),
    (
        "quotas upside down",
        lambda d: d["disks"].update(max_quota="1 GB"),
        "disks.default_quota",
        "Raise max_quota",
    ),
    ("a size without unit", lambda d: d["machines"][0].update(memory=2), "machines[0].memory", "'2 GiB'"),
    (
        "a size that is none",
        lambda d: d["machines"][0].update(memory="many"),
        "machines[0].memory",
        "'2 GiB'",
    ),
    ("no cores", lambda d: d["machines"][0].update(cpus=0), "machines[0].cpus", "positive"),
    ("a language we do not speak", lambda d: d["site"].update(language="fr"), "site.language", "zh"),
    (
        "a time zone that is none",
        lambda d: d["site"].update(time_zone="Mars/Base"),
        "site.time_zone",
        "Asia/Shanghai",
    ),
    ("a time zone that is a path", lambda d: d["site"].update(time_zone="../x"), "site.time_zone", "UTC"),
    ("a currency that is none", lambda d: d["site"].update(currency="yuan"), "site.currency", "A-Z"),
    ("an id that is no label", lambda d: d["machines"][0].update(id="../x"), "machines[0].id", "pattern"),
    ("a missing key", lambda d: d["machines"][0].pop("pool"), "machines[0].pool", "missing"),
    (
        "a title in one language",
        lambda d: d["machines"][0]["title"].pop("zh"),
        "machines[0].title.zh",
        "missing",
    ),
    ("no machines", lambda d: d.pop("machines"), "machines", "[[machines]]"),
    ("machines as one table", lambda d: d.update(machines={"id": "x"}), "machines", "[[machines]]"),
    ("a table that is a number", lambda d: d.update(site=3), "site", "dictionary"),
    ("a deadline of nothing", lambda d: d["deadlines"].update(start=0), "deadlines.start", "> 0"),
    ("no nodes", lambda d: d["limits"].update(job_nodes=0), "limits.job_nodes", ">= 1"),
    (
        "a person in two teams",
        lambda d: d.update(teams=[{"id": n, "members": ["mei"]} for n in ("vision", "audio")]),
        "teams[1].members",
        "in 'vision' already",
    ),
    (
        "a team with no chips",
        lambda d: d.update(teams=[{"id": "vision", "members": ["mei"], "chips": 0}]),
        "teams[0].chips",
        ">= 1",
    ),
    (
        "overcommit below one",
        lambda d: d["pools"][0].update(cpu_overcommit=0.5),
        "pools[0].cpu_overcommit",
        ">= 1",
    ),
]


@pytest.mark.parametrize(
    ("change", "key", "words"), [c[1:] for c in CONTRADICTIONS], ids=[c[0] for c in CONTRADICTIONS]
)
def test_what_is_wrong_is_refused_with_its_key_and_a_way_on(change: Change, key: str, words: str) -> None:
    found = {problem.key: str(problem) for problem in problems(change)}
    assert key in found
    assert words in found[key]


def test_all_problems_are_told_at_once() -> None:
    told = problems(*(change for name, change, _, _ in CONTRADICTIONS if name in {
        "a typo in a machine",
        "a negative price",
        "an unknown table",
        "two equal ports",
        "a language we do not speak",
        "too many chips",
        "uids upside down",
    }))  # fmt: skip
    keys = {problem.key for problem in told}
    assert keys == {
        "serverr",
        "site.language",
        "machines[0].cpu",
        "machines[0].prices.on_demand",
        "server.hub_port",
        "machines[3].chip.count",
        "people.uid_to",
    }


def test_a_table_that_could_not_be_read_hides_no_other_problem_and_makes_up_none() -> None:
    told = problems(
        lambda d: d["machines"][0].update(memory="many", pool="bxo"),
        lambda d: d["server"].update(hots="x", hub_port=8000),
        lambda d: d["machines"][1].pop("pool"),
    )
    assert [problem.key for problem in told] == [
        "server.hots",
        "machines[0].memory",
        "machines[1].pool",
        "server.hub_port",
        "machines[0].pool",
    ]


def test_the_message_names_the_file_and_each_problem_on_its_line() -> None:
    raw = copy.deepcopy(DEFAULT)
    raw["machines"][0]["prices"]["on_demand"] = "-1"
    raw["serverr"] = {}
    with pytest.raises(DeploymentError) as caught:
        from_data(raw, "my.toml")
    lines = str(caught.value).splitlines()
    assert lines[0] == "my.toml has 2 problems:"
    assert lines[2] == "  machines[0].prices.on_demand = '-1': an amount cannot be negative."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[site\n", "not TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a = 1\na = 2\n", "not TOML"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_toml_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    path = tmp_path / "gearshift.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DeploymentError) as caught:
        load(path)
    assert said in str(caught.value)
    assert "1 problem:" in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(DEFAULT)), JSON)
def test_whatever_stands_in_a_table_it_is_read_or_refused(table: str, value: Any) -> None:
    told = refused({**DEFAULT, table: value})
    assert all(problem.key.startswith((table, "machines", "images")) for problem in told)


@given(st.integers(0, 3), st.sampled_from(sorted(DEFAULT["machines"][2])), JSON)
def test_whatever_stands_in_a_machine_it_is_read_or_refused(place: int, key: str, value: Any) -> None:
    raw = copy.deepcopy(DEFAULT)
    raw["machines"][place][key] = value
    assert all(problem.key.startswith(f"machines[{place}]") for problem in refused(raw))


def test_files_of_the_package_are_found() -> None:
    assert data.path("gearshift.toml").is_file()
    assert data.path("deployments/single-gpu-box.toml").is_file()
    assert data.path("cards").name == "cards"


@pytest.mark.parametrize("path", [data.path("gearshift.toml"), *EXAMPLES], ids=lambda path: path.name)
def test_every_data_set_that_is_offered_has_a_card(path: Path) -> None:
    cards = {tomllib.loads(card.read_text("utf-8"))["id"] for card in data.path("cards").glob("*.toml")}
    assert set(load(path).datasets.enabled) <= cards
