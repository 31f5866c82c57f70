"""C08: what a person installs stays with its image and Python, and never breaks a server."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from gearshift.kernel import Kernel, KernelError
from gearshift_testing.driving import Driver, wanted

INSTALL = """
import os, pathlib, subprocess, sys, zipfile
with zipfile.ZipFile('demo_a-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('demo_a.py', 'VALUE = 17')
    info = 'demo_a-1.0.dist-info/'
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: demo-a\\nVersion: 1.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', 'demo_a.py,,\\n' + info + 'METADATA,,\\n' + info + 'WHEEL,,\\n' + info + 'RECORD,,\\n')
pip = [sys.executable, '-m', 'pip', '--disable-pip-version-check', 'install', '--no-index', '--no-deps']
done = subprocess.run([*pip, 'demo_a-1.0-py3-none-any.whl'], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
site = 'lib/python{}.{}/site-packages'.format(*sys.version_info)
for root in (os.environ['GEARSHIFT_PACKAGES'], pathlib.Path.home() / '.local'):
    for name in ('tornado', 'zmq'):
        broken = pathlib.Path(root) / site / name
        broken.mkdir(parents=True)
        (broken / '__init__.py').write_text('raise RuntimeError("broken")')
"""
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
