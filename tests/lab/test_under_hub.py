"""Behind the real hub and proxy: what counts as a press there, and a notebook that is switched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from gearshift.kernel import Kernel
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running

NAME = "pressing"
PRESS = {"X-Gearshift-Press": "1", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}


@pytest.fixture(scope="module")
def mei(running: Running) -> Iterator[Driver]:
    """A person with one workspace."""
    driver = Driver(running, "mei-presses")
    driver.start(NAME)
    yield driver
    driver.stop(NAME)


def propose(mei: Driver) -> str:
    body = {"kind": "switch", "workspace": f"{mei.user}/{NAME}", "machine": "sim-1"}
    answer = mei.server(NAME, "gearshift/api/plans", "POST", body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def press(client: httpx.Client, mei: Driver, plan: str, **headers: str) -> httpx.Response:
    url = f"{mei.product.server(mei.user, NAME)}gearshift/api/plans/{plan}/confirm"
    return client.post(url, json={"press": True}, headers={**PRESS, **headers})


def test_code_with_a_token_cannot_press_and_a_signed_in_page_can(mei: Driver) -> None:
    notebook = Kernel(mei.product.server(mei.user, NAME), mei.product.sign_in(mei.user), "a.ipynb")
    notebook.run("import numpy as np\nx = np.arange(3)\nview = x[1:]")
    notebook.run("import os")
    token = notebook.run("print(os.environ['JUPYTERHUB_API_TOKEN'])").text.strip()
    plan = propose(mei)
    for held in (token, mei.product.sign_in(mei.user)):
        with httpx.Client(headers={"Authorization": f"token {held}"}) as code:
            refused = press(code, mei, plan)
            assert (refused.status_code, _code(refused)) == (403, "needs_confirmation")
    with closing(mei.browser(NAME)) as page:
        xsrf = page.cookies.get("_xsrf", path=f"/user/{mei.user}/{NAME}/")
        assert press(page, mei, plan, **{"X-XSRFToken": "wrong"}).status_code == 403
        with_header = {"X-XSRFToken": "wrong", "Authorization": f"token {token}"}
        assert _code(press(page, mei, plan, **with_header)) == "needs_confirmation"
        pressed = press(page, mei, plan, **{"X-XSRFToken": str(xsrf)})
    assert pressed.status_code == 202, pressed.text
    mei.done(pressed.json())
    notebook.close()
    with closing(
        Kernel(mei.product.server(mei.user, NAME), mei.product.sign_in(mei.user), "a.ipynb")
    ) as moved:
        assert moved.kernel_id == notebook.kernel_id
        assert moved.run("x[1] = 9; print(view[0], os.environ['GEARSHIFT_MACHINE'])").text == "9 sim-1\n"


def _code(answer: httpx.Response) -> Any:
    return answer.json()["error"]["code"]
