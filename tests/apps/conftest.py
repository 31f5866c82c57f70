"""A product that offers the launched apps, and a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gearshift_hub.images.catalog import Catalog
from gearshift_testing import browsing
from gearshift_testing import running as products
from gearshift_testing.browsing import Surfer
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running
from playwright.sync_api import Browser, sync_playwright

OFFERED = [id for id, one in Catalog().apps.items() if one.is_locked]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all apps."""
    with sync_playwright() as playwright:
        made = browsing.launch(playwright)
        yield made
        made.close()


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The product of the other tests, with every app that has a lock."""
    deployment = tmp_path_factory.mktemp("apps") / "deployment.toml"
    deployment.write_text(f"apps = {OFFERED}\n{products.DEPLOYMENT.read_text()}")
    product = products.start(deployment)
    yield product
    code = product.stop()
    product.remove()
    assert code == 0


@pytest.fixture
def surfer(shop: Running, browser: Browser) -> Iterator[Surfer]:
    """A person who leaves no workspace running."""
    with browsing.surfer(shop, browser, "apps") as person:
        yield person
    driver = Driver(shop, "apps")
    for workspace in driver.get("workspaces"):
        if workspace["state"] != "stopped":
            driver.stop(workspace["name"])
