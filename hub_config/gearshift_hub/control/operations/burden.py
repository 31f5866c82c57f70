"""What a switch has to carry, as the workspace's own server tells it: bytes, cells to run again, memory in use.

The server belongs to its person and may say anything: what is no number counts as 0, what is no name is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.machine import Machine
from gearshift.model.units import format_bytes

from gearshift_hub.control.services.timings import Burden, number

SUGGESTED = "suggested"
"""Run again whatever its cells make, and only those cells that do nothing else as far as can be seen."""

STOPPED_MIDWAY = frozenset({"generator", "coroutine", "frame"})
"""Reasons of what a cell can make anew, but never where it stood."""

Names = dict[str, list[str]] | Sequence[str]
"""Names by kernel, or names for every kernel."""


def names(body: Mapping[str, Any], field: str) -> Names:
    """As asked for; `bad_request` for anything else."""
    asked = body.get(field, [])
    lists = list(asked.values()) if isinstance(asked, dict) else [asked]
    if not all(isinstance(one, list) and all(isinstance(name, str) for name in one) for one in lists):
        allowed = ["a list of names", "a list of names for each kernel's id"]
        raise fail("bad_request", field=field, allowed=allowed, problem="not names")
    found: Names = asked
    return found


def rerun(body: Mapping[str, Any], kernels: Sequence[Mapping[str, Any]], left: Names) -> dict[str, list[str]]:
    """By kernel, the names whose cells run again; none unless asked for: cells may do more than bind a name."""
    is_suggestion = body.get("rerun") == SUGGESTED
    asked = {} if is_suggestion else names(body, "rerun")
    chosen: dict[str, list[str]] = {}
    for kernel in kernels:
        wanted = of_kernel(asked, kernel)
        out = of_kernel(left, kernel)
        for one in variables(kernel):
            is_wanted = one["suggested"] if is_suggestion else one.get("name") in wanted
            if is_wanted and one.get("cells") and not _moves(one) and one.get("name") not in out:
                chosen.setdefault(str(kernel["kernel_id"]), []).append(str(one["name"]))
    return chosen


def judge(kernels: Sequence[Mapping[str, Any]]) -> None:
    """Say of each variable whether it is `lost` for good, which needs a person's consent, and whether it is `suggested`
    to run its cells again."""
    for kernel in kernels:
        for one in variables(kernel):
            midway = str(one.get("code")) in STOPPED_MIDWAY
            made = bool(one.get("cells")) and not midway
            one["lost"] = one.get("verdict") == "cannot_move" and not made
            one["suggested"] = not _moves(one) and made and not one.get("caution")


def of_kernel(chosen: Names, kernel: Mapping[str, Any]) -> Sequence[str]:
    return chosen.get(str(kernel["kernel_id"]), []) if isinstance(chosen, dict) else chosen


def carried(said: Mapping[str, Any], left: Names, again: Mapping[str, list[str]]) -> Burden:
    """Kernels are saved and brought back side by side, but share one disk: bytes add up, seconds do not."""
    kernels: list[Mapping[str, Any]] = list(said.get("kernels", ()))
    looking = max((number(kernel.get("seconds")) for kernel in kernels), default=0.0)
    running = max((_rerun_s(kernel, again) for kernel in kernels), default=0.0)
    disk = said.get("disk")
    rates = disk if isinstance(disk, dict) else {}
    return Burden(
        bytes=sum(int(number(one.get("bytes"))) for kernel in kernels for one in _moving(kernel, left)),
        known={"save": looking, "restore": looking + running},
        per_byte={stage: 1 / rate for stage in ("save", "restore") if (rate := number(rates.get(stage))) > 0},
    )


def fits(said: Mapping[str, Any], machine: Machine, left: Names = ()) -> dict[str, Any]:
    """What the kernels use now, but for what is left behind, against what the machine has; unknown is null. Without a
    chip there, what lies on chips here comes to lie in memory."""
    told = said.get("memory")
    memory: Mapping[str, Any] = told if isinstance(told, dict) else {}
    stays = [one for kernel in said.get("kernels", ()) for one in _left_behind(kernel, left)]
    on_chips = _without(memory.get("device_bytes"), [one for one in stays if one.get("device")])
    used = memory.get("ram_bytes")
    if used is not None:
        used = _without(used, [one for one in stays if not one.get("device")])
    chip = machine.chip
    if chip is None and used is not None:
        used += on_chips
    has = chip.count * chip.memory_bytes * chip.share_milli // 1000 if chip else None
    return {
        "memory": {"used_bytes": used, "has_bytes": machine.memory_bytes},
        "chips": {"used_bytes": on_chips, "has_bytes": has} if has is not None else None,
        "ok": number(used) <= machine.memory_bytes and (has is None or on_chips <= has),
    }


def check_fits(machine: Machine, fit: Mapping[str, Any]) -> None:
    """Raises `too_small` with the figure: a machine that is too small would end the kernels that it is given."""
    if fit["ok"]:
        return
    memory, chips = fit["memory"], fit["chips"]
    is_memory = number(memory["used_bytes"]) > memory["has_bytes"]
    lacks = memory if is_memory else chips
    raise fail(
        "too_small",
        field="machine",
        value=machine.id,
        machine=machine.title.en,
        machine_zh=machine.title.zh,
        what="memory" if is_memory else "GPU memory",
        what_zh="内存" if is_memory else "显存",
        need=format_bytes(lacks["used_bytes"]),
        need_bytes=lacks["used_bytes"],
        have=format_bytes(lacks["has_bytes"]),
        have_bytes=lacks["has_bytes"],
    )


def variables(kernel: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    told = kernel.get("variables")
    return (one for one in told if isinstance(one, dict)) if isinstance(told, list) else iter(())


def _moves(one: Mapping[str, Any]) -> bool:
    return one.get("verdict") not in ("rerun", "cannot_move")


def _moving(kernel: Mapping[str, Any], left: Names) -> Iterator[dict[str, Any]]:
    out = of_kernel(left, kernel)
    return (one for one in variables(kernel) if one.get("verdict") == "copy" and one.get("name") not in out)


def _left_behind(kernel: Mapping[str, Any], left: Names) -> Iterator[dict[str, Any]]:
    out = of_kernel(left, kernel)
    return (one for one in variables(kernel) if one.get("name") in out)


def _without(used: object, stays: Sequence[Mapping[str, Any]]) -> int:
    return max(0, int(number(used)) - sum(int(number(one.get("bytes"))) for one in stays))


def _rerun_s(kernel: Mapping[str, Any], again: Mapping[str, list[str]]) -> float:
    """Variables that the same cells make are made together."""
    chosen = again.get(str(kernel["kernel_id"]), [])
    took = {
        str(one.get("cells")): number(one.get("seconds"))
        for one in variables(kernel)
        if one.get("name") in chosen
    }
    return sum(took.values())
