"""What a cell of a real workspace is refused, in the language that its person chose in Lab: named, and nothing half-done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from gearshift.kernel import Kernel, KernelError
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running

PLUGIN = "@jupyterlab/translation-extension:plugin"
REFUSED = (
    ("%%gearshift --nodes 0\nprint(1)", "bad_nodes", ("nodes", "0", "1-4")),
    ("%%gearshift --nodes 1000\nprint(1)", "bad_nodes", ("nodes", "1000", "1-4")),
    ("%%gearshift --nodes 2\ndef broken(:\n    pass", "syntax_error", ("2", "def broken(:")),
    ("%%gearshift --machine nowhere\nprint(1)", "unknown_machine", ("'nowhere'", "cpu-small", "sim-1")),
    ("%%gearshift --image none\nprint(1)", "unknown_image", ("'none'", "pytorch")),
    ("%gearshift switch nowhere", "unknown_machine", ("'nowhere'", "cpu-small", "sim-1")),
    ("%gearshift mount ../x", "unknown_dataset", ("'../x'", "digits")),
    ("%gearshift logs job-0badcafe", "unknown_job", ("'job-0badcafe'",)),
)


@pytest.fixture(scope="module")
def rosa(running: Running) -> Iterator[Driver]:
    person = Driver(running, "rosa")
    person.start("desk")
    yield person
    person.stop("desk")


@pytest.fixture(scope="module")
def kernel(rosa: Driver) -> Iterator[Kernel]:
    with closing(Kernel(rosa.product.server("rosa", "desk"), rosa.product.sign_in("rosa"))) as kernel:
        yield kernel


@pytest.mark.parametrize(("cell", "code", "named"), REFUSED, ids=lambda value: str(value)[:30])
def test_a_refusal_names_what_is_wrong_and_nothing_is_begun(
    rosa: Driver, kernel: Kernel, cell: str, code: str, named: tuple[str, ...]
) -> None:
    before = rosa.workspace("desk")["spec"]
    with pytest.raises(KernelError) as refused:
        kernel.run(cell)
    assert refused.value.name == "MagicError"
    assert refused.value.value.startswith(f"{code}: ")
    for word in named:
        assert word in refused.value.value
    assert len(refused.value.traceback) <= 2, "one sentence and what helps, no traceback of ours"
    assert rosa.get("jobs") == []
    assert rosa.workspace("desk")["spec"] == before


def test_who_chooses_chinese_in_lab_is_refused_in_chinese(rosa: Driver, kernel: Kernel) -> None:
    assert "machine" in kernel.run("%gearshift").text
    choose(rosa, '{"locale": "zh_CN"}')
    try:
        assert "机器" in kernel.run("%gearshift").text
        with pytest.raises(KernelError) as refused:
            kernel.run("%%gearshift --nodes 1000\nprint(1)")
        assert refused.value.value == "bad_nodes: nodes = 1000 不被接受。允许：1-4。"
    finally:
        choose(rosa, "{}")
    assert "machine" in kernel.run("%gearshift").text


def choose(person: Driver, raw: str) -> Any:
    """As Lab's settings are saved."""
    answer = person.server("desk", f"lab/api/settings/{PLUGIN}", "PUT", {"raw": raw})
    assert answer.status_code == 204, answer.text
