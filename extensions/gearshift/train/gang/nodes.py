"""The nodes of a gang on one box: each has a keeper that stands for the machine, and where the box allows it a
network of its own, with a virtual cable to a switch between them.

A node is lost when its keeper ends or when its cable carries nothing for a while.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NoReturn

from gearshift.train.gang import netlink
from gearshift.train.gang.enclosure import CLONE_NEWNET, Enclosure, die_with_parent, libc
from gearshift.train.gang.order import Order

SWITCH, NIC, PREFIX = "gs-switch", "eth0", 16
PR_SET_NAME = 15


@dataclass(frozen=True)
class Node:
    """One node that runs. `namespace` is a descriptor of its network, None where it shares the gang's."""

    number: int
    pid: int
    pidfd: int
    namespace: int | None = None
    cable: int | None = None
    """The index of the link that leads to it."""

    def enter(self) -> None:
        """Put the calling process on this node."""
        if self.namespace is not None and libc.setns(self.namespace, CLONE_NEWNET) != 0:
            os._exit(126)


class Nodes:
    """All nodes of one attempt; nothing of them lives once the gang was swept and `close` was called."""

    def __init__(self, order: Order, attempt: int, enclosure: Enclosure) -> None:
        self._attempt = attempt
        self._cut_since: dict[int, float] = {}
        self.listener: socket.socket | None = None
        self.all: list[Node] = []
        own = order.node_networks and enclosure.private_network and len(order.nodes) > 1
        namespaces = self._lay_cables(len(order.nodes)) if own else [None] * len(order.nodes)
        self.order = _with_networks(order) if self.listener is not None else order
        for number, namespace in enumerate(namespaces):
            pid = _start_keeper(number, namespace)
            cable = None if namespace is None else socket.if_nametoindex(self._cable(number))
            self.all.append(Node(number, pid, os.pidfd_open(pid), namespace, cable))

    def lost(self, ended: set[int]) -> tuple[Node, str] | None:
        """The first node that is gone, and how; `ended` are the pids that were seen to end."""
        for node in self.all:
            if node.pid in ended:
                return node, f"node {node.number} was lost"
            since = self._cut_since.get(node.number)
            if since is not None and time.monotonic() - since >= self.order.cut_seconds:
                return node, f"the network of node {node.number} was cut for {self.order.cut_seconds:g} s"
        return None

    def heard(self) -> None:
        """Take what the kernel told about the cables."""
        if self.listener is None:
            return
        by_cable = {node.cable: node.number for node in self.all}
        for index, carries in netlink.changes(self.listener):
            if index in by_cable and carries:
                self._cut_since.pop(by_cable[index], None)
            elif index in by_cable:
                self._cut_since.setdefault(by_cable[index], time.monotonic())

    def descriptors(self) -> Iterator[int]:
        """Become readable when something happens to a node."""
        yield from (node.pidfd for node in self.all)
        if self.listener is not None:
            yield self.listener.fileno()

    def close(self) -> None:
        for node in self.all:
            os.close(node.pidfd)
            if node.namespace is not None:
                os.close(node.namespace)
        if self.listener is not None:
            self.listener.close()

    def _lay_cables(self, count: int) -> list[int | None]:
        """A namespace a node, joined by a switch in ours; none at all where the box refuses one."""
        namespaces: list[int | None] = []
        try:
            if SWITCH not in {name for _index, name in socket.if_nameindex()}:
                netlink.add_bridge(SWITCH)
            for number in range(count):
                namespace = _new_namespace()
                namespaces.append(namespace)
                netlink.add_cable(self._cable(number), SWITCH, NIC, namespace)
                _inside(namespace, number)
            self.listener = netlink.listen()
        except OSError:
            for opened in namespaces:
                if opened is not None:
                    os.close(opened)
            return [None] * count
        return namespaces

    def _cable(self, number: int) -> str:
        """Another name for each attempt: the kernel takes the old ones away when it has time."""
        return f"gs{self._attempt % 1000}n{number}"


def address(number: int) -> str:
    """Of a node with a network of its own."""
    high, low = divmod(number + 1, 256)
    return f"10.77.{high}.{low}"


def _with_networks(order: Order) -> Order:
    places = tuple(replace(place, address=address(number)) for number, place in enumerate(order.nodes))
    return replace(order, nodes=places, nic=NIC)


def _new_namespace() -> int:
    """Made by going there and coming back: this process has one thread."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.unshare(CLONE_NEWNET) != 0:
            raise OSError("no network namespace")
        made = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        _go(own)
        return made
    finally:
        os.close(own)


def _inside(namespace: int, number: int) -> None:
    own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _go(namespace)
        try:
            netlink.up("lo")
            netlink.add_address(NIC, address(number), PREFIX)
            netlink.up(NIC)
        finally:
            _go(own)
    finally:
        os.close(own)


def _go(namespace: int) -> None:
    if libc.setns(namespace, CLONE_NEWNET) != 0:
        raise OSError("a network namespace cannot be entered")


def _start_keeper(number: int, namespace: int | None) -> int:
    pid = os.fork()
    if pid == 0:
        _keep(number, namespace)
    return pid


def _keep(number: int, namespace: int | None) -> NoReturn:
    """Stand for the machine until somebody ends it."""
    try:
        die_with_parent()
        signal.set_wakeup_fd(-1)
        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(one, signal.SIG_DFL)
        libc.prctl(PR_SET_NAME, f"gs-node-{number}".encode(), 0, 0, 0)
        if namespace is not None:
            _go(namespace)
        os.closerange(3, 4096)
        while True:
            signal.pause()
    finally:
        os._exit(1)
