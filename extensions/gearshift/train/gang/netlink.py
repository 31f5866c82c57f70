"""Just enough of the kernel's rtnetlink to lay cables: a bridge, virtual cables into other namespaces, and whether
they carry."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator

RTM_NEWLINK, RTM_NEWADDR, NLMSG_ERROR = 16, 20, 2
REQUEST, ACK, CREATE = 1, 4, 0x600
IFLA_IFNAME, IFLA_MASTER, IFLA_LINKINFO, IFLA_NET_NS_FD = 3, 10, 18, 28
INFO_KIND, INFO_DATA, VETH_PEER = 1, 2, 1
IFA_ADDRESS, IFA_LOCAL = 1, 2
IFF_UP, IFF_RUNNING, RTMGRP_LINK = 1, 0x40, 1
_HEADER, _LINK = struct.Struct("=IHHII"), struct.Struct("=BxHiII")


def add_bridge(name: str) -> None:
    _change(RTM_NEWLINK, _LINK.pack(0, 0, 0, 0, 0) + _named(name) + _kind("bridge"), CREATE)
    up(name)


def add_cable(name: str, bridge: str, far_name: str, far_namespace: int) -> None:
    """A cable whose one end `name` is in the bridge here and whose other end is in that namespace."""
    far = _LINK.pack(0, 0, 0, 0, 0) + _named(far_name) + _attribute(IFLA_NET_NS_FD, _int(far_namespace))
    data = _attribute(INFO_DATA, _attribute(VETH_PEER, far))
    master = _attribute(IFLA_MASTER, _int(socket.if_nametoindex(bridge)))
    link = _LINK.pack(0, 0, 0, 0, 0) + _named(name) + master
    _change(RTM_NEWLINK, link + _attribute(IFLA_LINKINFO, _plain_kind("veth") + data), CREATE)
    up(name)


def up(name: str) -> None:
    _set_flags(name, IFF_UP)


def down(name: str) -> None:
    """Pull the cable: the other end loses its carrier."""
    _set_flags(name, 0)


def add_address(name: str, address: str, prefix: int) -> None:
    packed = socket.inet_aton(address)
    body = struct.pack("=BBBBi", socket.AF_INET, prefix, 0, 0, socket.if_nametoindex(name))
    _change(RTM_NEWADDR, body + _attribute(IFA_LOCAL, packed) + _attribute(IFA_ADDRESS, packed), CREATE)


def listen() -> socket.socket:
    """Becomes readable when a link of this namespace changes."""
    listener = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
    listener.bind((0, RTMGRP_LINK))
    listener.setblocking(False)
    return listener


def changes(listener: socket.socket) -> Iterator[tuple[int, bool]]:
    """What was heard: index of a link, and whether it carries."""
    while True:
        try:
            data = listener.recv(1 << 16)
        except BlockingIOError:
            return
        while len(data) >= _HEADER.size:
            length, kind, *_rest = _HEADER.unpack_from(data)
            if kind == RTM_NEWLINK:
                _family, _type, index, flags, _change_mask = _LINK.unpack_from(data, _HEADER.size)
                yield index, bool(flags & IFF_RUNNING)
            data = data[_aligned(max(length, _HEADER.size)) :]


def _set_flags(name: str, flags: int) -> None:
    _change(RTM_NEWLINK, _LINK.pack(0, 0, socket.if_nametoindex(name), flags, IFF_UP))


def _change(kind: int, body: bytes, flags: int = 0) -> None:
    """Ask the kernel and wait for its answer; raises OSError when it refuses."""
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
    ) as asked:
        asked.sendto(_HEADER.pack(_HEADER.size + len(body), kind, REQUEST | ACK | flags, 1, 0) + body, (0, 0))
        answer = asked.recv(1 << 16)
        _length, answered, *_rest = _HEADER.unpack_from(answer)
        code = struct.unpack_from("=i", answer, _HEADER.size)[0] if answered == NLMSG_ERROR else 0
        if code:
            raise OSError(-code, os.strerror(-code), "network of a node")


def _named(name: str) -> bytes:
    return _attribute(IFLA_IFNAME, name.encode() + b"\0")


def _kind(name: str) -> bytes:
    return _attribute(IFLA_LINKINFO, _plain_kind(name))


def _plain_kind(name: str) -> bytes:
    return _attribute(INFO_KIND, name.encode())


def _attribute(kind: int, data: bytes) -> bytes:
    length = 4 + len(data)
    return struct.pack("=HH", length, kind) + data + b"\0" * (_aligned(length) - length)


def _int(value: int) -> bytes:
    return struct.pack("=I", value)


def _aligned(length: int) -> int:
    return (length + 3) & ~3
