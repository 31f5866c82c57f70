"""A product of its own: its variables over its end, and what people see while control is down."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from gearshift.kernel import Kernel
from gearshift_testing import running as products
from gearshift_testing.driving import Driver, until
from gearshift_testing.running import Running


@pytest.fixture(scope="module")
def own() -> Iterator[Running]:
    """One that may be stopped and hurt; below a base URL, where paths are easiest to get wrong."""
    product = products.start(base_url="/team/")
    yield product
    product.stop()
    product.remove()


@contextmanager
def control_killed(own: Running) -> Iterator[None]:
    """Killed, with its supervisor held from starting it again."""
    pid = json.loads((own.home.run / "control.pid.json").read_text())["pid"]
    own.process.send_signal(signal.SIGSTOP)
    try:
        os.kill(pid, signal.SIGKILL)
        yield
    finally:
        own.process.send_signal(signal.SIGCONT)


def get(own: Running, path: str, **headers: str) -> httpx.Response:
    return httpx.get(f"{own.url}services/gearshift/{path}", headers=headers, timeout=60)


def post(own: Running, path: str) -> httpx.Response:
    return httpx.post(
        f"{own.url}services/gearshift/{path}", headers={"Accept": "text/html"}, data={"x": "1"}, timeout=60
    )


def test_variables_are_there_after_the_whole_product_ended_and_began_again(own: Running) -> None:
    mia = Driver(own, "mia")
    mia.start("work")
    kernel = Kernel(own.server("mia", "work"), own.sign_in("mia"), "a.ipynb")
    kernel.run("kept = [1, 2, 3]")
    kernel.close()
    assert own.stop() == 0
    own.process = products.start(base_url="/team/", home=own.home).process
    (state,) = mia.get("workspaces/mia/work/states")
    assert (state["kind"], state["reason"]) == ("stop", "shutdown")
    mia.done(mia.begin("start", workspace="mia/work"))
    again = Kernel(own.server("mia", "work"), own.sign_in("mia"), "a.ipynb")
    assert again.kernel_id == kernel.kernel_id
    assert again.run("print(kept)").text == "[1, 2, 3]\n"
    again.close()


def test_while_control_is_down_people_see_a_page_of_ours_and_programs_a_code(own: Running) -> None:
    mia = Driver(own, "mia")
    workspace = mia.start("work")
    with control_killed(own):
        until(lambda: get(own, "api/v1/me").status_code == 503, 60, "the proxy has seen it")
        said = get(own, "api/v1/me", Accept="text/html")
        assert said.json()["error"]["code"] == "control_unavailable"
        assert said.headers["retry-after"] == "3"
        page = get(own, "start", Accept="text/html,*/*", **{"Accept-Language": "en"})
        assert (page.status_code, page.headers["retry-after"]) == (503, "3")
        assert "Your kernel and jobs keep running." in page.text
        assert '<meta http-equiv="refresh" content="3" />' in page.text
        assert "set-cookie" not in page.headers
        chinese = get(own, "", Accept="text/html", **{"Accept-Language": "zh-CN"})
        assert "内核与任务仍在运行" in chinese.text
        sent = post(own, "workspaces/mia/work/stop")
        assert (sent.status_code, "was not carried out" in sent.text) == (503, True)
        assert "http-equiv" not in sent.text
        assert mia.server("work", "api/status").status_code == 200
        style = httpx.get(f"{own.url}hub/gearshift-static/pages.css", timeout=60)
        assert style.status_code == 200
    until(lambda: get(own, "api/v1/me").status_code == 401, 60, "control is back")
    assert mia.workspace("work")["url"] == workspace["url"]
    mia.stop("work")
