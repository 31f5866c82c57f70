"""The names and bases of types as they are, whatever a metaclass answers when it is asked."""

from __future__ import annotations

from typing import Any

_MODULE, _NAME, _BASES = (type.__dict__[name].__get__ for name in ("__module__", "__qualname__", "__mro__"))


def module_of(kind: type) -> str:
    """Empty where it has none."""
    try:
        return str(_MODULE(kind))
    except AttributeError:
        return ""


def name_of(kind: type) -> str:
    """`Outer.Inner`."""
    return str(_NAME(kind))


def path_of(kind: type) -> str:
    """`pandas.DataFrame`, wherever it is defined."""
    return f"{module_of(kind)}.{name_of(kind)}"


def bases_of(kind: type) -> tuple[type, ...]:
    """Itself first."""
    found: tuple[type, ...] = _BASES(kind)
    return found


def type_name(value: Any) -> str:
    """`DataFrame`, `sqlite3.Connection`, `Net`: as a person would say it."""
    kind = type(value)
    module = module_of(kind).partition(".")[0]
    return name_of(kind) if module in {"builtins", "__main__"} else f"{module}.{name_of(kind)}"
