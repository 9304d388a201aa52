"""The studio in Chromium: its page as a fixture, the actions of a user, and what the page shows."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from tussle.studio import is_built, write

DESK: ViewportSize = {"width": 1400, "height": 900}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LACKING = (
    "the studio is not tested: there is no chromium (apt-get install chromium), or Rust lacks "
    "wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown)"
)


@pytest.fixture(scope="module")
def studio_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if CHROMIUM is None or not is_built():
        pytest.skip(LACKING)
    return write(tmp_path_factory.mktemp("studio") / "studio.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip(LACKING)
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not start for root, as which containers run.
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose errors and requests fail the test at its end."""
    opened = browser.new_page(viewport=DESK)
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: complaints.append(request.url) if is_foreign(request.url) else None)
    yield opened
    opened.close()
    assert complaints == []


def is_foreign(url: str) -> bool:
    return not (url.startswith(("blob:", "data:")) or url.partition("#")[0].endswith("/studio.html"))


def opened(page: Page, file: Path, query: str) -> Page:
    page.goto("about:blank")
    page.goto(f"{file.as_uri()}#{query}")
    finished(page)
    return page


def finished(page: Page) -> None:
    page.wait_for_selector("body[data-state=done] .bench:not([hidden]) .result:not([hidden])")


def saved(page: Page, what: str, bench: str = "a") -> str:
    with page.expect_download() as waiting:
        page.click(f".bench[data-name={bench}] [data-save='{what}']")
    return Path(waiting.value.path()).read_text("utf-8")
