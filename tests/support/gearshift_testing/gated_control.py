"""The product's control as a process, but a test can hold its switches at gates, which are files in its home.

A file named after a point holds whoever comes there until it is deleted; who waits says so in a file beside it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from gearshift.model.operation import OperationKind
from gearshift_hub.control.__main__ import main
from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import flows
from gearshift_hub.control.operations.engine import Engine
from gearshift_hub.paths import Home

from gearshift_testing.gates import Point, gated

LOOK_S = 0.02


def gate_file(home: Home, point: Point) -> Path:
    return home.root / "gates" / "-".join(point)


def install(ctx: Context) -> Engine:
    """All flows of the product, the switch with gates."""

    async def pass_by(point: Point) -> None:
        gate = gate_file(ctx.home, point)
        while gate.exists():
            gate.with_suffix(".reached").write_text(str(os.getpid()))
            await asyncio.sleep(LOOK_S)

    engine = flows.install(ctx)
    ctx.flows[OperationKind.SWITCH] = gated(ctx.flows[OperationKind.SWITCH], pass_by)
    return engine


if __name__ == "__main__":
    raise SystemExit(main(install))
