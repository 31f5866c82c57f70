"""How sizes, amounts and counts are written in the deployment file; each is kept as an integer."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from gearshift.model.units import parse_bytes, parse_money
from pydantic import AfterValidator, BeforeValidator, Field


def _size(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str):
        raise ValueError("a size is written with its unit, such as '2 GiB'")
    return parse_bytes(value)


def _auto_size(value: Any) -> Any:
    return None if value == "auto" else _size(value)


def _money(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("an amount is written in quotes, such as '0.72'")
    nano = parse_money(value)
    if nano < 0:
        raise ValueError("an amount cannot be negative")
    return nano


def _cores(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("cores are a number, such as 2 or 0.5")
    milli = Decimal(str(value)) * 1000
    if milli <= 0 or milli != int(milli):
        raise ValueError("cores are a positive number with at most three decimals")
    return int(milli)


def _auto_cores(value: Any) -> Any:
    return None if value == "auto" else _cores(value)


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError("no time zone has this name; write one such as 'UTC' or 'Asia/Shanghai'") from error
    return value


def _base_url(value: str) -> str:
    if not (value.startswith("/") and value.endswith("/")) or "//" in value:
        raise ValueError("a base URL begins and ends with one /, such as '/' or '/team/'")
    return value


Size = Annotated[int, BeforeValidator(_size), Field(gt=0)]
AutoSize = Annotated[int | None, BeforeValidator(_auto_size)]
Money = Annotated[int, BeforeValidator(_money)]
Cores = Annotated[int, BeforeValidator(_cores)]
AutoCores = Annotated[int | None, BeforeValidator(_auto_cores)]
Zone = Annotated[str, AfterValidator(_zone)]
BaseUrl = Annotated[str, AfterValidator(_base_url)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Port = Annotated[int, Field(ge=0, le=65_535)]
Uid = Annotated[int, Field(ge=1000, le=2_000_000_000)]
Id = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
Language = Literal["en", "zh"]
