"""What alembic runs: migrations on the connection it was handed, never one of its own."""

from __future__ import annotations

from alembic import context

from gearshift_hub.control.db.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata(),
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
