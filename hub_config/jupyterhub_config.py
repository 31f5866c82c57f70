"""What JupyterHub executes: load the deployment, apply it, nothing else."""

import os
from pathlib import Path

from gearshift_hub.apply import apply
from gearshift_hub.deployment import load
from gearshift_hub.paths import Home

home = Home(Path(os.environ["GEARSHIFT_HOME"]))
apply(load(Path(os.environ["GEARSHIFT_DEPLOYMENT"])), home, c)  # type: ignore[name-defined]  # noqa: F821 - traitlets gives it
