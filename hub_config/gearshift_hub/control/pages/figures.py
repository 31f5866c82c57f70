"""Figures as people read them: money, sizes, times of day and spans, in the language of the page."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from gearshift.model.errors import GearshiftError
from gearshift.model.record import Text
from gearshift.model.units import HOUR_US, format_bytes, format_money, to_iso

from gearshift_hub.control.pages.words import Words
from gearshift_hub.deployment import Deployment

_YEAR_US = 365 * 24 * HOUR_US


class Voice:
    """Words and figures of one language at one site."""

    def __init__(self, words: Words, deployment: Deployment) -> None:
        self.words = words
        self.say = words.say
        self.symbol = deployment.site.currency_symbol
        self.zone = ZoneInfo(deployment.site.time_zone)

    def text(self, text: Text) -> str:
        return text.pick(self.words.language)

    def error(self, error: GearshiftError) -> str:
        return error.message_zh if self.words.language == "zh" else error.message

    def told(self, body: dict[str, object] | None) -> str | None:
        """The sentence of an error as an operation keeps it."""
        if not body:
            return None
        return str(body["message_zh" if self.words.language == "zh" else "message"])

    def money(self, nano: int) -> str:
        return format_money(nano, self.symbol)

    def per_hour(self, nano: int) -> str:
        return self.say("units.per_h", amount=self.money(nano))

    def size(self, size_bytes: int | None) -> str:
        return self.say("start.unknown") if size_bytes is None else format_bytes(size_bytes)

    def moment(self, at: datetime) -> str:
        """Day and time where the site is."""
        return at.astimezone(self.zone).strftime("%Y-%m-%d %H:%M")

    def clock(self, at: datetime) -> str:
        return at.astimezone(self.zone).strftime("%H:%M:%S")

    def iso(self, at: datetime) -> str:
        return to_iso(at)

    def seconds(self, span_us: int) -> str:
        """A short span: tenths below ten seconds."""
        tenths = round(span_us / 100_000)
        return f"{tenths / 10:.1f}" if tenths < 100 else str(round(tenths / 10))

    def span(self, span_us: int) -> str:
        """`14 s`, `2 min 14 s`, `1 h 42 min`, `7 days 18 h`."""
        if span_us >= _YEAR_US:
            return self.say("units.long")
        seconds = span_us // 1_000_000
        if seconds < 60:
            return self.say("units.s", n=seconds)
        if seconds < 3600:
            return self.say("units.min_s", min=seconds // 60, s=seconds % 60)
        if seconds < 48 * 3600:
            return self.say("units.h_min", h=seconds // 3600, min=seconds % 3600 // 60)
        return self.say("units.days_h", d=seconds // 86400, h=seconds % 86400 // 3600)

    def lasts(self, balance_nano: int, price_per_hour_nano: int) -> str:
        """How long a balance lasts at this price."""
        if price_per_hour_nano <= 0:
            return self.say("start.unknown")
        return self.span(max(0, balance_nano) * HOUR_US // price_per_hour_nano)
