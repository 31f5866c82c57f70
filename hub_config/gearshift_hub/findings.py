"""One thing that `gearshift doctor` found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """`ok`: as it should be. `less`: works with less. `no`: Gearshift, or some start, would fail so."""

    state: Literal["ok", "less", "no"]
    about: str
    text: str
