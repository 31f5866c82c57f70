"""Reduces data loaders that know their position (torchdata's) in mid-epoch; imported only where the kernel has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gearshift.state.pickler import Note, Rule

MODULE = "torchdata.stateful_dataloader"


def rules(kinds: Mapping[str, type], note: Note) -> dict[type, Rule]:
    """`kinds` is the module's content."""

    def reduce_loader(loader: Any) -> Any:
        """One that was never iterated has no position, and asking for it would draw random numbers."""
        if loader._iterator is None:
            return NotImplemented
        note("loader_resumes")
        plain = {**vars(loader), "_iterator": None}
        return blank, (type(loader),), (plain, loader.state_dict()), None, None, resume

    return {kinds["StatefulDataLoader"]: reduce_loader}


def blank(kind: type) -> Any:
    """A loader before its attributes are there."""
    return object.__new__(kind)


def resume(made: Any, state: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """The next `iter` of it goes on where it was."""
    attributes, position = state
    vars(made).update(attributes)
    made.load_state_dict(position)
