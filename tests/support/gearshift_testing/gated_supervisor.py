"""The product's supervisor, which starts the control with gates in the place of the product's own."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from gearshift_hub.deployment.kubernetes import Backend
from gearshift_hub.paths import Home, Ports
from gearshift_hub.supervisor.__main__ import main
from gearshift_hub.supervisor.parts import Part, parts

CONTROL = [sys.executable, "-P", "-m", "gearshift_testing.gated_control"]


def gated_parts(home: Home, deployment: Path, ports: Ports, backend: Backend) -> list[Part]:
    return [
        replace(part, argv=CONTROL) if part.name == "control" else part
        for part in parts(home, deployment, ports, backend)
    ]


if __name__ == "__main__":
    sys.exit(main(make_parts=gated_parts))
