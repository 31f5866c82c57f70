"""What a workspace's server must know of an app to start it and to reach it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gearshift.model.record import Record, Text

APP_ENV = "GEARSHIFT_APP"
"""The app of a workspace, as JSON; nothing where it has none."""
APP_PORT_ENV = "GEARSHIFT_APP_PORT"
"""The loopback port that was closed to other people for it."""
APP_PATH = "app"
"""Below the address of the workspace."""


class App(Record):
    """An app's process. Its words may hold {port}, {socket}, {base} and {starter}."""

    id: str
    title: Text
    command: tuple[str, ...]
    listens: Literal["socket", "port"]
    """A unix socket in the private runtime folder, or a loopback port that only its owner may reach."""
    sees_base: bool = True
    """It serves below {base}; one that does not is told of `/` alone."""
    ready: str = "/"
    """A path that answers once it is up."""
    starter: str = ""
    """A first file of the person's own, put into ~/apps/ID unless it is there."""
    starter_name: str = "app.py"
    env: dict[str, str] = Field(default_factory=dict)
