"""Which language the person of this kernel reads: what they chose in Lab, else what the deployment says."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

Language = Literal["en", "zh"]

LANGUAGE_ENV = "GEARSHIFT_LANGUAGE"
_CHOSEN = Path(".jupyter/lab/user-settings/@jupyterlab/translation-extension/plugin.jupyterlab-settings")
_LOCALE = re.compile(r'^\s*(?:{\s*)?"locale"\s*:\s*"([\w-]+)"', re.MULTILINE)
"""Lab's settings are JSON with comments, a key a line; a line that is a comment does not count."""


def language() -> Language:
    """Asked each time: a person changes it while their kernel runs."""
    return _known(_chosen()) or _known(os.environ.get(LANGUAGE_ENV)) or "en"


def _chosen() -> str | None:
    try:
        text = (Path.home() / _CHOSEN).read_text(errors="replace")
    except (OSError, RuntimeError):
        return None
    found = _LOCALE.search(text)
    return found[1] if found else None


def _known(tag: str | None) -> Language | None:
    """Of `zh_CN`, `en-GB` and the like; `default` and languages that we do not speak are none."""
    primary = re.split(r"[-_]", tag or "")[0].lower()
    return "zh" if primary == "zh" else "en" if primary == "en" else None
