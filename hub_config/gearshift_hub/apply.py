"""The hub's settings as a pure function of the deployment, its folder and the ports of this run."""

from __future__ import annotations

import os
from importlib import resources
from typing import Any

from gearshift_hub import scopes
from gearshift_hub.deployment import Deployment
from gearshift_hub.hub.authenticator import GearshiftAuthenticator
from gearshift_hub.hub.pages import service_url
from gearshift_hub.hub.proxy import apply_proxy
from gearshift_hub.hub.words import WORDS
from gearshift_hub.paths import Home, Ports, Secrets
from gearshift_hub.spawners.base import GearshiftSpawner
from gearshift_hub.spawners.local import GearshiftLocalSpawner

LAST_RESORT_S = 60
"""The hub's own time limits sit behind ours: the plan's deadline ends a start, not JupyterHub."""


def apply(deployment: Deployment, home: Home, c: Any) -> None:
    """Set everything JupyterHub needs; called once, from jupyterhub_config.py."""
    ports, secrets = home.ports(), home.secrets()
    _addresses(c, ports)
    _state(c, home, secrets)
    _people(c, home)
    _workspaces(c, deployment, home)
    _service(c, ports, secrets)
    _pages(c, deployment)
    apply_proxy(c, home, ports, secrets)


def _addresses(c: Any, ports: Ports) -> None:
    hub = c.JupyterHub
    hub.bind_url = f"http://{ports.host}:{ports.port}{ports.base_url}"
    hub.hub_ip = "127.0.0.1"
    hub.hub_port = ports.hub_port


def _state(c: Any, home: Home, secrets: Secrets) -> None:
    hub = c.JupyterHub
    hub.db_url = f"sqlite:///{home.state / 'hub.sqlite'}"
    hub.upgrade_db = True
    hub.cookie_secret = bytes.fromhex(secrets.hub_cookie_secret)
    hub.cleanup_servers = False
    hub.log_level = "INFO"


def _people(c: Any, home: Home) -> None:
    c.JupyterHub.authenticator_class = GearshiftAuthenticator
    c.GearshiftAuthenticator.home_root = str(home.root)
    c.Authenticator.allow_all = True
    c.Authenticator.manage_groups = True
    c.Authenticator.auth_refresh_age = 10
    c.Authenticator.auth_refresh_strict = True
    c.JupyterHub.custom_scopes = scopes.custom_scopes()
    c.JupyterHub.load_roles = scopes.roles()
    c.JupyterHub.extra_user_scopes = set(scopes.EVERYBODY)


def _workspaces(c: Any, deployment: Deployment, home: Home) -> None:
    hub, spawner = c.JupyterHub, c.Spawner
    hub.allow_named_servers = True
    hub.spawner_class = _spawner(c, deployment, home)
    hub.active_server_limit = 0
    hub.concurrent_spawn_limit = 0
    hub.init_spawners_timeout = 1  # a server that hangs must not keep the hub from answering others
    c.GearshiftSpawner.home_root = str(home.root)
    spawner.server_token_scopes = list(scopes.SERVER)
    spawner.start_timeout = round(deployment.deadlines.start) + LAST_RESORT_S
    spawner.http_timeout = LAST_RESORT_S // 4
    spawner.poll_interval = 2
    spawner.env_keep = []
    spawner.default_url = "/lab"


def _spawner(c: Any, deployment: Deployment, home: Home) -> type[GearshiftSpawner]:
    if deployment.backend == "local":
        return GearshiftLocalSpawner
    from gearshift_hub.spawners.kubernetes import GearshiftKubeSpawner  # noqa: PLC0415 - a second of imports

    ports, reach = home.ports(), str(deployment.kubernetes.reach)
    c.GearshiftKubeSpawner.deployment = deployment
    c.KubeSpawner.namespace = deployment.kubernetes.namespace
    c.Spawner.hub_connect_url = f"http://{reach}:{ports.port}"
    return GearshiftKubeSpawner


def _service(c: Any, ports: Ports, secrets: Secrets) -> None:
    c.JupyterHub.services = [
        {
            "name": scopes.SERVICE,
            "url": f"http://127.0.0.1:{ports.control_port}",
            "api_token": secrets.control_hub_token,
            "oauth_client_id": scopes.OAUTH_CLIENT,
            "oauth_redirect_uri": f"{ports.base_url}services/{scopes.SERVICE}/oauth_callback",
            "oauth_no_confirm": True,
            "oauth_client_allowed_scopes": list(scopes.BROWSER),
            "display": False,
        }
    ]


def _pages(c: Any, deployment: Deployment) -> None:
    hub = c.JupyterHub
    hub.template_paths = [os.fspath(str(resources.files("gearshift_hub.hub").joinpath("templates")))]
    hub.default_url = service_url
    hub.redirect_to_server = False
    hub.template_vars = {"site_name": deployment.site.name, "words": dict(WORDS)}
    hub.tornado_settings = {"gearshift_language": deployment.site.language, "slow_spawn_timeout": 10}
