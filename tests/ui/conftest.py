"""The browser of these tests, and people who leave nothing running."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gearshift_testing import browsing
from gearshift_testing import running as products
from gearshift_testing.browsing import Surfer, Visit
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running
from playwright.sync_api import Browser, sync_playwright

IN_THE_PAGE = "\n[documents]\non_server = false\n"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Playwright's loop runs as long as this: beyond the module it would be in the way of asynchronous tests."""
    with sync_playwright() as playwright:
        browser = browsing.launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The same product below `/team/`, but for idle time, where a person is warned a minute before, and for notebooks,
    which belong to the page there."""
    deployment = tmp_path_factory.mktemp("team") / "deployment.toml"
    declared = products.DEPLOYMENT.read_text()
    patient = declared.replace("min_hours = 0.002", "min_hours = 0.017").replace(
        "warn_before = 4", "warn_before = 60"
    )
    assert patient != declared
    deployment.write_text(patient + IN_THE_PAGE)
    product = products.start(deployment, base_url="/team/")
    yield product
    code = product.stop()
    product.remove()
    product.output.unlink(missing_ok=True)
    assert code == 0


@pytest.fixture(params=["/", "/team/"])
def site(request: pytest.FixtureRequest) -> Running:
    """A product below each base URL."""
    product: Running = request.getfixturevalue("running" if request.param == "/" else "team")
    return product


@pytest.fixture
def visit(running: Running, browser: Browser) -> Iterator[Visit]:
    """A person with a browser of their own; at the end their workspaces are stopped."""
    yield from visitors(running, browser)


@pytest.fixture
def visit_site(site: Running, browser: Browser) -> Iterator[Visit]:
    """The same on the product of `site`."""
    yield from visitors(site, browser)


@pytest.fixture
def visit_team(team: Running, browser: Browser) -> Iterator[Visit]:
    """The same on the product where a warning leaves a minute."""
    yield from visitors(team, browser)


def visitors(product: Running, browser: Browser) -> Iterator[Visit]:
    open_now = []

    def visit(user: str) -> Surfer:
        context = browsing.surfer(product, browser, user)
        person = context.__enter__()
        open_now.append((context, person))
        return person

    yield visit
    for context, person in open_now:
        context.__exit__(None, None, None)
        driver = Driver(product, person.user)
        for workspace in driver.get("workspaces"):
            if workspace["state"] != "stopped":
                driver.stop(workspace["name"])
        assert person.faults == []
