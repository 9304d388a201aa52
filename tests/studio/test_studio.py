"""The studio in Debian's Chromium: its numbers, its controls, and no network requests."""

import hashlib
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Page, ViewportSize

from commandline import Answer, refused
from in_a_page import DESK, finished, opened, saved
from tussle.catalog import catalog
from tussle.scenario import Scenario
from tussle.studio import QUEUES

TABLES = ("flows", "samples", "links", "events")
SHORT = "rate=5&rtt=20&duration=5"
PHONE: ViewportSize = {"width": 390, "height": 844}


def by_command_line(toml: str, tussle_: Callable[..., Answer]) -> dict[str, str]:
    """The tables that `tussle run` and `tussle export` write for a scenario, in the present folder."""
    Path("studio.toml").write_text(toml, "utf-8")
    assert tussle_("run", "studio.toml", "-o", "out").status == 0
    for name in TABLES:
        assert tussle_("export", "out", name, "-o", f"{name}.csv").status == 0
    return {name: Path(f"{name}.csv").read_text("utf-8") for name in TABLES}


def random_query(number: int) -> str:
    """A set-up of random values, of which the sliders have only some."""
    draw = Random(number)  # noqa: S311 (nothing here is secret)
    algorithms = [draw.choice(list(catalog().algorithms)) for _ in range(draw.randint(1, 4))]
    flows = ",".join(f"{each}@{draw.choice([0, 0.5, 1, 2.25])}" for each in algorithms)
    chosen = {
        "rate": draw.choice([0.5, 1, 3.3, 10, 30]),
        "rtt": draw.choice([1, 7.5, 40, 150]),
        "buffer": draw.choice([0.05, 0.333, 1, 2.5, 8]),
        "loss": draw.choice([0, 0, 0.003, 0.13, 2]),
        "duration": draw.choice([4, 7]),
        "seed": draw.randint(0, 1000),
        "cwnd": draw.choice([3, 10]),
        "recovery": draw.choice(["rack", "rfc6675", "newreno"]),
        "pacing": draw.choice(["true", "false"]),
        "ecn": draw.choice(["true", "false"]),
        "offloads": draw.choice(["true", "false"]),
        "queue": QUEUES[number % len(QUEUES)],
    }
    return "&".join(f"{name}={value}" for name, value in chosen.items()) + f"&flows={flows}"


@pytest.mark.parametrize("number", range(2 * len(QUEUES)))
def test_the_tables_of_a_random_set_up_are_those_of_the_command_line(page, studio_file, tussle_, number):
    opened(page, studio_file, random_query(number))
    tables = by_command_line(saved(page, "toml"), tussle_)
    for name, text in tables.items():
        assert saved(page, f"{name}.csv") == text, f"{name} of {random_query(number)}"


def test_a_moved_slider_starts_a_run_whose_digest_is_that_of_the_command_line(page, studio_file, tussle_):
    opened(page, studio_file, f"{SHORT}&flows=cubic,reno")
    page.wait_for_selector(".bench .digest:not(:empty)")
    before = page.inner_text(".bench .digest")
    page.focus("input[name=buffer]")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(f".bench .digest:not(:empty):not(:has-text('{before}'))")
    finished(page)
    assert page.get_attribute("input[name=buffer]", "aria-valuetext") == "1.5 BDP"
    assert "buffer=1.5" in page.url
    toml = saved(page, "toml")
    assert 'limit = "1.5 bdp"' in toml
    digest = hashlib.sha256(by_command_line(toml, tussle_)["flows"].encode()).hexdigest()
    assert page.inner_text(".bench .digest") == f"SHA-256 of flows.csv: {digest}"
    assert digest not in before


def test_an_address_holds_both_set_ups_whole(page, studio_file):
    first = "rate=3.3&rtt=20&loss=0.13&queue=codel&duration=5&seed=7&cwnd=3&recovery=newreno&pacing=true"
    first += "&flows=bbr,vegas@1"
    second = "duration=6&ecn=true&offloads=true&flows=dctcp"
    opened(page, studio_file, f"{first}&and&{second}")
    assert len(page.query_selector_all(".bench:not([hidden]) .result:not([hidden])")) == 2
    for name, query in {"a": first, "b": second}.items():
        pairs = dict(parse_qsl(query))
        toml = Scenario.from_dict(tomllib.loads(saved(page, "toml", name))).to_dict()
        assert toml["duration"] == f"{pairs['duration']} s"
        assert [flow["algorithm"] for flow in toml["flows"]] == [
            flow.split("@")[0] for flow in pairs["flows"].split(",")
        ]
    page.uncheck("#both")
    page.check("#both")
    assert page.url.partition("#")[2].count("rate=3.3") == 2, (
        "the second set-up begins as a copy of the first"
    )
    page.uncheck("#both")
    assert parse_qsl(page.url.partition("#")[2]) == parse_qsl(first)


@pytest.mark.parametrize(
    "query",
    [
        "flows=renno",
        "rate=-1&flows=reno",
        "rate=1e99&duration=5",
        "queue=red",
        "flows=reno@99&duration=5",
        "%",
        "flows=<img src=x>",
    ],
)
def test_an_address_with_impossible_values_has_the_usual_ones(page, studio_file, query):
    opened(page, studio_file, query)
    scenario = Scenario.from_dict(tomllib.loads(saved(page, "toml"))).to_dict()
    assert scenario["path"]["rate"] == "10 Mbit/s"
    assert scenario["path"]["queue"]["kind"] == "fifo"
    assert {flow["algorithm"] for flow in scenario["flows"]} <= {"cubic", "reno"}


def test_time_stands_still_during_a_pause_and_advances_by_steps(page, studio_file):
    opened(page, studio_file, f"{SHORT}&flows=cubic")
    page.select_option("#speed", "1/100")
    page.click("#again")
    page.click("#play")
    assert page.inner_text("#play") == "Go on"
    before = clock(page)
    page.wait_for_timeout(200)
    assert clock(page) == before < 0.5
    page.click("#step")
    page.click("#step")
    assert clock(page) == pytest.approx(before + 0.1, abs=0.011)
    page.select_option("#speed", "fast")
    page.click("#play")
    finished(page)
    assert clock(page) == 5


def clock(page: Page) -> float:
    return float(page.inner_text("#clock").removesuffix(" s"))


def test_flows_are_added_and_removed(page, studio_file):
    opened(page, studio_file, f"{SHORT}&flows=cubic")
    assert page.is_disabled(".flow .remove")
    page.click(".add")
    page.select_option("select[name=algorithm-1]", "vegas")
    finished(page)
    names = page.eval_on_selector_all(
        ".bench:not([hidden]) .result tbody th", "heads => heads.map(h => h.textContent)"
    )
    assert names == ["1 cubic", "2 vegas"]
    page.click("[aria-label='Remove flow 1']")
    finished(page)
    assert 'algorithm = "vegas"' in saved(page, "toml")
    assert page.url.endswith("flows=vegas")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_nothing_is_wider_than_the_window(page, studio_file, size):
    page.set_viewport_size(size)
    opened(page, studio_file, f"{SHORT}&flows=cubic,bbr,vegas&and&{SHORT}&flows=cubic")
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    widths = page.eval_on_selector_all(
        ".bench:not([hidden]) canvas", "all => all.map(each => each.clientWidth)"
    )
    assert len(widths) == 8
    assert min(widths) > 250


def test_every_control_is_reached_by_keys_and_has_a_name(page, studio_file):
    opened(page, studio_file, f"{SHORT}&flows=cubic")
    named = page.eval_on_selector_all(
        ".bench:not([hidden]) :is(input, select, button)",
        """all => all.map(each =>
            (each.labels?.[0]?.textContent || each.ariaLabel || each.textContent).trim())""",
    )
    assert all(named), named
    assert page.evaluate("document.querySelectorAll('[tabindex=\"-1\"]').length") == 0


def test_a_page_that_cannot_be_written_is_named(tussle_):
    Path("file").write_text("", "utf-8")
    sentence = "cannot write file/studio.html: Not a directory; give another path"
    assert sentence in refused(tussle_("studio", "-o", "file/studio.html"))


def test_the_command_writes_the_page(tussle_):
    answer = tussle_("studio")
    assert (answer.status, answer.out) == (0, "studio: studio.html\n")
    assert Path("studio.html").stat().st_size < 700_000
