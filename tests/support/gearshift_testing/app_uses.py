"""What a person does in each launched app: enough to show that pages, sockets, streams and uploads pass the proxy."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from gearshift_testing.browsing import SLOW_MS


def seen(found: Locator) -> None:
    expect(found.first).to_be_visible(timeout=SLOW_MS)


def marimo(page: Page) -> None:
    with page.context.expect_page() as opened:
        page.get_by_text("Create a new notebook").first.click()
    cell = opened.value.locator(".cm-content").first
    cell.click(timeout=SLOW_MS)
    opened.value.keyboard.insert_text("f'the answer is {6 * 7}'")
    opened.value.keyboard.press("Control+Enter")
    seen(opened.value.locator(".output-area", has_text="the answer is 42"))


def tensorboard(page: Page) -> None:
    seen(page.get_by_text("No dashboards are active for the current data set."))


def streamlit(page: Page) -> None:
    """A slider goes by websocket, a file as an upload."""
    seen(page.get_by_text("Its square is 9."))
    page.get_by_role("slider").press("ArrowRight")
    seen(page.get_by_text("Its square is 16."))
    file = {"name": "hello.txt", "mimeType": "text/plain", "buffer": b"hello"}
    page.locator("input[type=file]").set_input_files(files=[file])
    seen(page.get_by_text("hello.txt has 5 bytes."))


def gradio(page: Page) -> None:
    """The answer comes word by word, as an event stream."""
    page.get_by_label("Name").fill("Ada", timeout=SLOW_MS)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_label("Answer")).to_have_value(re.compile("Hello, Ada!"), timeout=SLOW_MS)


def nicegui(page: Page) -> None:
    page.get_by_role("button", name="Press").click(timeout=SLOW_MS)
    seen(page.get_by_text("It was pressed"))


def datasette(page: Page) -> None:
    page.get_by_role("link", name="data", exact=True).click(timeout=SLOW_MS)
    seen(page.get_by_role("heading", name="data"))
    page.get_by_role("textbox").first.wait_for()
    page.goto(f"{page.url.partition('?')[0]}?sql=select+6*7+as+answer")
    seen(page.get_by_role("cell", name="42", exact=True))


def notebook(page: Page) -> None:
    """A kernel of the app's own environment."""
    page.get_by_text("New", exact=True).first.click(timeout=SLOW_MS)
    with page.context.expect_page() as opened:
        page.get_by_role("menuitem", name="Python 3 (ipykernel)").click()
    opened.value.locator(".jp-Notebook-cell .cm-content").first.click(timeout=SLOW_MS)
    opened.value.keyboard.insert_text("print(6 * 7)")
    opened.value.keyboard.press("Shift+Enter")
    seen(opened.value.locator(".jp-OutputArea-output", has_text="42"))


def voila(page: Page) -> None:
    seen(page.get_by_text("Hello from Voila"))
    page.locator(".noUi-handle").first.press("ArrowRight")
    seen(page.get_by_text("Its square is 16"))


def bokeh(page: Page) -> None:
    seen(page.get_by_text("Hello from Bokeh"))
    page.locator(".noUi-handle").first.press("ArrowRight")
    seen(page.get_by_text("Its square is 16"))


def named(page: Page) -> None:
    """Dash and Panel greet whom the field names."""
    field = page.get_by_role("textbox").first
    field.fill("Ada", timeout=SLOW_MS)
    field.press("Enter")
    seen(page.get_by_text("Good day, Ada."))


def mlflow(page: Page) -> None:
    seen(page.get_by_text("Experiments", exact=True))
    page.get_by_text("Experiments", exact=True).first.click()
    seen(page.get_by_text("Default", exact=True))


def solara(page: Page) -> None:
    page.get_by_role("button", name="Press").click(timeout=SLOW_MS)
    seen(page.get_by_text("It was pressed 1 times"))


def locust(page: Page) -> None:
    page.get_by_role("button", name=re.compile("^start", re.IGNORECASE)).last.click(timeout=SLOW_MS)
    seen(page.get_by_text("hello", exact=True))


def sqlite_web(page: Page) -> None:
    page.get_by_role("link", name="Query").first.wait_for(timeout=SLOW_MS)
    page.get_by_role("link", name="Query").first.click()
    page.locator("textarea").first.fill("select 6 * 7 as answer")
    page.get_by_role("button", name="Execute").first.click()
    seen(page.get_by_role("cell", name="42", exact=True))


USES: dict[str, Callable[[Page], None]] = {
    "bokeh": bokeh,
    "dash": named,
    "datasette": datasette,
    "gradio": gradio,
    "locust": locust,
    "marimo": marimo,
    "mlflow": mlflow,
    "nicegui": nicegui,
    "notebook": notebook,
    "panel": named,
    "shiny": named,
    "solara": solara,
    "sqlite-web": sqlite_web,
    "streamlit": streamlit,
    "tensorboard": tensorboard,
    "voila": voila,
}
