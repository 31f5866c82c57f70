"""What a cell prints and shows, as it stands in the document and in the file (facts-lab 1, rows b, c, d, j)."""

from __future__ import annotations

from pathlib import Path

from gearshift_testing.shared_page import SharedPage, in_file, text_in_file, until


async def test_a_cell_is_run_and_its_result_is_in_every_part_of_it(page: SharedPage, file: Path) -> None:
    cell = await page.run("print('hello'); 6 * 7")
    found = await page.done(cell)
    assert page.text(cell) == "hello\n"
    assert found["outputs"][1]["data"] == {"text/plain": "42"}
    assert found["execution_count"] == 1
    assert found["metadata"]["trusted"]
    timing = found["metadata"]["execution"]
    assert {
        "iopub.status.busy", "iopub.execute_input", "iopub.status.idle",
        "shell.execute_reply.started", "shell.execute_reply",
    } <= set(timing)  # fmt: skip
    assert all(one.endswith("Z") for one in timing.values()), timing
    await until(lambda: in_file(file, cell)["outputs"])
    assert in_file(file, cell)["execution_count"] == 1


async def test_carriage_returns_and_backspaces_write_over_the_line_also_between_wide_characters(
    page: SharedPage, file: Path
) -> None:
    cell = await page.run(
        "import sys, time\n"
        "for n in range(0, 101, 20):\n"
        "    print(f'\\r{n:3d}%|{\"█\" * (n // 10):10}| 加载', end='', flush=True); time.sleep(0.08)\n"
        "print('\\nab\\b\\bxyz\\na\\b')"
    )
    await page.done(cell)
    assert page.text(cell) == "100%|██████████| 加载\nxyz\n\n"
    await until(lambda: text_in_file(file, cell) == page.text(cell))
    assert len(in_file(file, cell)["outputs"]) == 1


async def test_a_text_progress_bar_is_one_line_at_its_end(page: SharedPage) -> None:
    cell = await page.run(
        "import time\nfrom tqdm import tqdm\nfor n in tqdm(range(40), ascii=False):\n    time.sleep(0.01)"
    )
    await page.done(cell)
    assert "100%|██████████| 40/40" in page.text(cell)
    assert page.text(cell).count("\n") == 1
    assert len(page.cell(cell)["outputs"]) == 1


async def test_displays_are_updated_also_by_later_cells_and_by_threads(page: SharedPage, file: Path) -> None:
    first = await page.run(
        "import threading, time\nfrom IPython.display import display, update_display\n"
        "one = display('at 0', display_id='one')\nprint('between')\ntwo = display('two at 0', display_id=True)\n"
        "for n in range(1, 52): two.update(f'two at {n}')\n"
    )
    await page.done(first)
    assert _shown(page, first) == ["'at 0'", "'two at 51'"]
    second = await page.run("one.update('from the next cell')")
    await page.done(second)
    await until(lambda: _shown(page, first)[0] == "'from the next cell'")
    third = await page.run(
        "go = threading.Event()\ndef late():\n    go.wait()\n    one.update('from a thread'); print('late words')\n"
        "thread = threading.Thread(target=late); thread.start(); print('started')"
    )
    await page.done(third)
    fourth = await page.run("go.set(); thread.join()")
    await page.done(fourth)
    await until(lambda: _shown(page, first)[0] == "'from a thread'")
    await until(lambda: "late words" in page.text(third) + page.text(fourth))
    assert [one["output_type"] for one in page.cell(first)["outputs"]] == [
        "display_data", "stream", "display_data",
    ]  # fmt: skip
    await until(lambda: in_file(file, first)["outputs"][2]["data"]["text/plain"] == ["'two at 51'"])


async def test_outputs_are_cleared_now_or_with_the_next_one(page: SharedPage) -> None:
    cell = await page.run(
        "from IPython.display import clear_output\n"
        "for n in range(30):\n    clear_output(wait=True); print('step', n)\n"
    )
    await page.done(cell)
    assert page.text(cell) == "step 29\n"
    cell = await page.run("print('gone'); clear_output(); print('kept')")
    await page.done(cell)
    assert page.text(cell) == "kept\n"


async def test_what_is_printed_and_shown_keeps_its_order(page: SharedPage) -> None:
    cell = await page.run(
        "import sys\nfrom IPython.display import display\nfor n in range(40):\n"
        "    print('out', n, flush=True); print('err', n, file=sys.stderr, flush=True); display(n)\n'end'"
    )
    found = (await page.done(cell))["outputs"]
    assert len(found) == 121
    said = [one["text"] if "text" in one else one["data"]["text/plain"] for one in found]
    assert said[:-1] == [text for n in range(40) for text in (f"out {n}\n", f"err {n}\n", str(n))]


async def test_fifty_thousand_lines_are_one_output(page: SharedPage, file: Path) -> None:
    cell = await page.run("for n in range(50_000): print('line', n)")
    await page.done(cell)
    assert page.text(cell).splitlines()[::49_999] == ["line 0", "line 49999"]
    assert len(page.cell(cell)["outputs"]) == 1
    await until(lambda: len(text_in_file(file, cell).splitlines()) == 50_000)


async def test_a_cell_keeps_so_much_and_says_so_and_goes_on(page: SharedPage) -> None:
    cell = await page.run("for n in range(1200): print('x' * 9_999)\nprint('y' * 5); done = True; 1 / 0")
    found = (await page.done(cell))["outputs"]
    assert [one["output_type"] for one in found] == ["stream", "stream", "error"]
    assert len(found[0]["text"]) < 10_200_000
    assert "A cell keeps at most 10 million characters and 2,000 outputs" in found[1]["text"]
    assert found[2]["ename"] == "ZeroDivisionError"
    after = await page.run("done")
    await page.done(after)


async def test_rubbish_from_a_kernel_does_not_reach_the_document_as_such(
    page: SharedPage, file: Path
) -> None:
    cell = await page.run(
        "from IPython.display import publish_display_data\nprint('whole')\n"
        "publish_display_data({'application/json': {'n': 2**70, 'deep': [{'a': None, 'b': [1, True]}]}, "
        "'text/plain': 'big'})"
    )
    found = (await page.done(cell))["outputs"]
    assert page.text(cell) == "whole\n"
    assert found[1]["data"]["application/json"]["deep"] == [{"a": None, "b": [1, True]}]
    await until(lambda: in_file(file, cell)["outputs"])
    assert in_file(file, cell)["outputs"][1]["data"]["application/json"]["n"] == 2**70


def _shown(page: SharedPage, cell: str) -> list[str]:
    outputs = page.cell(cell)["outputs"]
    return [one["data"]["text/plain"] for one in outputs if "data" in one]
