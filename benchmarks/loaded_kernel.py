"""Knows the kernel that rows carry about: cells that make a gigabyte of tensors and what is usual beside it."""

from __future__ import annotations

TENSORS = 8
ELEMENTS = 32_000_000
BYTES = TENSORS * ELEMENTS * 4

CELLS = (
    "import torch",
    f"tensors = [torch.full(({ELEMENTS},), float(i)).add_(torch.arange({ELEMENTS}) % 251) for i in range({TENSORS})]",
    "for i in range(200):\n    globals()[f'small_{i}'] = {'n': i, 'words': ['a', 'b', str(i)], 'share': i / 7}",
    "\n".join(f"def step_{i}(x, rate={i}):\n    return x * rate + small_{i}['share']" for i in range(30)),
    "model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))\n"
    "optimizer = torch.optim.AdamW(model.parameters())\n"
    "model(torch.ones(4, 256)).sum().backward(); optimizer.step()",
)
"""1 GB of tensors, 200 small variables, 30 functions, one optimizer linked to its model."""

CHECK = (
    "assert len(tensors) == 8 and float(tensors[7][5]) == 12.0 and step_3(2) == 6 + 3 / 7\n"
    "assert optimizer.param_groups[0]['params'][0] is model[0].weight"
)
