"""The server extension of a workspace: allow-listed door to control, kernel state, metrics."""

from gearshift.lab.extension import extension_points as _jupyter_server_extension_points
from gearshift.lab.extension import load_extension as _load_jupyter_server_extension

__all__ = ["_jupyter_server_extension_points", "_load_jupyter_server_extension"]
