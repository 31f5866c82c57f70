"""Jobs, plans and figures in words: what a cell prints, and what a saved notebook still shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

from gearshift.model.units import format_money, from_iso

STATE = {
    "queued": "Queued",
    "starting": "Starting",
    "running": "Running",
    "cancelling": "Cancelling",
    "succeeded": "Finished",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
REASON = {
    "user_error": "A fault in the code, so it was not retried.",
    "oom": "Out of memory.",
    "deadline": "Its deadline passed.",
    "budget": "Its cap on cost or the balance was used up.",
    "lost": "Its supervisor was lost.",
    "node_lost": "A node was lost.",
    "no_answer": "A rank or the network did not answer.",
    "interrupted": "Its machine was taken away.",
    "did_not_join": "Not all ranks started in time.",
    "start_failed": "It did not start. Not charged.",
}
Fact = tuple[str, str]


def sentence(job: Mapping[str, Any]) -> str:
    """The state in one sentence."""
    if job["state"] == "queued" and job.get("queue"):
        place = job["queue"]
        after = f", after {place['after']}" if place.get("after") else ""
        return f"Queued at position {place['position']}: needs {place['needs']}, {place['free']} free{after}"
    if job["state"] == "failed":
        return failure(job) or REASON.get(str(job["reason"]), "Failed.")
    if job["state"] == "cancelled":
        return f"Cancelled by {job.get('ended_by') or 'its owner'}{_at_step(job)}."
    return STATE[job["state"]]


def failure(job: Mapping[str, Any]) -> str:
    first = job.get("first_failure")
    if not first:
        return ""
    if first.get("signal") is None and first.get("exit_code") is None:
        return f"Rank {first['rank']} on node {first['node']}: {first.get('message', '')}"
    how = f"signal {first['signal']}" if first.get("signal") else f"exit code {first['exit_code']}"
    cause = f": {first['message']}" if first.get("message") not in ("", None, how) else ""
    return f"Rank {first['rank']} on node {first['node']} failed first, {how}{cause}"


def facts(job: Mapping[str, Any], symbol: str) -> list[Fact]:
    """What is known of a job, one line each."""
    spec = job["spec"]
    last = job.get("metrics_last") or {}
    found = [
        ("state", sentence(job)),
        ("shape", f"{spec['nodes']} × {spec['procs']} on {spec['machine']}"),
        (
            "cost",
            f"{format_money(job['cost_nano'], symbol)} at {format_money(job['price_per_hour_nano'], symbol)}/h",
        ),
    ]
    if (seconds := _seconds(job)) is not None:
        found.append(("ran", duration(seconds)))
    if last.get("step") is not None:
        figures = ", ".join(f"{name} {value:g}" for name, value in last.items() if _is_figure(name, value))
        found.append(("step", f"{last['step']}" + (f" ({figures})" if figures else "")))
    found += advice(job)
    if job.get("note"):
        found.append(("note", job["note"]))
    return found


def advice(job: Mapping[str, Any]) -> list[Fact]:
    """What a failure that is known by its words means, and what helps."""
    known = (job.get("first_failure") or {}).get("diagnosis")
    return [("cause", known["cause"]["en"]), ("helps", known["remedy"]["en"])] if known else []


def plain(job: Mapping[str, Any], symbol: str, log: Sequence[str] = ()) -> str:
    lines = [f"job {job['id']}  {job['spec']['name']}"]
    lines += [f"  {name:<6} {value}" for name, value in facts(job, symbol)]
    return "\n".join(lines + [f"  | {line}" for line in log or last_lines(job)])


def html(job: Mapping[str, Any], symbol: str, log: Sequence[str] = ()) -> str:
    """Without style or script: it must read the same wherever the notebook is opened."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in facts(job, symbol)
    )
    lines = log or last_lines(job)
    shown = f"<pre>{escape(chr(10).join(lines))}</pre>" if lines else ""
    title = f"{escape(job['spec']['name'])} · job {escape(job['id'])}"
    return f"<div class='gs-job-fallback'><b>{title}</b><table>{rows}</table>{shown}</div>"


def last_lines(job: Mapping[str, Any]) -> Sequence[str]:
    first = job.get("first_failure") or {}
    return tuple(first.get("lines") or ())


def plan_lines(plan: Mapping[str, Any], symbol: str) -> list[str]:
    """What a plan would do and cost, for those who cannot see the dialog."""
    figures = plan["figures"]
    price = figures.get("price_per_hour_nano")
    lines = [
        f"{plan['kind'].replace('_', ' ')} {figures.get('name') or figures.get('machine') or ''}".rstrip()
    ]
    if price:
        lines.append(f"  price  {format_money(price, symbol)}/h")
    if figures.get("max_cost_nano"):
        lines.append(f"  most   {format_money(figures['max_cost_nano'], symbol)}")
    if figures.get("starts") == "queued":
        lines.append(
            f"  place  {figures['position']} in line: needs {figures['needs']}, {figures['free']} free"
        )
    return lines


def duration(seconds: float) -> str:
    """`48 s`, `2 min 14 s`, `1 h 42 min`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _seconds(job: Mapping[str, Any]) -> float | None:
    begin = job.get("running_at") or job.get("started_at")
    end = job.get("ended_at")
    if not begin or not end:
        return None
    span: float = (_instant(end) - _instant(begin)).total_seconds()
    return max(0.0, span)


def _instant(text: str) -> datetime:
    return from_iso(text)


def _at_step(job: Mapping[str, Any]) -> str:
    step = (job.get("metrics_last") or {}).get("step")
    return "" if step is None else f" at step {step}"


def _is_figure(name: str, value: Any) -> bool:
    hidden = {"step", "steps", "t", "rank", "attempt", "checkpoint"}
    return name not in hidden and isinstance(value, int | float) and not isinstance(value, bool)
