"""Jobs, plans and figures in words: what a cell prints, and what a saved notebook still shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any
from unicodedata import east_asian_width

from gearshift.magics import phrases
from gearshift.magics.phrases import say
from gearshift.model.chinese import in_chinese
from gearshift.model.units import format_bytes, format_money, from_iso

Fact = tuple[str, str]


def sentence(job: Mapping[str, Any]) -> str:
    """The state in one sentence."""
    if job["state"] == "queued" and job.get("queue"):
        return _place(job["queue"])
    if job["state"] == "failed":
        reason = f"reason.{job['reason']}"
        return failure(job) or say(reason if phrases.known(reason) else "state.failed")
    if job["state"] == "cancelled":
        return say("cancelled", by=_by(job.get("ended_by")), at_step=_at_step(job))
    return say(f"state.{job['state']}")


def _place(place: Mapping[str, Any]) -> str:
    """Place and what is missing; then the quota in the way, or after what and when, as far as that is known."""
    said = say("queued", **{name: place[name] for name in ("position", "needs", "free")})
    quota = place.get("quota")
    if quota:
        unit = say(f"queued.{quota['what']}")
        return said + say(f"queued.{quota['whose']}", limit=quota["limit"], unit=unit)
    after = place.get("after_name") or place.get("after")
    said += say("queued.after", after=after) if after else ""
    if place.get("starts_at"):
        left = (from_iso(place["starts_at"]) - datetime.now(UTC)).total_seconds()
        said += say("queued.about", t=duration(max(0.0, left)))
    return said


def failure(job: Mapping[str, Any]) -> str:
    first = job.get("first_failure")
    if not first:
        return ""
    if first.get("signal") is None and first.get("exit_code") is None:
        return say("first.said", rank=first["rank"], node=first["node"], message=first.get("message", ""))
    signal = first.get("signal")
    how = say("first.signal", number=signal) if signal else say("first.exit", number=first["exit_code"])
    message = first.get("message") or ""
    said = phrases.pick(message, in_chinese(message))
    cause = say("first.cause", message=said) if said not in ("", how) else ""
    return say("first.how", rank=first["rank"], node=first["node"], how=how, cause=cause)


def facts(job: Mapping[str, Any], symbol: str) -> list[Fact]:
    """What is known of a job, one line each."""
    spec = job["spec"]
    last = job.get("metrics_last") or {}
    price = format_money(job["price_per_hour_nano"], symbol)
    found = [
        ("state", sentence(job)),
        ("shape", say("shape", **{name: spec[name] for name in ("nodes", "procs", "machine")})),
        ("cost", say("cost", cost=format_money(job["cost_nano"], symbol), price=price)),
    ]
    if (seconds := _seconds(job)) is not None:
        found.append(("ran", duration(seconds)))
    if job.get("use"):
        found.append(("uses", use(job["use"])))
    if last.get("step") is not None:
        figures = ", ".join(f"{name} {value:g}" for name, value in last.items() if _is_figure(name, value))
        found.append(("step", f"{last['step']}" + (f" ({figures})" if figures else "")))
    found += advice(job)
    if job.get("note"):
        found.append(("note", phrases.pick(job["note"], job.get("note_zh"))))
    if job.get("files_until"):
        found.append(("kept", job["files_until"][:10]))
    return [(say(f"fact.{name}"), value) for name, value in found]


def use(now: Mapping[str, Any]) -> str:
    """Memory, and processors once they were measured twice."""
    said = say(
        "use.memory", used=format_bytes(now["memory_bytes"]), has=format_bytes(now["memory_has_bytes"])
    )
    if now.get("cores") is None:
        return said
    return said + say("use.cores", used=f"{now['cores']:g}", has=f"{now['cores_has']:g}")


def advice(job: Mapping[str, Any]) -> list[Fact]:
    """What a failure that is known by its words means, and what helps."""
    known = (job.get("first_failure") or {}).get("diagnosis")
    if not known:
        return []
    return [("cause", phrases.text(known["cause"])), ("helps", phrases.text(known["remedy"]))]


def plain(job: Mapping[str, Any], symbol: str, log: Sequence[str] = ()) -> str:
    lines = [f"{say('job')} {job['id']}  {job['spec']['name']}"]
    lines += [f"  {_padded(name, 6)} {value}" for name, value in facts(job, symbol)]
    return "\n".join(lines + [f"  | {line}" for line in log or last_lines(job)])


def html(job: Mapping[str, Any], symbol: str, log: Sequence[str] = ()) -> str:
    """Without style or script: it must read the same wherever the notebook is opened."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in facts(job, symbol)
    )
    lines = log or last_lines(job)
    shown = f"<pre>{escape(chr(10).join(lines))}</pre>" if lines else ""
    title = f"{escape(job['spec']['name'])} · {say('job')} {escape(job['id'])}"
    return f"<div class='gs-job-fallback'><b>{title}</b><table>{rows}</table>{shown}</div>"


def last_lines(job: Mapping[str, Any]) -> Sequence[str]:
    first = job.get("first_failure") or {}
    return tuple(first.get("lines") or ())


def plan_lines(plan: Mapping[str, Any], symbol: str) -> list[str]:
    """What a plan would do and cost, for those who cannot see the dialog."""
    figures = plan["figures"]
    price = figures.get("price_per_hour_nano")
    what = say(f"plan.{plan['kind']}")
    lines = [f"{what} {figures.get('name') or figures.get('machine') or ''}".rstrip()]
    if price:
        lines.append(say("plan.price", price=format_money(price, symbol)))
    if figures.get("max_cost_nano"):
        lines.append(say("plan.most", most=format_money(figures["max_cost_nano"], symbol)))
    if figures.get("starts") == "queued":
        place = {name: figures[name] for name in ("position", "needs", "free")}
        lines.append(say("plan.place", **place))
    return lines


def duration(seconds: float) -> str:
    """`48 s`, `2 min 14 s`, `1 h 42 min`."""
    whole = int(seconds)
    if whole < 60:
        return say("seconds", s=whole)
    if whole < 3600:
        return say("minutes", min=whole // 60, s=whole % 60)
    return say("hours", h=whole // 3600, min=whole % 3600 // 60)


def table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return "\n".join(
        "  ".join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Columns of a terminal: a Chinese character takes two."""
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in text)


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
    return "" if step is None else say("cancelled.at_step", step=step)


def _by(name: str | None) -> str:
    """A person, or one of our own reasons."""
    return say("by.owner") if name is None else phrases.pick(name, in_chinese(name))


def _is_figure(name: str, value: Any) -> bool:
    hidden = {"step", "steps", "t", "rank", "attempt", "checkpoint"}
    return name not in hidden and isinstance(value, int | float) and not isinstance(value, bool)
