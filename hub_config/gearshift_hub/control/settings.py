"""What control reads from its environment and home, once, when it starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gearshift_hub import data
from gearshift_hub.deployment import Deployment, load
from gearshift_hub.paths import Home, Ports, Secrets


@dataclass(frozen=True)
class Settings:
    """All that differs between two controls."""

    deployment: Deployment
    home: Home
    ports: Ports
    secrets: Secrets
    database_url: str


def read(environment: Mapping[str, str] | None = None) -> Settings:
    """GEARSHIFT_HOME and GEARSHIFT_DEPLOYMENT, and what the supervisor wrote into the home."""
    given = os.environ if environment is None else environment
    home = Home(Path(given["GEARSHIFT_HOME"])) if given.get("GEARSHIFT_HOME") else Home.default()
    deployment = load(Path(given.get("GEARSHIFT_DEPLOYMENT") or data.path("gearshift.toml")))
    url = given.get("GEARSHIFT_DATABASE_URL") or deployment.server.database_url or home.database_url
    return Settings(
        deployment=deployment, home=home, ports=home.ports(), secrets=home.secrets(), database_url=url
    )
