"""The cards of data sets and models: read from their TOML files, searched, and the schema they are written to.

`python -m gearshift_hub.control.services.dataset_cards` prints the schema that lies in `datasets/schema.json`.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from gearshift.model.dataset import Card
from gearshift.model.problems import problems
from pydantic import ValidationError


class CardError(ValueError):
    """A card that cannot be used: file, key, value and what is allowed, in one sentence."""


def load(folder: Path) -> dict[str, Card]:
    """Every card below this folder, by id; the first faulty one is refused by name."""
    return {card.id: card for card in map(_read, sorted(folder.glob("*.toml")))}


def _read(path: Path) -> Card:
    try:
        card = Card.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CardError(f"{path.name}: {error}") from error
    except ValidationError as error:
        raise CardError(f"{path.name}: {problems(error, Card)[0]}") from error
    if card.id != path.stem:
        raise CardError(f"{path.name}: id = {card.id!r} must equal the file's name {path.stem!r}")
    if sum(file.bytes for file in card.files) != card.size_bytes:
        raise CardError(f"{path.name}: size_bytes = {card.size_bytes} is not the sum of its files")
    return card


def search(cards: Iterable[Card], query: str) -> list[Card]:
    """Cards that hold every word of the query, those named so first."""
    words = query.casefold().split()
    found = [card for card in cards if all(word in _text(card) for word in words)]
    return sorted(found, key=lambda card: (not _named(card, words), card.id))


def _named(card: Card, words: list[str]) -> bool:
    name = f"{card.id} {card.title.en} {card.title.zh}".casefold()
    return bool(words) and all(word in name for word in words)


def _text(card: Card) -> str:
    parts = (card.id, card.title.en, card.title.zh, card.description.en, card.description.zh, card.licence)
    return " ".join((*parts, card.kind, card.source.package, *card.tags)).casefold()


def enabled(cards: Mapping[str, Card], ids: Iterable[str]) -> dict[str, Card]:
    """The cards that this deployment offers, in its order; an id without a card is refused."""
    wanted = list(ids)
    missing = [name for name in wanted if name not in cards]
    if missing:
        raise CardError(f"datasets.enabled: {missing[0]!r} has no card. Allowed: {', '.join(sorted(cards))}.")
    return {name: cards[name] for name in wanted}


def schema() -> str:
    """The JSON schema of a card, as it lies beside the cards."""
    return json.dumps(Card.model_json_schema(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema())
