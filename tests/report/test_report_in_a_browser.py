"""The report in Debian's Chromium: its drawings, its reactions to mouse and keys, and no network requests."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import tussle
from plausible import PlausibleDataset, by_hand, flow_row, matrix, run_row
from tussle.catalog import catalog
from tussle.report import write

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None,
    reason="the report in a browser is not tested: there is no chromium (apt-get install chromium)",
)

ALGORITHMS = ["reno", "vegas", "cubic"]
THIRTEEN = ["htcp", "hybla", "illinois", "lp", "vegas", "reno", "bic", "westwood"]
THIRTEEN += ["yeah", "cubic", "highspeed", "scalable", "veno"]
DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
MEGABYTE = 1_000_000
TIMES = """[...document.querySelectorAll(".detail.shown .chart[data-name=window] .role-axis-label text")]
    .map(label => label.textContent).sort().join()"""
"""Labels of the axes of windows."""


@pytest.fixture(scope="module")
def dataset() -> PlausibleDataset:
    return matrix(ALGORITHMS, 2)


@pytest.fixture(scope="module")
def file(dataset: PlausibleDataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(dataset, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not start for root, as which containers run.
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose errors and requests fail the test at its end."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: complaints.append(request.url) if is_foreign(request.url) else None)
    yield opened
    opened.close()
    assert complaints == []


def is_foreign(url: str) -> bool:
    return not (url.startswith(("blob:", "data:")) or url.partition("#")[0].endswith("/report.html"))


def opened(page: Page, file: Path, place: str = "") -> Page:
    page.goto(f"{file.as_uri()}{place}")
    page.wait_for_selector(".detail.shown .chart svg.marks")
    return page


def shown(page: Page) -> list[str]:
    return [
        detail.get_attribute("id") or ""
        for detail in page.query_selector_all(".detail")
        if detail.is_visible()
    ]


def rows(page: Page) -> list[str]:
    return page.eval_on_selector_all(
        ".matrix tbody tr:not([hidden])", "rows => rows.map(r => r.dataset.name)"
    )


def columns(page: Page) -> list[str]:
    return page.eval_on_selector_all(
        ".matrix thead th[data-name]:not([hidden])", "heads => heads.map(h => h.dataset.name)"
    )


def pairs(algorithms: list[str], repetitions: int = 1) -> PlausibleDataset:
    """Every ordered pair, with goodputs of many digits that differ between the repetitions, and no series."""
    runs, flows = [], []
    for point, (first, second) in enumerate(product(algorithms, repeat=2)):
        for repetition in range(repetitions):
            run = len(runs)
            axes = {"flows.0.algorithm": first, "flows.1.algorithm": second}
            runs.append(run_row(run, point=point, repetition=repetition, **axes))
            goodputs = 0.0123e6 * (1 + repetition), 91e6 + 1e6 * repetition
            more = {"steady_sent_packets": 90_000, "steady_retransmitted_packets": 70 * repetition + 3}
            more |= {"steady_timeouts": 12 * repetition}
            more |= {"rtt_p50_ms": 153.0 + 9 * repetition, "rtt_p95_ms": 202.0 + 9 * repetition}
            flows.append(flow_row(run, 0, algorithm=first, goodput_bit_per_s=goodputs[0], **more))
            flows.append(flow_row(run, 1, algorithm=second, goodput_bit_per_s=goodputs[1], **more))
    series = matrix(["reno"])
    return replace(
        by_hand(runs=runs, flows=flows), samples=series.samples.limit(0), links=series.links.limit(0)
    )


def downloaded(page: Page, button: str) -> pl.DataFrame:
    with page.expect_download() as waiting:
        page.click(button)
    return pl.read_csv(StringIO(Path(waiting.value.path()).read_text()))


def test_the_page_draws_the_pair_in_its_address(page: Page, file: Path):
    opened(page, file, "#pair-reno-vegas")
    page.wait_for_function("document.querySelectorAll('.detail.shown .chart svg.marks').length === 5")
    assert shown(page) == ["pair-reno-vegas"]
    assert "vegas (second)" in page.inner_text(".detail.shown .chart")
    assert page.locator(".matrix a").count() == 9


def test_every_figure_of_all_points_is_drawn_when_it_comes_into_view(page: Page, file: Path):
    opened(page, file)
    figures = page.locator(".overview")
    assert figures.count() >= 4
    for place in range(figures.count()):
        figures.nth(place).scroll_into_view_if_needed()
        figures.nth(place).locator("svg.marks").wait_for()


def test_a_click_on_a_cell_changes_the_details(page: Page, file: Path):
    opened(page, file, "#pair-reno-vegas")
    page.click('.matrix a[href="#pair-vegas-reno"]')
    page.wait_for_selector("#pair-vegas-reno .chart svg.marks")
    assert shown(page) == ["pair-vegas-reno"]
    assert "reno (second)" in page.inner_text(".detail.shown .chart")
    assert page.get_attribute('.matrix a[href="#pair-vegas-reno"]', "aria-current") == "true"
    assert page.inner_text("#heard") == "Shown: vegas first, reno second"


def test_enter_on_a_cell_changes_the_details(page: Page, file: Path):
    opened(page, file, "#pair-reno-vegas")
    page.focus('.matrix a[href="#pair-cubic-reno"]')
    page.keyboard.press("Enter")
    page.wait_for_selector("#pair-cubic-reno .chart svg.marks")
    assert shown(page) == ["pair-cubic-reno"]


def test_arrow_keys_move_between_cells(page: Page, file: Path):
    opened(page, file)
    page.focus('.matrix a[href="#pair-reno-reno"]')
    for key, place in [
        ("ArrowRight", "reno-vegas"),
        ("ArrowDown", "vegas-vegas"),
        ("ArrowLeft", "vegas-reno"),
    ]:
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.hash") == f"#pair-{place}"


def test_the_focused_element_is_outlined(page: Page, file: Path):
    opened(page, file)
    for _ in range(12):
        page.keyboard.press("Tab")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style in ("solid", "auto"), page.evaluate("document.activeElement.outerHTML")


def test_another_metric_changes_numbers_words_and_legend(page: Page, file: Path, dataset: PlausibleDataset):
    opened(page, file)
    page.select_option("#quantity", label="RTT p95 (ms)")
    cell = page.locator('.matrix a[href="#pair-reno-vegas"]')
    assert cell.inner_text() == "79 / 79"
    sentence = cell.get_attribute("aria-label") or ""
    assert sentence.startswith("reno first, vegas second: RTT p95 79 / 79 ms; they do not share fairly")
    assert page.inner_text("#meaning") == "RTT p95 in ms, of the first and of the second flow"
    page.select_option("#quantity", "0")
    goodput = dataset.flows.filter(pl.col("run").is_in([2, 3])).collect()
    median = goodput.filter(pl.col("flow") == 0)["goodput_bit_per_s"].median()
    assert isinstance(median, float)
    assert float(cell.inner_text().partition(" / ")[0]) == pytest.approx(median / 1e6, rel=0.05)
    assert "they do not share fairly" in (cell.get_attribute("aria-label") or "")


def test_rows_and_columns_are_sorted_together(page: Page, file: Path):
    opened(page, file)
    assert rows(page) == columns(page) == ALGORITHMS
    page.select_option("#order", "name")
    assert rows(page) == columns(page) == sorted(ALGORITHMS)
    page.select_option("#order", "value")
    assert rows(page) == columns(page)
    assert rows(page)[-1] == "vegas"
    page.select_option("#order", "run")
    assert rows(page) == columns(page) == ALGORITHMS


@pytest.mark.parametrize("order", ["run", "name", "value"])
def test_sorting_moves_cells_with_their_pair(page: Page, file: Path, order: str):
    opened(page, file)
    page.select_option("#order", order)
    pairs = page.eval_on_selector_all(".matrix a", "cells => cells.map(c => c.hash)")
    assert pairs == [f"#pair-{first}-{second}" for first, second in product(rows(page), columns(page))]


def test_a_filter_keeps_matching_rows_and_shows_their_number(page: Page, file: Path):
    opened(page, file)
    page.fill("#only", "reno, CUB")
    assert rows(page) == columns(page) == ["reno", "cubic"]
    assert page.inner_text("#heard") == "4 pairs shown"
    page.fill("#only", "")
    assert rows(page) == ALGORITHMS


def test_the_verdict_filter_fades_the_other_pairs(page: Page, file: Path):
    opened(page, file)
    page.select_option("#verdict", "no")
    faint = page.eval_on_selector_all(".matrix a.faint", "cells => cells.map(c => c.hash)")
    assert "#pair-reno-vegas" not in faint
    assert "#pair-reno-reno" in faint


def test_a_heading_sorts_its_table_by_keyboard(page: Page, file: Path):
    opened(page, file, "#pair-reno-vegas")
    heading = page.locator(".detail.shown th", has_text="Goodput")
    heading.locator("button").focus()
    for direction, first in [("ascending", "vegas"), ("descending", "reno")]:
        page.keyboard.press("Enter")
        assert heading.get_attribute("aria-sort") == direction
        assert page.inner_text(".detail.shown tbody tr:first-child td:nth-child(2)") == first


def test_a_table_is_downloaded_with_all_digits(page: Page, file: Path, dataset: PlausibleDataset):
    opened(page, file, "#pair-reno-vegas")
    table = downloaded(page, ".detail.shown button[data-save=table]")
    flows = dataset.flows.filter(pl.col("run").is_in([2, 3])).collect()
    medians = flows.group_by("flow", maintain_order=True).agg(pl.col("goodput_bit_per_s").median() / 1e6)
    assert table["Algorithm"].to_list() == ["reno", "vegas"]
    assert table["Goodput Mbit/s"].to_list() == pytest.approx(
        medians["goodput_bit_per_s"].to_list(), rel=1e-8
    )
    assert {"Goodput Mbit/s q1", "Goodput Mbit/s q3"} <= set(table.columns)


def test_the_matrix_is_downloaded_as_it_is_shown(page: Page, file: Path):
    opened(page, file)
    page.select_option("#quantity", label="Jain index")
    page.fill("#only", "reno, vegas")
    table = downloaded(page, "button[data-save=matrix]")
    assert table.select("first", "second").rows() == list(product(["reno", "vegas"], repeat=2))
    assert table["value"].is_between(0.5, 1).all()


def test_a_series_is_downloaded_with_its_units(page: Page, file: Path):
    opened(page, file, "#pair-reno-vegas")
    series = downloaded(page, ".detail.shown figure:first-of-type button[data-save=chart]")
    assert series.columns == ["series", "time_s", "goodput_mbit_per_s"]
    assert set(series["series"]) == {"reno (first)", "vegas (second)"}


def test_a_table_behind_the_page_is_downloaded(page: Page, file: Path, dataset: PlausibleDataset):
    opened(page, file)
    runs = downloaded(page, "button[data-file='runs.csv']")
    assert runs["seed"].to_list() == dataset.runs.collect()["seed"].to_list()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_colour_scheme_of_the_system(page: Page, file: Path, scheme):
    page.emulate_media(color_scheme=scheme)
    opened(page, file)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 29)"}[scheme]
    label = page.get_attribute(".detail.shown svg .role-axis-label text", "fill")
    assert label == {"light": "#5a616b", "dark": "#a3abb5"}[scheme]


def test_a_change_of_colours_draws_the_charts_again(page: Page, file: Path):
    opened(page, file)
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector(".detail.shown svg .role-axis-label text[fill='#a3abb5']")


def test_a_dark_page_prints_dark_on_white_without_download_buttons(page: Page, file: Path):
    page.emulate_media(color_scheme="dark")
    opened(page, file).emulate_media(color_scheme="dark", media="print")
    colour = "(element, of) => getComputedStyle(element)[of]"
    ink = "rgb(22, 24, 29)"
    assert page.eval_on_selector("body", colour, "backgroundColor") == "rgb(255, 255, 255)"
    assert page.eval_on_selector("h1", colour, "color") == ink
    assert page.eval_on_selector(".detail.shown .chart svg text", colour, "fill") == ink
    assert not [each for each in page.query_selector_all("button.save, select, .files") if each.is_visible()]


def test_charts_are_narrower_while_they_are_printed(page: Page, file: Path):
    """The plot has 520 of the 700 px of the paper; the font keeps its size."""
    opened(page, file).wait_for_function("document.querySelectorAll('.detail.shown svg.marks').length === 5")
    widths = "charts => charts.map(chart => chart.width.baseVal.value)"
    on_screen = page.eval_on_selector_all(".detail.shown svg.marks", widths)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    on_paper = page.eval_on_selector_all(".detail.shown svg.marks", widths)
    assert max(on_screen) > 700 > max(on_paper)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.eval_on_selector_all(".detail.shown svg.marks", widths) == on_screen


def test_printed_tables_stay_with_their_heading_and_all_sections_are_open(page: Page, file: Path):
    opened(page, file).emulate_media(media="print")
    style = "(element, of) => getComputedStyle(element)[of]"
    assert page.eval_on_selector(".detail.shown .scroll", style, "breakInside") == "avoid"
    assert page.eval_on_selector(".detail.shown h2", style, "breakAfter") == "avoid"
    assert page.eval_on_selector(".detail.shown .note", style, "breakAfter") == "avoid"
    assert page.is_visible("text=[[flows]]")


def test_a_printed_page_has_no_dark_colours_and_no_definitions(page: Page, file: Path):
    page.emulate_media(color_scheme="dark")
    opened(page, file).locator("#figure-box svg.marks").wait_for()
    page.emulate_media(color_scheme="dark", media="print")
    fills = "marks => marks.map(mark => getComputedStyle(mark).fill)"
    shown_fills = page.eval_on_selector_all("#figure-box svg [fill='#16181d']", fills)
    assert set(shown_fills) == {"rgb(255, 255, 255)"}
    assert not page.is_visible(".meanings")


def test_on_a_dark_page_no_mark_is_white_or_black(page: Page, file: Path):
    page.emulate_media(color_scheme="dark")
    opened(page, file)
    for overview in page.locator(".overview").all():
        overview.scroll_into_view_if_needed()
        overview.locator("svg.marks").wait_for()
    colours = ["white", "black", "#fff", "#ffffff", "#000", "#000000"]
    glaring = ", ".join(f"svg.marks [fill='{colour}'], svg.marks [stroke='{colour}']" for colour in colours)
    assert page.eval_on_selector_all(glaring, "marks => marks.map(mark => mark.outerHTML)") == []


def test_the_matrix_stays_in_view_beside_its_charts(page: Page, file: Path):
    page.set_viewport_size(DESK)  # pyright: ignore[reportArgumentType]
    opened(page, file, "#pair-reno-vegas")
    page.locator(".detail.shown .chart").last.scroll_into_view_if_needed()
    cells = page.locator(".matrix a").all()
    assert all(0 <= box["y"] <= DESK["height"] for cell in cells if (box := cell.bounding_box()))


def test_the_matrix_does_not_cover_charts_that_are_below_it(page: Page, file: Path):
    page.set_viewport_size(PHONE)  # pyright: ignore[reportArgumentType]
    opened(page, file)
    page.locator(".detail.shown .chart").last.scroll_into_view_if_needed()
    assert page.evaluate("document.querySelector('.matrices').getBoundingClientRect().bottom") < 0


@pytest.mark.parametrize("width", [390, 1280, 1440, 1920])
@pytest.mark.parametrize("count", [5, 7])
def test_every_number_of_a_pair_is_in_view(page: Page, tmp_path: Path, count: int, width: int):
    """The page has a matrix of several algorithms, and quartiles of repetitions."""
    file = write(pairs(THIRTEEN[:count], 3), tmp_path / "report.html")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(file.as_uri())
    ends = "cells => cells.map(cell => cell.getBoundingClientRect().right)"
    assert max(page.eval_on_selector_all(".detail.shown .numbers td, .points td", ends)) <= width
    room = "(place) => place.scrollWidth - place.clientWidth"
    assert page.eval_on_selector(".detail.shown .scroll", room) == 0
    if count == 5:
        assert page.eval_on_selector(".matrices .scroll", room) == 0


def test_on_a_phone_every_number_has_its_label(page: Page, file: Path):
    page.set_viewport_size(PHONE)  # pyright: ignore[reportArgumentType]
    opened(page, file)
    script = "cells => cells.map(cell => getComputedStyle(cell, '::before').content)"
    labels = page.eval_on_selector_all(".detail.shown tbody tr:first-child td", script)
    assert labels[:4] == ['"Flow"', '"Algorithm"', '"Goodput, Mbit/s"', '"Share, %"']


def test_a_matrix_of_twenty_two_algorithms_fits_the_window(page: Page, tmp_path: Path):
    file = write(pairs(list(catalog().algorithms)), tmp_path / "report.html")
    page.set_viewport_size(DESK)  # pyright: ignore[reportArgumentType]
    page.goto(file.as_uri())
    assert page.locator(".matrix a").count() == 22 * 22
    ends = "cells => cells.map(cell => cell.getBoundingClientRect().right)"
    assert max(page.eval_on_selector_all(".matrix a", ends)) <= DESK["width"]
    assert page.eval_on_selector(".matrices .scroll", "place => place.scrollWidth <= place.clientWidth")


def test_a_button_shows_all_rows_of_a_long_table(page: Page, tmp_path: Path):
    page.goto(write(pairs([*ALGORITHMS, "bic"], 3), tmp_path / "report.html").as_uri())
    hidden = "place => place.scrollHeight - place.clientHeight"
    assert page.eval_on_selector(".tall", hidden) > 0
    page.click("text=All 16 rows")
    assert page.eval_on_selector(".tall", hidden) == 0
    assert page.get_attribute("button.more", "aria-expanded") == "true"


def test_a_tooltip_shows_the_values_under_the_pointer(page: Page, file: Path):
    opened(page, file, "#pair-reno-vegas")
    chart = page.locator(".detail.shown .chart[data-name=throughput]")
    assert not page.is_visible(".tip")
    box = chart.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    time, *values = page.inner_text(".tip").splitlines()
    series = downloaded(page, ".detail.shown figure:first-of-type button[data-save=chart]")
    second = series.with_columns((pl.col("time_s") - float(time.removesuffix(" s"))).abs().alias("away"))
    nearest = second.sort("away").unique("series", keep="first", maintain_order=True).sort("series")
    wanted = [f"{name}, goodput: {value:g} Mbit/s" for name, _, value, _ in nearest.iter_rows()]
    assert sorted(values) == wanted
    page.mouse.move(0, 0)
    assert not page.is_visible(".tip")


def test_the_tooltip_of_a_dot_has_the_colours_of_the_page(page: Page, file: Path):
    page.emulate_media(color_scheme="dark")
    opened(page, file)
    ranking = page.locator("#figure-ranking .chart")
    ranking.scroll_into_view_if_needed()
    dot = ranking.locator("[aria-roledescription=point]").first
    dot.wait_for()
    dot.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible.dark-theme")
    assert "share (%)" in page.inner_text("#vg-tooltip-element")


def test_the_wheel_zooms_the_time_with_ctrl_and_scrolls_the_page_without(page: Page, file: Path):
    opened(page, file, "#pair-reno-vegas").locator(".detail.shown .chart[data-name=rtt] svg.marks").wait_for()
    chart = page.locator(".detail.shown .chart[data-name=window]")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    whole, top = page.evaluate(TIMES), page.evaluate("scrollY")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.wait_for_function(f"{TIMES} !== '{whole}'")
    assert page.evaluate("scrollY") == top
    assert chart.locator("text=buffer").first.is_visible()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    page.wait_for_function(f"{TIMES} === '{whole}'")
    page.mouse.wheel(0, 100)
    page.wait_for_function(f"scrollY > {top}")


def test_nothing_is_wider_than_a_phone(page: Page, file: Path):
    page.set_viewport_size(PHONE)  # pyright: ignore[reportArgumentType]
    opened(page, file)
    for overview in page.locator(".overview").all():
        overview.scroll_into_view_if_needed()
        overview.locator("svg.marks").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.click('.matrix a[href="#pair-reno-reno"]')
    page.wait_for_selector("#pair-reno-reno .chart svg.marks")


def test_a_legend_of_many_flows_is_not_wider_than_a_phone(page: Page, tmp_path: Path):
    """Six names such as "westwood (second-1)" do not fit in three columns."""
    many = tussle.matrix(
        "westwood",
        profile="dsl",
        flows="4x2",
        duration="3 s",
        stagger="1 s",
        repetitions=1,
        output=tmp_path / "many",
        workers=1,
    )
    page.set_viewport_size(PHONE)  # pyright: ignore[reportArgumentType]
    opened(page, write(many, tmp_path / "report.html"), "#pair-westwood-westwood")
    page.locator(".detail.shown .chart").last.locator("svg.marks").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_screen_readers_get_a_name_for_every_control(page: Page, file: Path):
    opened(page, file)
    assert page.get_attribute("html", "lang") == "en"
    assert page.locator("h1").count() == 1
    nameless = page.eval_on_selector_all(
        "button, a, select, input",
        """controls => controls.filter(c => !(c.getAttribute("aria-label") || c.innerText || c.textContent
             || [...(c.labels || [])].map(l => l.innerText).join("")).trim()).map(c => c.outerHTML)""",
    )
    assert nameless == []
    assert page.eval_on_selector_all("table", "tables => tables.filter(t => !t.caption).length") == 0
    assert page.eval_on_selector_all("th", "heads => heads.filter(h => !h.scope).length") == 0
    regions = "regions => regions.filter(r => r.tabIndex === 0 && !r.getAttribute('aria-label')).length"
    assert page.eval_on_selector_all(".scroll", regions) == 0
    chart = page.get_attribute(".detail.shown .chart [role=graphics-document]", "aria-label") or ""
    assert chart.startswith("Goodput against time")


def test_without_javascript_all_points_and_numbers_are_there(browser: Browser, file: Path):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert len(shown(page)) == 9
    assert page.is_visible(".matrix a")
    context.close()


def test_a_matrix_of_thirteen_algorithms_is_a_small_page(page: Page, tmp_path: Path):
    file = write(matrix(THIRTEEN), tmp_path / "report.html")
    assert file.stat().st_size < 5 * MEGABYTE
    opened(page, file, "#pair-veno-lp")
    assert page.locator(".matrix a").count() == 169
    assert page.eval_on_selector(".matrices .scroll", "place => place.scrollWidth <= place.clientWidth")
    assert shown(page) == ["pair-veno-lp"]
