"""What the pages say: one catalogue file per language, read once, looked up by key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
FILES: Mapping[Language, str] = {"en": "en.toml", "zh": "zh-CN.toml"}


class Words:
    """The catalogue of one language."""

    def __init__(self, language: Language, texts: Mapping[str, str]) -> None:
        self.language = language
        self.texts = texts

    @property
    def tag(self) -> str:
        """As it stands in `<html lang>`."""
        return self.texts["lang.code"]

    def say(self, key: str, **facts: Any) -> str:
        """The sentence with its placeholders filled."""
        return self.texts[key].format(**facts)

    def has(self, key: str) -> bool:
        return key in self.texts

    def group(self, name: str, *keys: str) -> dict[str, str]:
        """Sentences that a page's script fills by itself."""
        return {key: self.texts[f"{name}.{key}"] for key in keys}


@cache
def words(language: Language) -> Words:
    """The catalogue of this language."""
    path = Path(__file__).with_name("words") / FILES[language]
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return Words(
        language, {f"{group}.{key}": text for group, keys in tables.items() for key, text in keys.items()}
    )


def preferred(accept: str, default: Language) -> Language:
    """The language that an Accept-Language header asks for first, among ours."""
    ranked = sorted((_quality(part) for part in accept.split(",")), key=lambda pair: -pair[0])
    for quality, tag in ranked:
        primary = tag.split("-")[0].lower()
        if quality > 0 and primary in LANGUAGES:
            return "zh" if primary == "zh" else "en"
    return default


def _quality(part: str) -> tuple[float, str]:
    tag, _, rest = part.strip().partition(";")
    number = rest.strip().removeprefix("q=") if rest else "1"
    try:
        return float(number), tag.strip()
    except ValueError:
        return 0.0, tag.strip()
