"""Figures: what they show, of any dataset, and what they say when they cannot."""

import re
from dataclasses import replace
from io import StringIO
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from plausible import PlausibleDataset, matrix, sweep
from tussle import figures
from tussle.errors import TussleError
from tussle.figures import REGISTRY, Figure, View, draw, save
from tussle.figures._series import thin
from tussle.metrics import REGISTRY as METRICS

FILES = sorted(path.stem for path in Path(figures.__path__[0]).glob("[a-z]*.py"))
THIRTEEN = ["htcp", "hybla", "illinois", "lp", "vegas", "reno", "bic", "westwood"]
THIRTEEN += ["yeah", "cubic", "highspeed", "scalable", "veno"]
PAIRS = matrix(["reno", "vegas"])


def tables_in(spec: dict) -> list[pl.DataFrame]:
    return [pl.read_csv(StringIO(text)) for text in spec["datasets"].values()]


def without_series(data: PlausibleDataset) -> PlausibleDataset:
    """What sampling "off" leaves: rows at the ends of the steady interval and of the run."""
    kept = pl.col("time_s").is_in([20.0, 60.0])
    return replace(data, samples=data.samples.filter(kept), links=data.links.filter(kept))


def test_every_file_is_a_figure_of_the_same_name():
    assert list(REGISTRY) == FILES


@pytest.mark.parametrize("figure", REGISTRY.values(), ids=list(REGISTRY))
def test_a_figure_says_what_it_shows(figure: Figure):
    assert figure.shows.endswith(".")


@pytest.mark.parametrize("name", REGISTRY)
def test_the_same_tables_give_the_same_chart(name: str):
    assert draw(name, PAIRS).to_json() == draw(name, PAIRS).to_json()


@pytest.mark.parametrize("name", REGISTRY)
def test_every_quantity_on_an_axis_has_its_unit(name: str):
    text = draw(name, PAIRS).to_json()
    titles = re.findall(r'"type": "quantitative"[^}]*?"title": "([^"]+)"', text)
    titles += re.findall(r'"title": "([^"]+)",\s*"type": "quantitative"', text)
    assert all(re.search(r"\((Mbit/s|packets|s|BDP)\)$|^share", title) for title in titles)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "html"])
def test_a_figure_is_saved_by_its_suffix(suffix: str, tmp_path: Path):
    path = save(draw("throughput", PAIRS, View(point=1)), tmp_path / f"figure.{suffix}")
    start = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF", "html": b"<!DOCTYPE html"}[suffix]
    assert path.read_bytes().startswith(start)


def test_html_loads_nothing_from_elsewhere(tmp_path: Path):
    page = save(draw("matrix", PAIRS), tmp_path / "figure.html").read_text()
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=.?https?:", page)


def test_an_unknown_suffix_is_refused_by_name(tmp_path: Path):
    with pytest.raises(TussleError, match=r"figure\.gif.*\.png, \.svg, \.pdf, \.html"):
        save(draw("matrix", PAIRS), tmp_path / "figure.gif")


def test_a_file_that_cannot_be_written_is_refused_by_name(tmp_path: Path):
    with pytest.raises(TussleError, match=r"cannot write .*missing"):
        save(draw("matrix", PAIRS), tmp_path / "missing" / "figure.svg")


def test_an_unknown_figure_is_answered_with_the_nearest():
    with pytest.raises(TussleError, match="did you mean “throughput”"):
        draw("troughput", PAIRS)


@pytest.mark.parametrize("name", ["throughput", "window"])
def test_without_samples_a_time_series_says_how_to_get_them(name: str):
    with pytest.raises(TussleError, match=r"no samples.*record\.samples"):
        draw(name, without_series(PAIRS))


def test_without_samples_there_is_still_a_matrix():
    assert draw("matrix", without_series(PAIRS))


def test_a_matrix_of_something_else_is_refused():
    with pytest.raises(TussleError, match="two flows each"):
        draw("matrix", sweep([{"flows.0.algorithm": "reno"}]))


@pytest.mark.parametrize("algorithms", [["reno"], ["reno", "cubic", "bic", "vegas"], THIRTEEN])
def test_a_matrix_has_a_cell_for_each_ordered_pair(algorithms: list[str]):
    cells = tables_in(draw("matrix", matrix(algorithms)).to_dict())[0]
    assert cells.select("first", "second").rows() == list(product(algorithms, repeat=2))


def test_a_cell_holds_both_goodputs_and_the_share_of_the_first():
    flows = PAIRS.flows.filter(pl.col("run") == 1).collect()["goodput_bit_per_s"]
    cell = tables_in(draw("matrix", PAIRS).to_dict())[0].row(1, named=True)
    first, second = (float(number) for number in cell["numbers"].split(" / "))
    assert (first * 1e6, second * 1e6) == pytest.approx(tuple(flows), rel=0.05)
    assert cell["share"] == pytest.approx(flows[0] / flows.sum(), abs=1e-4)


def test_networks_are_matrices_of_their_own():
    axes = [
        {"flows.0.algorithm": first, "flows.1.algorithm": second, "path.rtt": rtt}
        for first, second, rtt in product(["reno", "cubic"], ["reno", "cubic"], ["10 ms", "80 ms"])
    ]
    titles = [part["title"] for part in draw("matrix", sweep(axes)).to_dict()["concat"]]
    assert titles == ["path.rtt = 10 ms", "path.rtt = 80 ms"]


def test_too_many_time_series_for_one_figure_are_refused():
    with pytest.raises(TussleError, match=r"25 points.*choose one of 0 to 24"):
        draw("throughput", matrix(["reno", "cubic", "bic", "vegas", "westwood"]))


def test_a_point_that_is_not_there_is_refused():
    with pytest.raises(TussleError, match=r"no point 9 .* 0 to 3"):
        draw("window", PAIRS, View(point=9))


@pytest.mark.parametrize("flows", [1, 3])
@pytest.mark.parametrize("name", ["throughput", "window"])
def test_one_flow_and_many_flows_are_drawn(name: str, flows: int, tmp_path: Path):
    data = sweep([{f"flows.{i}.algorithm": "cubic" for i in range(flows)}])
    assert save(draw(name, data), tmp_path / "figure.svg").stat().st_size > 5000


def test_flows_of_one_algorithm_share_its_colour_and_differ_in_dashes():
    spec = draw("throughput", PAIRS, View(point=0)).to_dict()
    encoding = next(layer["encoding"] for layer in spec["layer"] if "color" in layer["encoding"])
    assert len(set(encoding["color"]["scale"]["range"])) == 1
    assert encoding["strokeDash"]["scale"]["range"] == [[1, 0], [6, 3]]


def test_guide_lines_are_at_what_the_path_and_the_buffer_hold():
    """100 Mbit/s · 40 ms / 12000 bit = 333.3 packets, and 333 more in the buffer."""
    guides = {
        row["label"]: row["level"]
        for table in tables_in(draw("window", PAIRS, View(point=1)).to_dict())
        if "level" in table.columns
        for row in table.to_dicts()
    }
    assert guides == pytest.approx({"BDP": 333.33, "BDP + buffer": 666.33, "buffer": 333}, abs=0.01)


def test_a_part_of_the_time_is_drawn_alone():
    tables = tables_in(draw("window", PAIRS, View(point=1, between_s=(18, 22.5))).to_dict())
    times = [table["time_s"] for table in tables if "time_s" in table.columns]
    assert [(series.min(), series.max()) for series in times] == [(18, 22.5), (18, 22.5)]
    assert next(table.row(0) for table in tables if "steady_from_s" in table.columns) == (20, 22.5)


def test_a_share_stands_over_its_buffer_in_bandwidth_delay_products():
    """100 Mbit/s · 40 ms / 12000 bit = 333.3 packets are one, and the buffer is 333."""
    tables = tables_in(draw("share_over_buffer", PAIRS).to_dict())
    shown = next(table for table in tables if "pair" in table.columns)
    assert shown["pair"].to_list() == ["reno and reno", "reno and vegas", "vegas and reno", "vegas and vegas"]
    assert shown["buffer_bdp"].to_list() == [0.999] * 4
    assert shown["share"][1] == pytest.approx(METRICS["share"].compute(PAIRS)["share"][2], abs=1e-4)


def test_shares_over_buffers_of_single_flows_are_refused():
    with pytest.raises(TussleError, match="two flows each"):
        draw("share_over_buffer", sweep([{"flows.0.algorithm": "reno"}]))


def test_too_many_pairs_for_one_figure_of_shares_are_refused():
    with pytest.raises(TussleError, match=r"9 pairs.*at most 8"):
        draw("share_over_buffer", matrix(["reno", "cubic", "bic"]))


def test_thinned_series_keep_their_ends_and_extremes():
    peaks = [1000 if i == 4321 else -5 if i == 777 else i % 7 for i in range(10_000)]
    kept = thin(pl.DataFrame({"time_s": range(10_000), "value": peaks}), "value", 300)
    assert len(kept) <= 301
    assert {0, 777, 4321, 9999} <= set(kept["time_s"])
    assert kept["time_s"].is_sorted()


def test_short_series_are_left_alone():
    short = pl.DataFrame({"time_s": [0, 1, 2], "value": [5, 6, 7]})
    assert thin(short, "value", 3).equals(short)


def test_a_crowd_is_told_apart_by_algorithm():
    data = sweep([{f"flows.{i}.algorithm": "cubic" if i % 2 else "reno" for i in range(9)}])
    for name in ("throughput", "window"):
        text = draw(name, data).to_json()
        assert '"domain": [\n' in text
        assert "strokeDash" not in re.sub(r'"strokeDash": \[[^]]*\]', "", text)
        assert "slow start threshold" not in text


def test_a_window_is_shown_from_the_start_of_its_flow():
    early = PAIRS.samples.filter(pl.col("flow") == 0).with_columns(flow=pl.lit(1, pl.Int64))
    before = replace(PAIRS, samples=pl.concat([PAIRS.samples.filter(pl.col("flow") == 0), early]))
    windows = next(
        table
        for table in tables_in(draw("window", before, View(point=1)).to_dict())
        if "window" in table.columns
    )
    assert windows.filter(pl.col("series") == "vegas (second)")["time_s"].min() == 10.0
