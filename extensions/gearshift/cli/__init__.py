"""The `gearshift` command."""

from gearshift.cli.main import main

__all__ = ["main"]
