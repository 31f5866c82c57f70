"""Control as a process: `python -m gearshift_hub.control`."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from gearshift_hub.control import settings
from gearshift_hub.control.operations import flows
from gearshift_hub.control.process import Install, serve
from gearshift_hub.control.writer_lock import NotTheWriterError
from gearshift_hub.deployment import DeploymentError


def main(install: Install = flows.install) -> int:
    """Serve until told to end; 2 for what somebody has to put right."""
    os.umask(0o077)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname).1s %(name)s %(message)s", stream=sys.stderr
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        asyncio.run(serve(settings.read(), install))
    except (DeploymentError, NotTheWriterError, OSError) as error:
        sys.stderr.write(f"control: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
