"""What runs inside a job: where a rank stands, its metrics, its checkpoints, its chip, its result.

    from gearshift import train

    place = train.init()                    # joins the process group: gloo or nccl by chip, explicit timeout
    train.log(step=step, loss=loss)         # one line to the job widget
    train.save_checkpoint(state, step)      # whole or not there
    train.result(model.state_dict())        # back in the notebook: %gearshift result JOB

What needs torch is imported at first use: the supervisor and the notebook side never pay for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gearshift.train.metrics import log
from gearshift.train.place import Place, here, rank, world_size
from gearshift.train.results import result

if TYPE_CHECKING:
    from gearshift.train import chip
    from gearshift.train.checkpoint import load_checkpoint, load_sharded, save_checkpoint, save_sharded
    from gearshift.train.deepspeed_checkpoint import load_deepspeed, save_deepspeed
    from gearshift.train.distributed import barrier, init, interrupted

__all__ = [
    "Place",
    "barrier",
    "chip",
    "here",
    "init",
    "interrupted",
    "load_checkpoint",
    "load_deepspeed",
    "load_sharded",
    "log",
    "rank",
    "result",
    "save_checkpoint",
    "save_deepspeed",
    "save_sharded",
    "world_size",
]

_WITH_TORCH = {
    "barrier": "distributed",
    "init": "distributed",
    "interrupted": "distributed",
    "load_checkpoint": "checkpoint",
    "load_deepspeed": "deepspeed_checkpoint",
    "load_sharded": "checkpoint",
    "save_checkpoint": "checkpoint",
    "save_deepspeed": "deepspeed_checkpoint",
    "save_sharded": "checkpoint",
}


def __getattr__(name: str) -> Any:
    if name == "chip":
        return import_module("gearshift.train.chip")
    if name in _WITH_TORCH:
        return getattr(import_module(f"gearshift.train.{_WITH_TORCH[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
