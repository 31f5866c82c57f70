"""What rank 0 hands back to the notebook: tensors by safetensors where it can, the rest by cloudpickle."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

from gearshift.train.place import here

RESULT_FILE = "result.zip"
TENSORS, PICKLE, MANIFEST = "tensors.safetensors", "object.pkl", "manifest.json"


def result(value: Any) -> None:
    """Hand `value` of rank 0 to the notebook (`%gearshift result JOB`); other ranks' calls do nothing."""
    place = here()
    if place.rank == 0 and place.out is not None:
        write(value, place.out / RESULT_FILE)


def write(value: Any, path: Path) -> None:
    """One file, under its name only when it is whole."""
    aside = path.with_suffix(".new")
    form, name, data = _encode(value)
    with zipfile.ZipFile(aside, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr(MANIFEST, json.dumps({"form": form, "python": list(sys.version_info[:2])}))
        archive.writestr(name, data)
    aside.replace(path)


def read(path: Path) -> Any:
    """The value again; only for files of one's own jobs: a pickle is code."""
    with zipfile.ZipFile(path) as archive:
        form = json.loads(archive.read(MANIFEST))["form"]
        if form == "safetensors":
            import safetensors.torch  # noqa: PLC0415 - heavy, and only where it is needed

            return safetensors.torch.load(archive.read(TENSORS))
        import cloudpickle  # noqa: PLC0415 - optional outside kernels and jobs

        return cloudpickle.loads(archive.read(PICKLE))


def _encode(value: Any) -> tuple[str, str, bytes]:
    if _is_state(value):
        import safetensors.torch  # noqa: PLC0415 - heavy, and only where it is needed

        plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in value.items()}
        return "safetensors", TENSORS, safetensors.torch.save(plain)
    import cloudpickle  # noqa: PLC0415 - optional outside kernels and jobs

    return "cloudpickle", PICKLE, cloudpickle.dumps(value)


def _is_state(value: Any) -> bool:
    """A model's state: names to tensors and nothing else."""
    torch = sys.modules.get("torch")
    return (
        torch is not None
        and isinstance(value, dict)
        and bool(value)
        and all(isinstance(n, str) and isinstance(t, torch.Tensor) for n, t in value.items())
    )
