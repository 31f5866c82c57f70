"""From a cell to a bundle: which definitions of the notebook the cell needs, and which values go with it.

A *statement* is a top-level statement of an executed cell; a *definition* (def, class, import, `name = lambda`)
travels as source; every other name travels as a value, by rule: at most 1 MiB unless named in `--send`.
"""

from gearshift.train.cells.build import build
from gearshift.train.cells.history import Cell, read_history

__all__ = ["Cell", "build", "read_history"]
