"""How things of ours are called in a cluster, and by which labels they are found; every name is made by the one slug."""

from __future__ import annotations

from gearshift.model.slug import slug

COMPONENT = "singleuser-server"
"""KubeSpawner watches pods by this label."""
OURS = {"app.kubernetes.io/managed-by": "gearshift"}
SETTINGS = "gearshift-settings"
SERVER_PORT = 8888
PORT_NAME = "notebook-port"
CONTAINER = "notebook"
UID = 1000


def home_claim(person: str) -> str:
    """The claim of a person's home; `person` is their slug."""
    return slug(f"home-{person}")


def label(text: str) -> str:
    """A text of people's as the value of a label."""
    return slug(text)


def server_labels(owner: str, workspace: str) -> dict[str, str]:
    return {
        **OURS,
        "app.kubernetes.io/component": COMPONENT,
        "component": COMPONENT,
        "gearshift/owner": label(owner),
        "gearshift/workspace": label(workspace),
    }
