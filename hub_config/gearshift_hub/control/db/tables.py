"""Every table of control, whoever owns it: importing the modules of this package fills the metadata."""

from __future__ import annotations

import importlib
import pkgutil

from sqlalchemy import MetaData

from gearshift_hub.control import db
from gearshift_hub.control.db.base import Base

NOT_TABLES = frozenset({"base", "tables", "migrate", "make_migration", "migrations"})


def metadata() -> MetaData:
    """All tables."""
    for module in pkgutil.iter_modules(db.__path__):
        if module.name not in NOT_TABLES:
            importlib.import_module(f"{db.__name__}.{module.name}")
    return Base.metadata
