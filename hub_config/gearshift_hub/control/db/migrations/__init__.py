"""Numbered changes of the schema; alembic runs them in order."""
