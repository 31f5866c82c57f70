"""Servers as pods: KubeSpawner's watches and client, our pods from the LaunchPlan, and a start that never stays pending."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import aiohttp
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.launch import LaunchPlan
from gearshift.model.units import to_iso
from kubernetes_asyncio.client import ApiException
from kubespawner import KubeSpawner
from traitlets import Any as AnyTrait

from gearshift_hub.backends.kubernetes import names, pods, troubles
from gearshift_hub.backends.kubernetes.troubles import Stage, Trouble
from gearshift_hub.deployment import Deployment
from gearshift_hub.deployment.kubernetes import resource_of
from gearshift_hub.hub.holds import Frozen
from gearshift_hub.spawners.base import GearshiftSpawner
from gearshift_hub.spawners.environment import pod_env, server_argv
from gearshift_hub.spawners.listening import answers

LOOK_S = 0.05
"""What is looked at is the watch's copy here, not the cluster."""
CALL_S = 30.0
GONE_S = 30.0
LEAST_GRACE_S = 1
"""With none, the cluster forgets a pod before its node has ended it."""
AWAY = (aiohttp.ClientError, TimeoutError, OSError)


class GearshiftKubeSpawner(GearshiftSpawner, KubeSpawner):  # type: ignore[misc]
    """One workspace's pod. What it is called, where it runs and what it may is in the plan and the deployment alone."""

    deployment: Deployment = AnyTrait(help="The deployment, as the hub was started with it.").tag(config=True)
    _machine: str | None = None

    async def launch(self, plan: LaunchPlan) -> str:
        self.pod_name, self.pvc_name = plan.tree, names.home_claim(plan.person.slug)
        self._machine = plan.labels["machine"]
        self.ip, self.port = "0.0.0.0", names.SERVER_PORT  # noqa: S104 - within the pod; a policy lets the proxy in
        self.remember()
        try:
            await self._watch(plan)
            await self._make(
                self.api.create_namespaced_persistent_volume_claim, pods.home_claim(self.deployment, plan)
            )
            # before the pod: its node would wait for an environment that is not there
            await self._make(self.api.create_namespaced_secret, pods.environment(plan, self._env(plan)))
            pod = pods.server_pod(self.deployment, plan, server_argv(plan))
            await self._make(self.api.create_namespaced_pod, pod)
            url = await self._answering(plan)
            await self._bind_environment()
            return url
        except BaseException:
            await asyncio.shield(self.end(0.0))
            raise

    def _env(self, plan: LaunchPlan) -> dict[str, str]:
        env = pod_env(self.get_env(), plan, pods.SETTINGS_FOLDER, pods.RUNTIME_FOLDER)
        machine = self.deployment.machine(plan.labels["machine"])
        if machine and resource_of(machine, self.deployment.kubernetes.place(machine.id)):
            del env["CUDA_VISIBLE_DEVICES"]  # the device plugin says which
        return env

    async def _watch(self, plan: LaunchPlan) -> None:
        try:
            await self._start_watching_pods()
            await self._start_watching_events()
        except (ApiException, *AWAY) as away:
            raise self._unavailable(away) from away
        told = self.events
        self._last_event = told[-1]["metadata"]["uid"] if told else None

    async def _make(self, create: Callable[..., Awaitable[Any]], wanted: Mapping[str, Any]) -> None:
        """Create it; one that is there already is the one we asked for in a call whose answer was lost."""
        ends = time.monotonic() + CALL_S
        while True:
            try:
                await asyncio.wait_for(create(self.namespace, wanted), CALL_S / 3)
            except ApiException as refused:
                if refused.status == 409:
                    return
                if refused.status is not None and 400 <= refused.status < 500 and refused.status != 429:
                    raise self._because(Trouble("cluster_refused", _said(refused))) from refused
                if time.monotonic() > ends:
                    raise self._unavailable(refused) from refused
            except AWAY as away:
                if time.monotonic() > ends:
                    raise self._unavailable(away) from away
            else:
                return
            if self.cancelled.is_set():
                raise fail("cancelled", by="a stop")
            await asyncio.sleep(1)

    async def _bind_environment(self) -> None:
        """It goes with its pod, also where that is deleted past us; one that could not be bound goes when we end the pod."""
        pod = self._seen(self.tree)
        if pod is None:
            return
        change = pods.owned_by(pod["metadata"])
        try:
            await asyncio.wait_for(
                self.api.patch_namespaced_secret(self.tree, self.namespace, change), CALL_S / 3
            )
        except (ApiException, *AWAY) as away:
            self.log.warning("Secret %s: not bound to its pod: %r", self.tree, away)

    async def _answering(self, plan: LaunchPlan) -> str:
        """Wait for the pod and for its port; every other end has a cause."""
        ends = time.monotonic() + plan.deadlines.start
        while True:
            pod = self._seen(self.tree)
            if pod is not None and (code := troubles.ended(pod)) is not None:
                self.exit_code = code
                raise fail("start_failed", machine=self._machine, exit=code)
            if trouble := troubles.hopeless(pod):
                raise self._because(trouble)
            if (
                pod is not None
                and troubles.is_running(pod)
                and await answers(self.port, pod["status"]["podIP"])
            ):
                return str(self._get_pod_url(pod))
            if self.cancelled.is_set():
                raise fail("cancelled", by="a stop")
            if time.monotonic() > ends:
                raise self._late(troubles.too_late(pod, self.events), plan.deadlines.start)
            await asyncio.sleep(LOOK_S)

    def _late(self, trouble: Trouble | None, seconds: float) -> GearshiftError:
        if trouble is None:
            return fail("start_timeout", machine=self._machine, seconds=round(seconds))
        return self._because(trouble, seconds=round(seconds))

    def _because(self, trouble: Trouble, seconds: int | None = None) -> GearshiftError:
        return fail(trouble.code, machine=self._machine, cause=trouble.cause, seconds=seconds)

    def _unavailable(self, why: Exception) -> GearshiftError:
        self.log.error("The cluster does not answer: %r", why)
        return fail("cluster_unavailable")

    async def thaw(self, frozen: Frozen) -> str:
        raise fail("restore_failed", why="nothing is frozen on a cluster")

    async def freeze(self) -> bool:
        return False

    async def end(self, grace_s: float) -> None:
        if self.tree:
            await self.discard(self.tree, grace_s)

    async def discard(self, tree: str, grace_s: float = 0.0) -> None:
        """Returns when the node has ended it; one that nobody can confirm is `stop_failed`."""
        grace = max(LEAST_GRACE_S, round(grace_s))
        ends = time.monotonic() + grace + GONE_S
        asked = False
        while not asked or await self.lives(tree):
            try:
                asked = asked or await self._delete(tree, grace)
            except (ApiException, *AWAY) as away:
                self.log.warning("Pod %s: not deleted yet: %r", tree, away)
            if time.monotonic() > ends:
                since = to_iso(datetime.now(UTC))
                raise fail("stop_failed", workspace=f"{self.user.name}/{self.name}", since=since)
            await asyncio.sleep(LOOK_S)

    async def _delete(self, tree: str, grace: int) -> bool:
        """Asks for the end of the pod and of its environment; gone already is well."""
        for delete in (self.api.delete_namespaced_pod, self.api.delete_namespaced_secret):
            try:
                await asyncio.wait_for(delete(tree, self.namespace, grace_period_seconds=grace), CALL_S / 3)
            except ApiException as refused:
                if refused.status != 404:
                    raise
        return True

    async def lives(self, tree: str) -> bool:
        """One that nobody can ask about may live."""
        try:
            await self._start_watching_pods()
        except (ApiException, *AWAY) as away:
            self.log.warning("The cluster does not answer: %r", away)
            return True
        return self._seen(tree) is not None

    async def look(self) -> int | None:
        """None while it runs; a cluster that does not answer is no sign that anything ended."""
        if not self.tree:
            return 0
        try:
            await self._start_watching_pods()
        except (ApiException, *AWAY) as away:
            self.log.warning("The cluster does not answer: %r", away)
            return None
        pod = self._seen(self.tree)
        code = troubles.ended(pod)
        if code is None:
            return None
        self.exit_code = code if pod is not None else None
        await self.end(0.0)
        return code

    async def get_url(self) -> str:
        await self._start_watching_pods()
        pod = self._seen(self.tree)
        if not troubles.is_running(pod):
            return str(self.server.url)
        return f"{self._get_pod_url(pod)}{self.server.base_url}"

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """In the words of people, each once."""
        told: Stage | None = None
        while self.pending == "spawn":
            now = troubles.stage(self._seen(self.tree), self.events) if self.tree else Stage.ASKED
            if now is not told:
                told, (en, zh) = now, troubles.WORDS[now]
                yield {
                    "progress": 20 * list(Stage).index(now) - 10 if now is not Stage.ASKED else 5,
                    "message": f"{en} · {zh}",
                }
            await asyncio.sleep(LOOK_S)

    def _seen(self, tree: str) -> dict[str, Any] | None:
        reflector = self.pod_reflector
        found: dict[str, Any] | None = reflector.pods.get(f"{self.namespace}/{tree}") if reflector else None
        return found


def _said(refused: ApiException) -> str:
    return str(getattr(refused, "body", None) or refused.reason)
