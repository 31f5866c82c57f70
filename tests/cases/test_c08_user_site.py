"""C08: what a person installs stays with its image and Python, and never breaks a server."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from gearshift.kernel import Kernel, KernelError
from gearshift_testing.driving import Driver, wanted
from gearshift_testing.person_packages import INSTALL

ELSEWHERE = """
import os, subprocess, sys
other = {**os.environ, 'GEARSHIFT_PACKAGES': os.environ['GEARSHIFT_PACKAGES'] + '-of-another-image'}
other['GEARSHIFT_SAFE_START'] = ''
print(subprocess.run([sys.executable, '-c', 'import demo_a'], env=other, capture_output=True).returncode)
"""


def kernel_of(driver: Driver, name: str) -> Kernel:
    product = driver.product
    return Kernel(product.server(driver.user, name), product.sign_in(driver.user), "c08.ipynb")


def test_c08_packages_of_a_person_stay_with_their_image_and_break_no_server(
    person: Callable[[str], Driver],
) -> None:
    driver = person("c08")
    driver.start("work")
    kernel_of(driver, "work").run(INSTALL)
    assert kernel_of(driver, "work").run("import demo_a; print(demo_a.VALUE)").text == "17\n"
    driver.stop("work")

    assert driver.start("work")["state"] == "ready"
    again = kernel_of(driver, "work")
    assert again.run("import demo_a, tornado; print(demo_a.VALUE, tornado.__file__)").text.startswith(
        f"17 {sys.prefix}"
    )
    assert again.run(ELSEWHERE).text == "1\n"
    driver.stop("work")

    refused = driver.plan("start", name="work", spec=wanted("cpu-small"), safe="yes").json()["error"]
    assert (refused["code"], refused["field"]) == ("bad_request", "safe")
    driver.done(driver.begin("start", name="work", spec=wanted("cpu-small"), state="none", safe=True))
    safe = kernel_of(driver, "work")
    with pytest.raises(KernelError, match="No module named 'demo_a'"):
        safe.run("import demo_a")
    assert safe.run("print(__import__('tornado').version_info[0] > 0)").text == "True\n"
