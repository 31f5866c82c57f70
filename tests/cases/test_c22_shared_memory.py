"""C22: shared memory is sized with the machine, data loaders have room in it, and when it is full the error says so."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from gearshift import shared_memory
from gearshift.kernel import Kernel
from gearshift_testing.driving import Driver
from gearshift_testing.submitting import ended, submit

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a workspace's own shared memory")
LOAD = """
import torch
from torch.utils.data import DataLoader, Dataset

class Batches(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return torch.full((25_000_000,), float(index))

total = 0.0
for batch in DataLoader(Batches(), batch_size=None, num_workers=4, prefetch_factor=1):
    total += batch[0].item()
print(total)
"""
ALONE = LOAD.replace("num_workers=4", "num_workers=1")
"""With shared memory full, four more batches at once would be more than the machine's memory."""
FILL = """
import os
room = os.statvfs('/dev/shm')
size = room.f_blocks * room.f_frsize
with open('/dev/shm/filler', 'wb') as file:
    os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize)
print(size)
"""


@NEEDS_ROOT
@pytest.mark.root
def test_c22_a_data_loader_has_room_and_a_full_shared_memory_is_named(
    person: Callable[[str], Driver],
) -> None:
    driver = person("c22")
    driver.start("work")
    product = driver.product
    kernel = Kernel(product.server("c22", "work"), product.sign_in("c22"), "c22.ipynb")
    assert kernel.run(LOAD, timeout=180).text.endswith("190.0\n")

    size = int(kernel.run(FILL, timeout=60).text)
    assert size == (2 << 30) // 2
    kernel.run(f"cell = {ALONE!r}")
    told = kernel.run("_ = get_ipython().run_cell(cell)", timeout=180).text
    assert "Shared memory (/dev/shm, not a disk) was too small" in told
    assert f"1.07 / {size / 1e9:.2f} GB are used" in told
    kernel.close()


@NEEDS_ROOT
@pytest.mark.root
def test_c22_a_job_that_fills_its_shared_memory_fails_with_that_as_its_cause(
    person: Callable[[str], Driver],
) -> None:
    driver = person("c22")
    job = ended(driver, submit(driver, FILL + ALONE), 180)
    assert job["state"] == "failed"
    assert job["first_failure"]["message"].startswith("Shared memory (/dev/shm, not a disk) was too small")
    assert "1.07 / 1.07 GB" in job["first_failure"]["message"]


@pytest.mark.parametrize(
    "said",
    [
        "unable to write to file </torch_9_1_0>: No space left on device (28)",
        "DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that dataloader's workers are out of"
        " shared memory. Please try to raise your shared memory limit.",
        "[Errno 28] No space left on device: '/dev/shm/filler'",
    ],
)
def test_c22_what_the_errors_say_is_recognised(said: str) -> None:
    assert "/dev/shm" in str(shared_memory.sentence(said))


def test_c22_a_full_disk_is_no_full_shared_memory(tmp_path: Path) -> None:
    assert shared_memory.sentence("[Errno 28] No space left on device: '/home/mei/data'") is None
    assert shared_memory.sentence("[Errno 28] No space left on device", folder=str(tmp_path)) is None
    assert shared_memory.sentence("killed by signal: Bus error", folder="/nowhere") is None
