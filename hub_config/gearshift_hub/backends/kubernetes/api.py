"""The cluster's API as control, doctor and the supervisor call it: who we are there, and plain calls with a deadline.

Credentials are read by kubernetes_asyncio, as KubeSpawner does it: of the pod we run in, else of KUBECONFIG.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from kubernetes_asyncio import config
from kubernetes_asyncio.client import Configuration

PATIENCE_S = 10.0
WHO = "gearshift"
APPLY = "application/apply-patch+yaml"  # which is JSON as well
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

Object = dict[str, Any]


class ClusterError(Exception):
    """The cluster refused a call, or did not answer; the text is for an admin."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        """None where nothing answered."""


class Cluster:
    """One cluster, as one of its users."""

    def __init__(self, transport: httpx.BaseTransport | None = None) -> None:
        self._settings = _read_settings()
        self._http = httpx.Client(
            base_url=self._settings.host,
            verify=_trust(self._settings),
            headers=_sign(self._settings),
            timeout=PATIENCE_S,
            transport=transport,
            trust_env=False,
        )

    @property
    def address(self) -> str:
        return str(self._settings.host)

    def get(self, path: str, **query: str) -> Object:
        return self._call("GET", path, query=query)

    def find(self, path: str) -> Object | None:
        """The object, or None where there is none."""
        try:
            return self.get(path)
        except ClusterError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return None
            raise

    def apply(self, path: str, wanted: Object) -> Object:
        """Make it what is wanted, whether it is there or not."""
        query = {"fieldManager": WHO, "force": "true"}
        return self._call("PATCH", path, wanted, query, {"Content-Type": APPLY})

    def patch(self, path: str, change: Object) -> Object:
        return self._call("PATCH", path, change, headers={"Content-Type": MERGE})

    def patch_pod(self, path: str, change: Object) -> Object:
        """A patch that finds containers by their names."""
        return self._call("PATCH", path, change, headers={"Content-Type": STRATEGIC})

    def delete(self, path: str) -> None:
        """Gone already is success."""
        try:
            self._call("DELETE", path)
        except ClusterError as error:
            if error.status != httpx.codes.NOT_FOUND:
                raise

    def close(self) -> None:
        self._http.close()

    def _call(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Object:
        try:
            answer = self._http.request(method, path, json=body, params=query, headers=headers)
            if (
                answer.status_code == httpx.codes.UNAUTHORIZED
            ):  # a token has an end; who gave it has a newer one
                self._http.headers.update(_sign(_read_settings()))
                answer = self._http.request(method, path, json=body, params=query, headers=headers)
        except httpx.TransportError as error:
            raise ClusterError(f"{self.address} does not answer: {error}") from error
        if not answer.is_success:
            raise ClusterError(_why(answer), answer.status_code)
        found: Object = answer.json()
        return found


def _read_settings() -> Configuration:
    """Where the API is and how we sign in; reading it may run a program that the kubeconfig names."""
    settings = Configuration()
    try:
        config.load_incluster_config(client_configuration=settings)
    except config.ConfigException:
        with ThreadPoolExecutor(1) as aside:
            reading = aside.submit(asyncio.run, config.load_kube_config(client_configuration=settings))
        try:
            reading.result()
        except (config.ConfigException, OSError, TypeError) as error:
            raise ClusterError(
                f"no cluster is named: set KUBECONFIG to a file that does ({error})"
            ) from error
    return settings


def _trust(settings: Configuration) -> ssl.SSLContext | bool:
    if not settings.verify_ssl:
        return False
    context = ssl.create_default_context(cafile=settings.ssl_ca_cert)
    if settings.cert_file:
        context.load_cert_chain(settings.cert_file, settings.key_file)
    return context


def _sign(settings: Configuration) -> dict[str, str]:
    told = settings.api_key.get("BearerToken")
    if not told:
        return {}
    return {"Authorization": told if told.lower().startswith("bearer ") else f"Bearer {told}"}


def _why(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"the cluster answered {answer.status_code}"
