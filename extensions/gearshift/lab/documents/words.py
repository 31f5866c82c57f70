"""What is written under a cell that did not end by itself; the document belongs to no page, so in both languages."""

from __future__ import annotations

from typing import NamedTuple


class Cut(NamedTuple):
    """The name and the text of an error output."""

    name: str
    why: str


MOVED = Cut(
    "Moved",
    "This cell was interrupted by a move to another machine. Run it again. 切换机器时，此单元格被中断，请重新运行。",
)
STOPPED = Cut(
    "Stopped",
    "The server ended while this cell was running. Run it again. 服务器在此单元格运行时已结束，请重新运行。",
)
DIED = Cut("KernelDied", "The kernel died while this cell was running. 内核在运行此单元格时已终止。")
RESTARTED = Cut(
    "KernelRestarted", "The kernel was restarted while this cell was running. 内核在运行此单元格时被重启。"
)
