"""The grid of notebook 08 at its full size of 16 ranks: who stands where, and what of the model each keeps.

No rank talks to another here (torch's `fake` back end), so each of the 16 can be looked at in one process after the other.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "08-four-axes.ipynb"
A_MACHINE = 8
LOOK = """
import json, sys
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

exec(sys.stdin.read())
found = []
for rank in range(16):
    dist.init_process_group("fake", rank=rank, world_size=16, store=FakeStore())
    mesh = grid("cpu", AXES)
    part = cut(whole(CLOCK, LENGTH, 64, 4, 2), mesh)
    found.append({
        "place": {axis: mesh[axis].get_local_rank() for axis in AXES},
        "groups": {axis: dist.get_process_group_ranks(mesh[axis].get_group()) for axis in AXES},
        "layers": [type(layer).__name__ for layer in part],
        "heads": [layer.heads for layer in part if isinstance(layer, Block)],
        "shapes": {name: list(one.to_local().shape) for name, one in part.named_parameters()},
    })
    dist.destroy_process_group()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def ranks() -> list[dict[str, Any]]:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if "grid" in cell["metadata"].get("tags", []))
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOOK],
        input=code,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_each_rank_has_a_place_of_its_own(ranks: list[dict[str, Any]]) -> None:
    places = [tuple(one["place"].values()) for one in ranks]
    assert places == [tuple(int(bit) for bit in f"{rank:04b}") for rank in range(16)]


def test_who_talks_much_stands_near_and_only_stages_cross_machines(ranks: list[dict[str, Any]]) -> None:
    for rank, one in enumerate(ranks):
        assert one["groups"]["tensor"] == [rank & ~1, rank | 1]
        assert one["groups"]["context"] == [rank & ~2, rank | 2]
        assert one["groups"]["data"] == [rank & ~4, rank | 4]
        assert one["groups"]["stage"] == [rank & ~8, rank | 8]
        for axis in ("tensor", "context", "data"):
            assert len({other // A_MACHINE for other in one["groups"][axis]}) == 1


def test_each_rank_keeps_its_layers_its_heads_and_its_shards(ranks: list[dict[str, Any]]) -> None:
    for one in ranks:
        begins = one["place"]["stage"] == 0
        assert [name.removeprefix("FSDP") for name in one["layers"]] == (
            ["Begin", "Block"] if begins else ["Block", "Sequential"]
        )
        assert one["heads"] == [2], "half of four"
        block = "1" if begins else "2"
        assert one["shapes"][f"{block}.up.weight"] == [256 // 2 // 2, 64], "rows by tensor, then by context"
        assert one["shapes"][f"{block}.before_mlp.weight"] == [64 // 2], "whole for tensor, shards by context"
    copies = [[one["shapes"] for one in ranks if one["place"]["data"] == copy] for copy in (0, 1)]
    assert copies[0] == copies[1], "data copies keep the same"
