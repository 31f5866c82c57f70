"""Provokes failures of training and keeps what the ranks say: writes tests/train/logs/ID.log (run it by hand).

python tests/train/provoke.py [ID ...]     needs torch and DeepSpeed, two cores and about three minutes
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

LOGS = Path(__file__).parent / "logs"
GROUP = "import torch, torch.distributed as dist, datetime, os, time\nRANK = int(os.environ['RANK'])\n"
JOIN = GROUP + "dist.init_process_group('gloo', timeout=datetime.timedelta(seconds=8))\n"
DDP = JOIN + "from torch.nn.parallel import DistributedDataParallel as DDP\n"
LAST_LINES = 40


@dataclass(frozen=True)
class Fault:
    """Code for each rank, how many ranks, and whose words are kept."""

    code: str
    ranks: int = 1
    keep: int = 0
    environment: dict[str, str] = field(default_factory=dict)


FAULTS = {
    "host_out_of_memory": Fault("import torch\ntorch.empty(2**46)"),
    "pinned_memory": Fault("import torch\ntorch.accelerator.synchronize()"),
    "port_in_use": Fault(
        "import socket\ntaken = socket.create_server(('127.0.0.1', 0))\nimport os\n"
        "os.environ['MASTER_PORT'] = str(taken.getsockname()[1])\n" + JOIN
    ),
    "host_unknown": Fault("import socket\nsocket.create_connection(('node-0.invalid', 29500))"),
    "peers_missing": Fault(JOIN, ranks=2, keep=0, environment={"ABSENT": "1"}),
    "coordinator_refused": Fault(
        "import socket\nfree = socket.create_server(('127.0.0.1', 0)).getsockname()[1]\n"
        "socket.create_connection(('127.0.0.1', free))"
    ),
    "environment_missing": Fault("import os\nos.environ.pop('WORLD_SIZE')\n" + JOIN),
    "no_process_group": Fault("import torch, torch.distributed as dist\ndist.all_reduce(torch.ones(1))"),
    "process_group_twice": Fault(JOIN + "dist.init_process_group('gloo')"),
    "nccl_not_built": Fault(GROUP + "dist.init_process_group('nccl')"),
    "gloo_timeout": Fault(JOIN + "time.sleep(14 * RANK)\ndist.all_reduce(torch.ones(1))", ranks=2, keep=0),
    "peer_gone": Fault(
        JOIN
        + "dist.barrier()\nif RANK == 1: os.kill(os.getpid(), 9)\ntime.sleep(1)\ndist.all_reduce(torch.ones(1))",
        ranks=2,
    ),
    "cuda_not_compiled": Fault("import torch\ntorch.ones(2).cuda()"),
    "devices_mixed": Fault("import torch\ntorch.ones(2, device='meta').to('cpu')"),
    "compiler_missing": Fault(
        "import torch\ntorch.compile(lambda x: x.sin() + x.cos())(torch.ones(3))",
        environment={"CXX": "/nowhere/g++"},
    ),
    "library_missing": Fault("import ctypes\nctypes.CDLL('libnot-here.so.1')"),
    "shapes": Fault("import torch\ntorch.ones(2, 3) @ torch.ones(2, 3)"),
    "dtypes": Fault("import torch\ntorch.nn.Linear(2, 2)(torch.ones(2, dtype=torch.bfloat16))"),
    "inplace": Fault(
        "import torch\nw = torch.ones(2, requires_grad=True)\ny = w.exp()\nz = y * y\ny.add_(1)\nz.sum().backward()"
    ),
    "backward_twice": Fault(
        "import torch\nw = torch.ones(2, requires_grad=True)\ny = w.exp().sum()\ny.backward()\ny.backward()"
    ),
    "no_grad": Fault("import torch\ntorch.ones(2).sum().backward()"),
    "ddp_unused": Fault(
        DDP + "m = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)])\n"
        "m.forward = lambda x: m[0](x)\nd = DDP(m)\nfor _ in range(2): d(torch.ones(1, 2)).sum().backward()",
        ranks=2,
    ),
    "ddp_differs": Fault(DDP + "DDP(torch.nn.Linear(2, 2 + RANK))", ranks=2, keep=1),
    "state_dict": Fault(
        "import torch\ntorch.nn.Linear(2, 2).load_state_dict({'module.weight': torch.ones(2, 2)})"
    ),
    "weights_only": Fault(
        "import torch, fractions\ntorch.save(fractions.Fraction(1, 2), 'x.pt')\ntorch.load('x.pt')"
    ),
    "module_missing": Fault("import my_own_helpers"),
    "name_missing": Fault("print(learning_rate)"),
    "worker_killed": Fault(
        "import os, torch\nclass Data(torch.utils.data.Dataset):\n"
        "    def __len__(self): return 4\n    def __getitem__(self, i): os.kill(os.getpid(), 9)\n"
        "list(torch.utils.data.DataLoader(Data(), num_workers=1))"
    ),
    "not_picklable": Fault(
        "import torch\nlist(torch.utils.data.DataLoader([1, 2], num_workers=1, multiprocessing_context='spawn',\n"
        "    collate_fn=lambda batch: batch))"
    ),
    "too_many_files": Fault(
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "kept = [open('/dev/null') for _ in range(99)]"
    ),
    "disk_full": Fault("with open('/dev/full', 'wb', buffering=0) as f: f.write(b'x')"),
    "file_missing": Fault("open('data/train.bin')"),
    "checkpoint_broken": Fault(
        "import torch\ntorch.save({'w': torch.ones(999)}, 'x.pt')\n"
        "whole = open('x.pt', 'rb').read()\nopen('x.pt', 'wb').write(whole[:900])\ntorch.load('x.pt')"
    ),
    "ninja_missing": Fault(
        "import torch, deepspeed\nfrom deepspeed.ops.op_builder import CPUAdamBuilder\nCPUAdamBuilder().load()",
        environment={"PATH": "/nowhere", "TORCH_EXTENSIONS_DIR": "ext", "DS_ACCELERATOR": "cpu"},
    ),
    "deepspeed_batch": Fault(
        "import torch, deepspeed\nfrom deepspeed.runtime.config import DeepSpeedConfig\n"
        "DeepSpeedConfig({'train_batch_size': 7, 'train_micro_batch_size_per_gpu': 2, 'gradient_accumulation_steps': 2})",
        environment={"DS_ACCELERATOR": "cpu"},
    ),
    "deepspeed_config": Fault(
        "import torch, deepspeed\nfrom deepspeed.runtime.config import DeepSpeedConfig\n"
        "DeepSpeedConfig({'train_batch_size': 1, 'bf16': {'enabled': True}, 'fp16': {'enabled': True}})",
        environment={"DS_ACCELERATOR": "cpu"},
    ),
    "segfault": Fault("import ctypes\nctypes.string_at(0)", environment={"PYTHONFAULTHANDLER": "1"}),
    "aborted": Fault("import os\nos.abort()"),
    "bus_error": Fault("import os, signal\nos.kill(os.getpid(), signal.SIGBUS)"),
    "illegal_instruction": Fault("import os, signal\nos.kill(os.getpid(), signal.SIGILL)"),
    "killed": Fault("import os\nprint('step 12 loss 0.3')\nos.kill(os.getpid(), 9)"),
    "interrupted": Fault(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(5)"
    ),
}


def main(names: list[str]) -> None:
    LOGS.mkdir(exist_ok=True)
    for name in names or FAULTS:
        text = provoke(FAULTS[name])
        (LOGS / f"{name}.log").write_text(text)
        print(name, text.splitlines()[0], text.splitlines()[-1][:100], sep=" | ", flush=True)


def provoke(fault: Fault) -> str:
    """`exit N` or `signal N` of the rank that is kept, then its last lines without a path of this machine."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
        probe.close()
        present = 1 if "ABSENT" in fault.environment else fault.ranks
        ranks = [_start(fault, folder, port, rank) for rank in range(present)]
        said = [rank.communicate(timeout=180)[0] for rank in ranks]
        code = ranks[fault.keep].returncode
    ended = f"signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"exit {code}"
    lines = [_without_paths(line, folder) for line in said[fault.keep].splitlines() if line.strip()]
    return "\n".join([ended, *lines[-LAST_LINES:]]) + "\n"


def _start(fault: Fault, folder: str, port: int, rank: int) -> subprocess.Popen[str]:
    script = Path(folder) / f"rank-{rank}.py"
    script.write_text(textwrap.dedent(fault.code))
    place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(fault.ranks)}
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.Popen(
        [sys.executable, str(script)],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **place, **meeting, **fault.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _without_paths(line: str, folder: str) -> str:
    line = line.replace(folder, "job").replace(sys.prefix, "env").replace(socket.gethostname(), "node-0")
    return re.sub(r"\b(pid|PID)[ =:]*\d+", r"\1 1234", line)[:400]


if __name__ == "__main__":
    main(sys.argv[1:])
