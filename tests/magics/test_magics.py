"""`%gearshift` and `%%gearshift` in a real IPython: what they ask of control, what they show, what they refuse."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from gearshift import cell_clock
from gearshift.magics import JobFailedError, MagicError, arguments
from gearshift.magics.showing import JOB_MIME, PLAN_MIME
from gearshift.train import results
from jupyter_client.manager import KernelManager

CAPS = "--max-price 5 --max-cost 2.50"
HOURS = 3600


def error_of(notebook: Any, source: str) -> MagicError:
    with pytest.raises(MagicError) as caught:
        notebook.run(source)
    return caught.value


def test_a_kernel_knows_the_magic_from_its_start_and_loads_it_with_the_first_use(notebook: Any) -> None:
    shell = notebook.shell
    shell.magics_manager.magics["line"].pop("gearshift")
    shell.magics_manager.registry.pop("GearshiftMagics")
    shell.extension_manager.loaded.discard("gearshift")
    cell_clock.load_ipython_extension(shell)
    assert "GearshiftMagics" not in shell.magics_manager.registry
    assert "mei/vlm (ready)" in notebook.run("%gearshift")
    assert "GearshiftMagics" in shell.magics_manager.registry
    assert error_of(notebook, "%%gearshift --nodes x\npass").code == "bad_request"
    cell_clock.load_ipython_extension(shell)
    assert "mei/vlm (ready)" in notebook.run("%gearshift")


def test_status_says_workspace_machine_balance_and_today(notebook: Any) -> None:
    said = notebook.run("%gearshift")
    assert "mei/vlm (ready)" in said
    assert "cpu-small, ¥0.10/h" in said
    assert "¥42.00" in said


def test_mount_attaches_at_once_and_says_path_and_licence(notebook: Any, stand_in: Any) -> None:
    said = notebook.run("%gearshift mount digits iris")
    assert "digits: ~/datasets/digits  read-only, 1 MB, licence CC BY 4.0, no traffic fee" in said
    assert stand_in.asked("POST", "workspaces/mei/vlm/datasets") == [
        {"dataset": "digits"},
        {"dataset": "iris"},
    ]
    notebook.run("%gearshift unmount digits")
    assert stand_in.seen[-1][:2] == ("DELETE", "workspaces/mei/vlm/datasets/digits")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("disks", "~/disks/team"),
        ("datasets", "CC BY 4.0"),
        ("jobs", "job-0badcafe  cell-1  Finished  ¥0.01"),
        ("logs job-0badcafe --rank 1 --lines 1", "two"),
        ("cost", "job:job-0badcafe  sim-1  ¥0.01"),
        ("help", "propose another machine"),
    ],
)
def test_reports_are_plain_lines(notebook: Any, command: str, text: str) -> None:
    assert text in notebook.run(f"%gearshift {command}")


def test_a_job_in_a_headless_kernel_without_a_spend_token_is_refused(notebook: Any, stand_in: Any) -> None:
    for line in ("%%gearshift --nodes 2\nprint(1)", f"%%gearshift --nodes 2 {CAPS}\nprint(1)"):
        assert error_of(notebook, line).code == "needs_confirmation"
    for line in ("%gearshift switch sim-1", "%gearshift cancel job-0badcafe"):
        assert error_of(notebook, line).code == "needs_confirmation"
    assert not [path for _, path, _, _ in stand_in.seen if path.endswith("/confirm")]


def test_a_spend_token_without_caps_is_not_enough(spender: Any) -> None:
    assert error_of(spender, "%%gearshift --nodes 2\nprint(1)").code == "needs_confirmation"
    assert error_of(spender, "%%gearshift --nodes 2 --max-price 5\nprint(1)").code == "needs_confirmation"


def test_a_cell_becomes_a_job_with_what_it_needs(spender: Any, stand_in: Any, tmp_path: Path) -> None:
    spender.run("import math\nLR = 0.5\nUNUSED = 1")
    spender.run("def step(x):\n    return math.sin(x) * LR")
    line = f"--nodes 2 --procs 1 --machine sim-1 --name first --deadline 2h --env A=1 {CAPS}"
    spender.run(f"%%gearshift {line}\nprint(step(1))")
    plan = stand_in.asked("POST", "plans")[0]
    spec = plan["spec"]
    assert plan["kind"] == "job"
    assert (spec["nodes"], spec["procs"], spec["machine"], spec["image"]) == (2, 1, "sim-1", "pytorch")
    assert (spec["name"], spec["deadline_seconds"], spec["workspace"]) == ("first", 2 * HOURS, "mei/vlm")
    assert spec["env"] == {"A": "1", "GS_CWD": str(tmp_path)}
    assert spec["code"] in stand_in.bundles
    sources = [chunk.get("source", chunk.get("name")) for chunk in stand_in.chunks()]
    assert sources == ["import math", "LR", "def step(x):\n    return math.sin(x) * LR", "print(step(1))\n"]
    assert stand_in.chunks()[-1]["file"] == "In[4]"
    assert stand_in.chunks()[-1]["line"] == 2
    said = stand_in.asked("POST", "plans/plan-1/confirm")
    assert said == [{"max_price_nano": 5 * 10**9, "max_cost_nano": 2_500_000_000}]


def test_a_started_job_is_displayed_live_with_html_and_text_beside_it(spender: Any) -> None:
    spender.run(f"%%gearshift {CAPS}\nprint(1)")
    shown = spender.displayed[0]
    assert shown[JOB_MIME] == {"job": "job-0badcafe"}
    assert "job-0badcafe" in shown["text/plain"]
    assert "<script" not in shown["text/html"]


def test_the_handle_gives_state_log_curve_and_result(spender: Any, stand_in: Any, tmp_path: Path) -> None:
    results.write({"answer": 42}, tmp_path / "result.zip")
    stand_in.result = (tmp_path / "result.zip").read_bytes()
    spender.run(f"%%gearshift {CAPS} --wait\nprint(1)")
    assert spender.run("print(job, job.state, job.log(0).split(), job.metrics(), job.result)") == (
        "<job job-0badcafe> succeeded ['one', 'two'] [{'step': 1, 'loss': 0.5}] {'answer': 42}\n"
    )
    assert spender.run("back = %gearshift result job-0badcafe\nprint(back)") == "{'answer': 42}\n"
    assert spender.run("import gearshift\nprint([j.id for j in gearshift.jobs()])") == "['job-0badcafe']\n"


def test_a_handle_travels_with_the_other_variables(spender: Any) -> None:
    spender.run(f"%%gearshift {CAPS}\nprint(1)")
    spender.run("import pickle\njob = pickle.loads(pickle.dumps(job))")
    assert spender.run("print(job, job.state)") == "<job job-0badcafe> succeeded\n"


def test_C35_a_waited_for_job_that_fails_raises_with_rank_code_and_last_lines(
    spender: Any, stand_in: Any
) -> None:
    first = {
        "rank": 3,
        "node": 1,
        "exit_code": 7,
        "signal": None,
        "message": "exit code 7",
        "lines": ["boom"],
    }
    stand_in.job |= {"state": "failed", "reason": "user_error", "first_failure": first}
    with pytest.raises(JobFailedError) as caught:
        spender.run(f"%%gearshift {CAPS} --wait\nprint(1)")
    assert "Rank 3 on node 1 failed first, exit code 7" in str(caught.value)
    assert caught.value._render_traceback_()[1:] == ["boom"]


def test_text_of_a_job_is_escaped_in_html(spender: Any, stand_in: Any) -> None:
    stand_in.job["spec"] |= {"name": "<img src=x onerror=alert(1)>"}
    spender.run("%gearshift show job-0badcafe")
    assert "<img" not in spender.displayed[0]["text/html"]


def test_nothing_is_sent_for_a_cell_that_cannot_run(spender: Any, stand_in: Any) -> None:
    spender.run("import threading\nlock = threading.Lock()\nimport numpy as np\nBIG = np.zeros(10**6)")
    syntax = error_of(spender, f"%%gearshift {CAPS}\nfor x in\n")
    assert (syntax.code, "line 2" in str(syntax)) == ("syntax_error", True)
    assert "lock (In[2]" in str(error_of(spender, f"%%gearshift {CAPS}\nlock.acquire()"))
    large = error_of(spender, f"%%gearshift {CAPS}\nprint(BIG)")
    assert (large.code, "BIG (In[2]) is 8 MB" in str(large)) == ("too_large", True)
    assert large.lines == ("Save it to the workspace and load it in the job, or name it: --send BIG.",)
    assert stand_in.seen == []
    spender.run(f"%%gearshift {CAPS} --send BIG\nprint(BIG)")
    assert len(stand_in.bundles) == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--nodes many", "invalid int value: 'many'"),
        ("--launch mpi", "'env', 'torchrun', 'deepspeed'"),
        ("--max-price lots", "'lots' is no amount of money"),
        ("--deadline soon", "'soon' is no duration"),
        ("--colour red", "unrecognized arguments: --colour red"),
        ("--name 'open", "No closing quotation"),
        ("--out 1x", "'1x' is no name of a variable"),
    ],
)
def test_a_wrong_word_names_itself_and_what_is_allowed(notebook: Any, line: str, words: str) -> None:
    error = error_of(notebook, f"%%gearshift {line}\nprint(1)")
    assert error.code == "bad_request"
    assert words in str(error)


def test_an_unknown_command_lists_the_commands(notebook: Any) -> None:
    assert "'mount'" in str(error_of(notebook, "%gearshift fly"))


def test_controls_refusal_is_shown_as_it_is(spender: Any, stand_in: Any) -> None:
    refusal = {"code": "bad_nodes", "message": "nodes: 0 is not possible. Allowed: 1-4.", "field": "nodes"}
    stand_in.refuse["plans"] = (422, refusal)
    error = error_of(spender, f"%%gearshift --nodes 0 {CAPS}\nprint(1)")
    assert error._render_traceback_() == ["bad_nodes: nodes: 0 is not possible. Allowed: 1-4."]


def test_a_control_that_does_not_answer_is_told_in_one_sentence(
    notebook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEARSHIFT_CONTROL_URL", "http://127.0.0.1:9/services/gearshift")
    assert error_of(notebook, "%gearshift").code == "control_unavailable"
    monkeypatch.delenv("GEARSHIFT_CONTROL_URL")
    assert error_of(notebook, "%gearshift").code == "control_unavailable"


@pytest.fixture
def kernel(notebook: Any, tmp_path: Path) -> Any:
    """A real kernel process, as a page has it; `notebook` has set the environment."""
    manager = KernelManager(
        kernel_name="python3", transport="ipc", connection_file=str(tmp_path / "kernel.json")
    )
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def outputs_of(client: Any, code: str, allow_stdin: bool, until: str = "status") -> list[dict[str, Any]]:
    """Everything that came from one execution, up to the last message of the wanted kind."""
    sent = client.execute(code, allow_stdin=allow_stdin)
    found: list[dict[str, Any]] = []
    deadline, idle = time.monotonic() + 30, False
    while not (idle and any(message["msg_type"] == until for message in found)):
        message = client.get_iopub_msg(timeout=deadline - time.monotonic())
        if message["parent_header"].get("msg_id") == sent or message["msg_type"] == until:
            found.append({"msg_type": message["msg_type"], **message["content"]})
            idle = idle or message["content"].get("execution_state") == "idle"
    return found


def test_in_front_of_a_page_the_press_is_shown_and_the_job_takes_its_place_in_the_same_output(
    kernel: Any, stand_in: Any
) -> None:
    code = "%load_ext gearshift\n" + "get_ipython().run_cell_magic('gearshift', '--nodes 2', 'print(1)')"
    headless = outputs_of(kernel, code, allow_stdin=False)
    assert [m["ename"] for m in headless if m["msg_type"] == "error"] == ["MagicError"]
    stand_in.confirmed = True
    shown = outputs_of(kernel, code, allow_stdin=True, until="update_display_data")
    asked = next(m for m in shown if m["msg_type"] == "display_data")
    assert asked["data"][PLAN_MIME]["plan"]["id"] == "plan-1"
    updated = next(m for m in shown if m["msg_type"] == "update_display_data")
    assert updated["data"][JOB_MIME] == {"job": "job-0badcafe"}
    assert updated["transient"] == asked["transient"] == {"display_id": "gearshift-plan-1"}
    assert json.dumps(updated["data"])


def test_budgets_of_retries_are_given_by_word_and_a_wrong_word_is_named() -> None:
    asked = arguments.parse(arguments.cell_parser(), "--max-restarts 2 --retry interruption=3 no-capacity=10")
    assert arguments.budgets(asked) == {"max_restarts": 2, "max_interruptions": 3, "max_no_capacity": 10}
    for wrong in ("always=3", "error", "error=-1"):
        with pytest.raises(
            MagicError, match=f"'{wrong}' is no WORD=N; words: error, interruption, no-capacity"
        ):
            arguments.parse(arguments.cell_parser(), f"--retry {wrong}")


def test_the_variable_knows_of_the_press_as_soon_as_it_was_made(kernel: Any, stand_in: Any) -> None:
    cell = "%load_ext gearshift\nget_ipython().run_cell_magic('gearshift', '--nodes 2', 'print(1)')"
    outputs_of(kernel, cell, allow_stdin=True)
    assert printed(kernel, "print(job)") == "<job, not confirmed yet>\n"
    stand_in.confirmed = True
    assert printed(kernel, "print(job)") == "<job job-0badcafe>\n"


def printed(kernel: Any, code: str) -> str:
    shown = outputs_of(kernel, code, allow_stdin=False)
    return "".join(message["text"] for message in shown if message["msg_type"] == "stream")
