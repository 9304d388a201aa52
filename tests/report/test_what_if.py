"""The panel of a report that changes one thing of a run, in Debian's Chromium."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from commandline import Answer
from tussle.studio import is_built

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or not is_built(),
    reason="the panel of reports is not tested: there is no chromium (apt-get install chromium), or Rust "
    "lacks wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown)",
)
SCENARIO = """
duration = "6 s"
start_jitter = "20 ms"
repetitions = 2
[path]
rate = "10 Mbit/s"
rtt = "30 ms"
[path.queue]
limit = "40 packets"
[[flows]]
algorithm = "cubic"
[[flows]]
algorithm = ["reno", "bbr"]
start = "1 s"
"""


@pytest.fixture
def page() -> Iterator[Page]:
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 390, "height": 844})
        opened.on("console", lambda message: complaints.append(message.text))
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        yield opened
        browser.close()
    assert complaints == []


def show(page: Page, point: int) -> None:
    page.goto(Path("both/report.html").resolve().as_uri())
    anchor = page.get_attribute(f".detail[data-point='{point}']", "id")
    page.evaluate("anchor => { location.hash = anchor; }", anchor)
    page.wait_for_selector(f".detail.shown[data-point='{point}'] .chart svg")


def digests(page: Page, what: str, value: str) -> list[str]:
    """Simulate a change; return the digests of the tables of flows before and after."""
    what_changes, new_value = page.query_selector_all("#what-if select")
    what_changes.select_option(what)
    new_value.select_option(value)
    page.click("#what-if button.run")
    page.wait_for_selector("#what-if .digest")
    found = page.query_selector_all("#what-if .digest")
    return [line.inner_text().rpartition(" ")[2] for line in found]


def by_command_line(tussle_: Callable[..., Answer], *changes: str) -> list[str]:
    """Digests of the table of flows of each single run of the second point."""
    found = []
    for repetition in range(2):
        made = ("--set", "flows.1.algorithm=bbr", *changes, "-o", f"out-{len(changes)}")
        if not Path(f"out-{len(changes)}").exists():
            assert tussle_("run", "two.toml", *made).status == 0
        assert tussle_("export", f"out-{len(changes)}", "flows", "-o", "flows.csv").status == 0
        head, *rows = Path("flows.csv").read_text("utf-8").splitlines()
        of_run = [f"0,{row.partition(',')[2]}" for row in rows if row.startswith(f"{repetition},")]
        text = "\n".join([head, *of_run, ""])
        found.append(hashlib.sha256(text.encode()).hexdigest())
    return found


def test_a_changed_run_has_the_digest_of_the_command_line(page, tussle_):
    Path("two.toml").write_text(SCENARIO, "utf-8")
    assert tussle_("run", "two.toml", "-o", "both").status == 0
    show(page, 1)
    before, after = digests(page, "flow-0", "vegas")
    shown = by_command_line(tussle_).index(before)
    assert after == by_command_line(tussle_, "--set", "flows.0.algorithm=vegas")[shown]
    table = page.inner_text("#what-if table")
    assert "1 cubic → vegas" in table
    assert "2 bbr" in table
    again, twice = digests(page, "buffer", "twice")
    assert again == before
    doubled = ("--set", "path.queue.limit=80 packets", "--set", "seed=1")
    assert twice == by_command_line(tussle_, *doubled)[shown]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.eval_on_selector("#what-if table", "table => table.getBoundingClientRect().right") <= 390


def test_each_change_of_a_run_is_simulated(page, tussle_):
    Path("two.toml").write_text(SCENARIO, "utf-8")
    assert tussle_("run", "two.toml", "-o", "both").status == 0
    show(page, 0)
    changes = page.eval_on_selector(
        "#what-if select", "each => [...each.options].map(option => option.value)"
    )
    assert changes == ["rate", "rtt", "buffer", "loss", "flow-0", "flow-1"]
    for change in changes:
        page.query_selector_all("#what-if select")[0].select_option(change)
        values = page.query_selector_all("#what-if select")[1]
        last = values.evaluate("each => each.options[each.options.length - 1].value")
        before, after = digests(page, change, last)
        assert before != after, change


def test_a_point_with_an_algorithm_of_the_user_has_no_panel(page, tussle_):
    Path("mine.py").write_text("class Mine:\n    pass\n", "utf-8")
    Path("two.toml").write_text(SCENARIO.replace('"bbr"', '"mine.py:Mine"'), "utf-8")
    assert tussle_("run", "two.toml", "-o", "both").status == 0
    show(page, 1)
    assert not page.is_visible("#what-if")
    show(page, 0)
    assert page.is_visible("#what-if")
