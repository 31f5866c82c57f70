"""The deployment file: which machines, images, prices and limits exist; read once, refused whole, frozen."""

from gearshift_hub.deployment.model import (
    Datasets,
    Deadlines,
    DeclaredPool,
    Deployment,
    Disks,
    Idle,
    Limits,
    People,
    Queue,
    Server,
    Site,
)
from gearshift_hub.deployment.reading import DeploymentError, from_data, load

__all__ = [
    "Datasets",
    "Deadlines",
    "DeclaredPool",
    "Deployment",
    "DeploymentError",
    "Disks",
    "Idle",
    "Limits",
    "People",
    "Queue",
    "Server",
    "Site",
    "from_data",
    "load",
]
