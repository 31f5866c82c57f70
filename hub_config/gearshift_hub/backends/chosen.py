"""The backend that a deployment names, ready to be asked."""

from __future__ import annotations

from gearshift_hub.backends.base import Box
from gearshift_hub.backends.this_box import this_box
from gearshift_hub.deployment import Deployment
from gearshift_hub.paths import Home


def chosen(home: Home, deployment: Deployment) -> Box:
    """This box, or the cluster that KUBECONFIG or the pod we run in names."""
    if deployment.backend == "local":
        return this_box(home, deployment)
    from gearshift_hub.backends.kubernetes.api import Cluster  # noqa: PLC0415 - a second of imports
    from gearshift_hub.backends.kubernetes.box import ClusterBox  # noqa: PLC0415

    return ClusterBox(deployment, Cluster())
