"""Actions of a user of the studio, and what the page shows."""

from pathlib import Path

from playwright.sync_api import Page, ViewportSize

DESK: ViewportSize = {"width": 1400, "height": 900}


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
