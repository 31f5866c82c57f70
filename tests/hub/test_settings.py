"""The hub's settings: pure, complete, and no secret of ours in a workspace's environment."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from gearshift.model.launch import ImageRef, LaunchPlan, Person, ProcessLimits, WorkspaceRef
from gearshift_hub import scopes
from gearshift_hub.apply import apply
from gearshift_hub.deployment import Deployment, load
from gearshift_hub.hub.holds import Frozen, Hold, Holds
from gearshift_hub.hub.words import WORDS, pick_language, words
from gearshift_hub.paths import Home, Ports
from gearshift_hub.spawners.environment import server_argv, server_env, write_settings
from gearshift_testing.running import DEPLOYMENT, new_home
from traitlets.config import Config

PORTS = Ports("127.0.0.1", 8000, 8001, 8002, 8003, "/team/")


@pytest.fixture
def home() -> Iterator[Home]:
    made = new_home()
    made.create()
    made.make_secrets()
    made.record_ports(PORTS)
    yield made
    for folder in (made.runtime, *sorted(made.root.rglob("*"), reverse=True), made.root):
        folder.rmdir() if folder.is_dir() and not folder.is_symlink() else folder.unlink()


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    return load(DEPLOYMENT)


def plan(**changes: object) -> LaunchPlan:
    values: dict[str, object] = {
        "operation": "op1",
        "workspace": WorkspaceRef(owner="A.C", name="work"),
        "person": Person(name="A.C", slug="a-c-12345678", uid=20001, gid=20001, home="/homes/a-c-12345678"),
        "image": ImageRef(id="pytorch", python="/env/bin/python", digest="sha256:0"),
        "limits": ProcessLimits(memory_bytes=2**31, cpus=1.0, threads=3),
        "runtime_dir": "/run/gearshift-0/1",
        "state_dir": "/kernels/1",
        "tree": "ws-1-1",
    }
    return LaunchPlan.model_validate({**values, **changes})


def test_another_image_changes_what_kernels_see_and_nothing_of_the_server(home: Home) -> None:
    own = server_env({}, plan(), home, "/run/1")
    image = ImageRef(id="cpu", python="3.11", digest="sha256:" + "a" * 64, prefix="/images/cpu")
    other = server_env({}, plan(image=image), home, "/run/1")
    changed = {name for name in own | other if own.get(name) != other.get(name)}
    assert changed == {
        "PATH", "JUPYTER_PATH", "GEARSHIFT_IMAGE_PREFIX", "GEARSHIFT_KERNEL_PARTS", "GEARSHIFT_PACKAGES",
    }  # fmt: skip
    assert other["PATH"].startswith("/images/cpu/bin:/usr/local/sbin")
    assert str(Path(sys.prefix)) not in other["PATH"]


def test_applying_twice_gives_the_same_settings(home: Home, deployment: Deployment) -> None:
    first, second = Config(), Config()
    apply(deployment, home, first)
    apply(deployment, home, second)
    for one in (first, second):
        one.TraefikFileProviderProxy.pop("traefik_api_hashed_password")  # salted
    assert first == second


def test_servers_outlive_the_hub_and_the_hub_listens_on_loopback_only(
    home: Home, deployment: Deployment
) -> None:
    c = Config()
    apply(deployment, home, c)
    assert c.JupyterHub.cleanup_servers is False
    assert c.JupyterHub.hub_ip == "127.0.0.1"
    assert c.JupyterHub.bind_url == "http://127.0.0.1:8000/team/"


def test_the_token_of_a_workspace_can_propose_but_not_spend() -> None:
    assert scopes.PROPOSE in scopes.SERVER
    assert scopes.SPEND not in scopes.SERVER
    assert scopes.ADMIN not in scopes.SERVER


def test_every_scope_that_is_given_out_has_a_sentence() -> None:
    given = {*scopes.EVERYBODY, *scopes.SERVER, *scopes.CONTROL, *scopes.BROWSER}
    custom = {scope for scope in given if scope.startswith("custom:")}
    assert custom <= set(scopes.SCOPES)
    assert all(sentence.endswith(".") for sentence in scopes.SCOPES.values())


def test_no_person_holds_the_scope_that_moves_servers_past_control() -> None:
    assert scopes.HUB not in {*scopes.EVERYBODY, *scopes.BROWSER, *scopes.SERVER}


def test_the_environment_of_a_server_comes_from_its_plan_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_OPERATOR", "x")
    env = server_env({"JUPYTERHUB_API_TOKEN": "t"}, plan(env={"GEARSHIFT_MACHINE": "sim-1"}), home, "/run/rt")
    assert "SECRET_OF_THE_OPERATOR" not in env
    assert env["HOME"] == "/homes/a-c-12345678"
    assert env["OMP_NUM_THREADS"] == "3"
    assert env["GEARSHIFT_MACHINE"] == "sim-1"
    assert env["JUPYTER_RUNTIME_DIR"] == "/run/rt"
    assert not set(env.values()) & set(vars(home.secrets()).values())


def test_the_command_line_of_a_server_names_nobody(home: Home) -> None:
    assert "A.C" not in " ".join(server_argv(plan()))


def test_server_settings_are_readable_by_every_uid(home: Home) -> None:
    write_settings(home, documents_on_server=True)
    file = home.run / "jupyter" / "jupyter_server_config.json"
    assert file.stat().st_mode & 0o777 == 0o644
    settings = json.loads(file.read_text())
    assert settings["KernelManager"]["transport"] == "ipc"
    assert settings["LabApp"]["news_url"] is None
    pages = json.loads((home.run / "jupyter" / "labconfig" / "page_config.json").read_text())
    assert pages["buildCheck"] is False


def test_lab_speaks_the_language_of_the_deployment_until_a_person_chooses(home: Home) -> None:
    plugin, file = "@jupyterlab/translation-extension:plugin", "labconfig/default_setting_overrides.json"
    for language, first in (("zh", {plugin: {"locale": "zh_CN"}}), ("en", {})):
        write_settings(home, False, language)
        assert json.loads((home.run / "jupyter" / file).read_text()) == first


def test_holds_and_tokens_survive_a_restart_of_the_hub(home: Home) -> None:
    path = home.state / "servers.json"
    frozen = Frozen(tree="ws-1-1", pid=12, port=4000, token="secret")
    first = Holds(path)
    first.put_token("A", "work", "secret")
    first.put("A", "work", Hold(operation="op1", frozen=frozen))
    second = Holds(path)
    assert second.get("A", "work") == Hold(operation="op1", frozen=frozen)
    assert second.token("A", "work") == "secret"
    assert path.stat().st_mode & 0o777 == 0o600


def test_holds_of_people_with_odd_names_do_not_meet(home: Home) -> None:
    holds = Holds(home.state / "servers.json")
    holds.put("a/b", "c", Hold(operation="1"))
    assert holds.get("a", "b/c") is None


def test_secrets_are_drawn_once_and_never_shown(home: Home) -> None:
    secrets = home.secrets()
    assert home.make_secrets() == secrets
    assert secrets.control_hub_token not in repr(secrets)
    assert home.secrets_file.stat().st_mode & 0o777 == 0o600


def test_homes_share_nothing() -> None:
    one, other = Home(Path("/a")), Home(Path("/b"))
    assert one.runtime != other.runtime
    assert one.cgroup != other.cgroup
    assert len(str(one.runtime)) <= 40


@pytest.mark.parametrize(
    ("cookie", "accepted", "site", "language"),
    [
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "en", "zh-CN"),
        (None, "de,en;q=0.5", "zh", "en"),
        (None, "", "zh", "zh-CN"),
        ("en", "zh-CN", "zh", "en"),
        ("nonsense", "zh", "en", "zh-CN"),
    ],
)
def test_the_page_speaks_what_was_chosen_else_what_the_browser_asks(
    cookie: str | None, accepted: str, site: str, language: str
) -> None:
    assert pick_language(cookie, accepted, site) == language


def test_every_word_is_there_in_both_languages() -> None:
    assert words("en").keys() == words("zh-CN").keys() == WORDS.keys()
    assert all(all(pair) for pair in WORDS.values())
