"""What stands in the namespace before any workspace does: the rule for pods, the servers' settings, who may reach whom."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gearshift_hub import data
from gearshift_hub.backends.kubernetes import names
from gearshift_hub.backends.kubernetes.api import Cluster, Object

FIRST_HOME = Path(__file__).with_name("first_home.sh")
TUTORIAL = "01-first-drive.ipynb"
PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10")
"""Where clusters, their API servers and the metadata of clouds live; workspaces reach the world, not these."""


def prepare(cluster: Cluster, namespace: str, reach: str, port: int, settings: dict[str, str]) -> None:
    """Make it so; doing it again changes nothing."""
    cluster.apply(f"/api/v1/namespaces/{namespace}", namespace_object(namespace))
    spaced = f"/api/v1/namespaces/{namespace}"
    cluster.apply(f"{spaced}/configmaps/{names.SETTINGS}", settings_object(settings))
    for policy in policies(reach, port, _address(cluster.address)):
        path = (
            f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/{policy['metadata']['name']}"
        )
        cluster.apply(path, policy)


def namespace_object(namespace: str) -> Object:
    rule = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace, "labels": {**names.OURS, **rule}},
    }


def settings_object(settings: dict[str, str]) -> Object:
    files = {
        **settings,
        "first_home.sh": FIRST_HOME.read_text(),
        "first-drive.ipynb": (data.path("notebooks") / TUTORIAL).read_text(),
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": names.SETTINGS, "labels": names.OURS},
        "data": files,
    }


def policies(reach: str, port: int, api_server: str | None) -> list[Object]:
    """Servers are reached by the proxy alone; they reach the deployment's door, names, and the world outside."""
    door = [{"ipBlock": {"cidr": _only(reach)}}]
    refused = [*PRIVATE, *([_only(api_server)] if api_server and not _private(api_server) else [])]
    return [
        _policy(
            "gearshift-workspaces",
            ingress=[{"from": door, "ports": [_tcp(names.SERVER_PORT)]}],
            egress=[
                {"to": door, "ports": [_tcp(port)]},
                {
                    "to": [
                        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
                    ],
                    "ports": [_tcp(53), {"protocol": "UDP", "port": 53}],
                },
                {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": refused}}]},
            ],
        )
    ]


def _policy(name: str, ingress: Sequence[Object], egress: Sequence[Object]) -> Object:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "labels": names.OURS},
        "spec": {
            "podSelector": {"matchLabels": {"component": names.COMPONENT}},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": list(ingress),
            "egress": list(egress),
        },
    }


def _tcp(port: int) -> dict[str, Any]:
    return {"protocol": "TCP", "port": port}


def _only(address: str) -> str:
    return str(ipaddress.ip_network(address))


def _private(address: str) -> bool:
    return any(ipaddress.ip_address(address) in ipaddress.ip_network(block) for block in PRIVATE)


def _address(url: str) -> str | None:
    """Of an API server that is named by a number; one that has a name is not known here."""
    try:
        return str(ipaddress.ip_address(urlsplit(url).hostname or ""))
    except ValueError:
        return None
