"""`files/`: downloads, and pictures in notebooks, also from disks and data sets, which are links out of the home.

tornado serves nothing behind a link that leaves the served folder; here the uid decides what may be read.
"""

from __future__ import annotations

import os

from jupyter_core.paths import is_hidden
from jupyter_server.base.handlers import AuthenticatedFileHandler
from tornado.web import HTTPError, StaticFileHandler


class PersonFiles(AuthenticatedFileHandler):  # type: ignore[misc]
    """Set as the contents manager's `files_handler_class`."""

    def initialize(self, path: str, default_filename: str | None = None) -> None:
        super().initialize(path, default_filename, allowed_symlink_directory="/")

    def validate_absolute_path(self, root: str, absolute_path: str) -> str | None:
        """Hidden is judged by the path as it was asked for, not by where a link leads."""
        if "\0" in absolute_path:
            raise HTTPError(404)
        found: str | None = StaticFileHandler.validate_absolute_path(self, root, absolute_path)
        if not self.contents_manager.allow_hidden and is_hidden(absolute_path, os.path.abspath(root)):
            raise HTTPError(404)
        return found
