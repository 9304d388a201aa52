"""Figures: their content for each kind of dataset, and the messages of those that cannot be drawn."""

import errno
import re
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest

from plausible import PlausibleDataset, matrix, sweep
from tussle import figures
from tussle.errors import TussleError
from tussle.figures import REGISTRY, Beside, Figure, View, algorithm_colour, draw, save
from tussle.figures._series import thin, thin_flows
from tussle.figures._spread import beyond, boxes
from tussle.figures._style import layered
from tussle.figures._words import dashes
from tussle.metrics import REGISTRY as METRICS

FILES = sorted(path.stem for path in Path(figures.__path__[0]).glob("[a-z]*.py"))
THIRTEEN = ["htcp", "hybla", "illinois", "lp", "vegas", "reno", "bic", "westwood"]
THIRTEEN += ["yeah", "cubic", "highspeed", "scalable", "veno"]
PAIRS = matrix(["reno", "vegas"])
UNIT = r"\((Mbit/s|packets|ms|s|BDP|kB|%)\)$|^share"


def tables_in(spec: dict) -> list[pl.DataFrame]:
    return [pl.read_csv(StringIO(text)) for text in spec["datasets"].values()]


def without_series(data: PlausibleDataset) -> PlausibleDataset:
    """Series with sampling "off": rows at the ends of the steady interval and of the run."""
    kept = pl.col("time_s").is_in([20.0, 60.0])
    return replace(data, samples=data.samples.filter(kept), links=data.links.filter(kept))


def shown_by(name: str) -> tuple[PlausibleDataset, View]:
    """Return a dataset that the figure can show, and the view of it."""
    if name in VARIED:
        return varied(VARIED[name]), View()
    if name == "completion":
        ended = pl.when(pl.col("flow") == 1).then(pl.col("delivered_bytes") / 1e6)
        return replace(PAIRS, flows=PAIRS.flows.with_columns(completion_s=ended)), View()
    if name == "groups":
        return matrix(["reno", "cubic", "vegas"]), View()
    if name == "overlay":
        return PAIRS, View(point=1, beside=Beside(PAIRS, "kernel", "simulator"))
    return PAIRS, View()


VARIED = {"over_buffer": "path.queue.limit", "over_rtt": "path.rtt", "over_loss": "path.loss"}
LOSSES = ["0 %", "0.01 %", "1 %"]


def varied(key: str) -> PlausibleDataset:
    """Two Reno flows, and Reno with Vegas, over three networks: 1, 2 and 3 times 100 packets and 20 ms."""
    points = list(product(["reno", "vegas"], range(3)))
    axes = [
        {"flows.0.algorithm": "reno", "flows.1.algorithm": second, key: LOSSES[place]}
        for second, place in points
    ]
    size = pl.col("run") % 3 + 1
    changed = {"path.queue.limit": {"buffer_packets": size * 100}, "path.rtt": {"base_rtt_ms": size * 20.0}}
    data = sweep(axes)
    return replace(data, runs=data.runs.with_columns(**changed.get(key, {})))


def quantitative_titles(spec: object) -> list[str]:
    """Return the titles of all quantitative axes at any depth."""
    if isinstance(spec, list):
        return [title for each in spec for title in quantitative_titles(each)]
    if not isinstance(spec, dict):
        return []
    found = [title for each in spec.values() for title in quantitative_titles(each)]
    title = spec.get("title")
    if spec.get("type") == "quantitative" and title and spec.get("axis", {}) is not None:
        found.append(title if isinstance(title, str) else " ".join(title))
    return found


OWN = sweep([{"flows.0.algorithm": each, "flows.1.algorithm": each} for each in THIRTEEN[:4]])
"""Pairs of one algorithm each, as from `count = 2`."""
UNUSUAL = {
    "pairs of one algorithm each": OWN,
    "one pair": matrix(["reno"]),
    "one algorithm over an axis": varied("path.rtt"),
    "nothing delivered": replace(
        OWN, flows=OWN.flows.with_columns(steady_delivered_bytes=0, goodput_bit_per_s=0.0, delivered_bytes=0)
    ),
    "no series": without_series(OWN),
}


@pytest.mark.parametrize("data", UNUSUAL.values(), ids=list(UNUSUAL))
@pytest.mark.parametrize("name", REGISTRY)
def test_a_figure_is_drawn_or_refused_without_another_error(name: str, data: PlausibleDataset):
    with suppress(TussleError):
        assert draw(name, data).to_dict()


def test_the_graph_of_groups_needs_pairs_of_different_algorithms():
    with pytest.raises(TussleError, match="needs pairs of 3 algorithms"):
        draw("groups", OWN)


def test_every_file_is_a_figure_of_the_same_name():
    assert list(REGISTRY) == FILES


@pytest.mark.parametrize("figure", REGISTRY.values(), ids=list(REGISTRY))
def test_a_figure_has_a_description(figure: Figure):
    assert figure.shows.endswith(".")


@pytest.mark.parametrize("name", REGISTRY)
def test_the_same_tables_give_the_same_chart(name: str):
    data, view = shown_by(name)
    assert draw(name, data, view).to_json() == draw(name, data, view).to_json()


@pytest.mark.parametrize("name", REGISTRY)
def test_every_quantity_on_an_axis_has_its_unit(name: str):
    titles = quantitative_titles(draw(name, *shown_by(name)).to_dict())
    assert titles or name in ("groups", "matrix")
    unitless = [title for title in titles if not re.search(UNIT, title)]
    assert set(unitless) == ({"Jain index"} if name == "fairness" or name.startswith("over_") else set())


@pytest.mark.parametrize("name", REGISTRY)
def test_every_figure_becomes_a_picture(name: str, tmp_path: Path):
    picture = save(draw(name, *shown_by(name)), tmp_path / "figure.svg").read_text()
    assert picture.count("<path") > 3
    assert "NaN" not in picture


@pytest.mark.parametrize("name", REGISTRY)
def test_an_algorithm_has_its_colour_in_every_figure(name: str):
    if name in ("matrix", "fairness"):
        return  # their colours are of shares, and of all flows together
    text = draw(name, *shown_by(name)).to_json()
    assert algorithm_colour("reno") in text or name == "phase"


@pytest.mark.parametrize("name", REGISTRY)
def test_an_unknown_value_is_not_drawn_as_zero(name: str):
    """The unknown values are all counts that an engine may omit, and the RTTs of half of the flows."""
    data, view = shown_by(name)
    maybe = ["lost_packets", "dropped_packets", "timeouts", "steady_timeouts", "spurious_timeouts"]
    rtts = [column for column in data.flows.collect_schema().names() if column.startswith("rtt_")]
    flows = data.flows.with_columns(
        *(pl.lit(None, pl.Int64).alias(column) for column in maybe),
        *(pl.when(pl.col("flow") == 0).then(column).alias(column) for column in rtts),
    )
    chart = draw(name, replace(data, flows=flows), view)
    if name == "goodput_against_delay":
        (points,) = [table for table in tables_in(chart.to_dict()) if "rtt_p95_ms" in table.columns]
        assert len(points) == 4
        assert points["rtt_p95_ms"].min() == 79


def test_the_spread_of_runs_is_the_ellipse_of_one_standard_deviation():
    """Runs of 60, 80 and 100 ms at one goodput: a mean of 80, and a deviation of the square root of 800/3."""
    data = matrix(["reno"], 3)
    flows = data.flows.with_columns(
        rtt_p95_ms=60.0 + 20.0 * (pl.col("run") % 3), goodput_bit_per_s=pl.lit(7e6)
    )
    tables = tables_in(draw("goodput_against_delay", replace(data, flows=flows)).to_dict())
    (outlines,) = [table for table in tables if "outline" in table.columns]
    one = outlines.filter(pl.col("outline") == "0 0")
    assert len(one) == 49
    assert one["rtt_ms"].max() == pytest.approx(80 + (800 / 3) ** 0.5, rel=1e-4)
    assert one["rtt_ms"].min() == pytest.approx(80 - (800 / 3) ** 0.5, rel=1e-4)
    assert set(one["mbit_per_s"].round(6)) == {7.0}


def test_two_runs_or_equal_ones_have_no_ellipse():
    equal = matrix(["reno"], 3)
    flows = equal.flows.with_columns(rtt_p95_ms=80.0, goodput_bit_per_s=7e6)
    for data in (matrix(["reno"], 2), replace(equal, flows=flows)):
        tables = tables_in(draw("goodput_against_delay", data).to_dict())
        assert all("outline" not in table.columns for table in tables)


def test_hidden_outliers_are_not_drawn():
    data = matrix(["reno", "vegas"], 9)
    shown, hidden = (draw("box", data, View(metric="share", outliers=each)) for each in ("shown", "hidden"))
    assert "circles" in shown.to_json()
    assert "circles" not in hidden.to_json()
    assert len(tables_in(hidden.to_dict())) <= len(tables_in(shown.to_dict()))


def test_each_decade_has_a_bar_with_the_goodput_of_its_flows():
    (bars,) = [table for table in tables_in(draw("decades", PAIRS).to_dict()) if "decade" in table.columns]
    assert bars["decade"].unique(maintain_order=True).to_list() == ["0 to 1 s", "1 to 10 s", "10 to 60 s"]
    assert bars.height == 3 * 4


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "html"])
def test_a_figure_is_saved_by_its_suffix(suffix: str, tmp_path: Path):
    path = save(draw("throughput", PAIRS, View(point=1)), tmp_path / f"figure.{suffix}")
    start = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF", "html": b"<!DOCTYPE html"}[suffix]
    assert path.read_bytes().startswith(start)


def test_html_loads_nothing_from_elsewhere(tmp_path: Path):
    page = save(draw("matrix", PAIRS), tmp_path / "figure.html").read_text()
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=.?https?:", page)


class Named:
    """A chart of one bar with a title."""

    def __init__(self, title: str) -> None:
        self.title = title

    def to_dict(self) -> dict[str, Any]:
        return {"title": self.title, "data": {"values": [{"a": 1}]}, "mark": "bar"}


def test_no_text_of_a_dataset_ends_the_script_of_a_figure(tmp_path: Path):
    hostile = "x</script><img src=x onerror=alert(1)>.tr"
    page = save(Named(hostile), tmp_path / "figure.html").read_text()  # pyright: ignore[reportArgumentType]
    assert "<img" not in page.partition('id="chart"')[2].partition("</script>")[0]
    assert page.count("</script>") == page.count("<script")
    assert "default-src 'none'" in page


@pytest.mark.parametrize("character", ["\x00", "\x01", "\x1b", "\ud800", "\ufffe"])
def test_a_control_character_is_refused_and_does_not_end_the_process(character: str, tmp_path: Path):
    with pytest.raises(TussleError, match=r"holds a control character in .* which no picture can show"):
        save(Named(f"a{character}b"), tmp_path / "figure.svg")  # pyright: ignore[reportArgumentType]
    assert not list(tmp_path.iterdir())


def test_an_unknown_suffix_is_refused_by_name(tmp_path: Path):
    with pytest.raises(TussleError, match=r"figure\.gif.*\.png, \.svg, \.pdf, \.html"):
        save(draw("matrix", PAIRS), tmp_path / "figure.gif")


def test_a_file_that_cannot_be_written_is_refused_by_name(tmp_path: Path):
    with pytest.raises(TussleError, match=r"cannot write .*missing"):
        save(draw("matrix", PAIRS), tmp_path / "missing" / "figure.svg")


def test_a_figure_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    chart, file = draw("matrix", PAIRS), tmp_path / "figure.svg"
    before = save(chart, file).read_bytes()
    write = Path.write_bytes

    def until_the_disk_is_full(path: Path, content: bytes) -> int:
        write(path, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", until_the_disk_is_full)
    with pytest.raises(TussleError, match=r"cannot write .*: No space left on device"):
        save(chart, file)
    assert [file.name for file in tmp_path.iterdir()] == ["figure.svg"]
    assert file.read_bytes() == before


def test_an_unknown_figure_is_refused_with_the_nearest_name():
    with pytest.raises(TussleError, match='did you mean "throughput"'):
        draw("troughput", PAIRS)


@pytest.mark.parametrize("name", ["decades", "fairness", "rtt", "throughput", "window"])
def test_a_time_series_without_samples_is_refused_with_the_setting_that_adds_them(name: str):
    with pytest.raises(TussleError, match=r"no samples.*record\.samples"):
        draw(name, without_series(PAIRS))


def test_a_matrix_needs_no_samples():
    assert draw("matrix", without_series(PAIRS))


def test_a_matrix_without_pairs_is_refused():
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


def test_each_network_has_its_own_matrix():
    axes = [
        {"flows.0.algorithm": first, "flows.1.algorithm": second, "path.rtt": rtt}
        for first, second, rtt in product(["reno", "cubic"], ["reno", "cubic"], ["10 ms", "80 ms"])
    ]
    titles = [part["title"] for part in draw("matrix", sweep(axes)).to_dict()["concat"]]
    assert titles == ["path.rtt = 10 ms", "path.rtt = 80 ms"]


def test_too_many_time_series_for_one_figure_are_refused():
    with pytest.raises(TussleError, match=r"25 points.*choose one of 0 to 24"):
        draw("throughput", matrix(["reno", "cubic", "bic", "vegas", "westwood"]))


def test_an_unknown_point_is_refused():
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


def test_guide_lines_mark_the_bdp_and_the_bdp_with_the_buffer():
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


@pytest.mark.parametrize("name", ["fairness", "overlay", "throughput", "window"])
def test_an_interval_without_samples_is_refused(name: str):
    """There is a sample in each 0.1 s."""
    beside = Beside(PAIRS, "kernel", "simulator") if name == "overlay" else None
    with pytest.raises(
        TussleError, match=r"there are no samples from 30\.01 s to 30\.02 s; choose others with between_s"
    ):
        draw(name, PAIRS, View(point=1, between_s=(30.01, 30.02), beside=beside))


def test_a_flow_that_was_never_sampled_has_no_window():
    never = PAIRS.flows.with_columns(start_s=pl.lit(1e9))
    tables = tables_in(draw("window", replace(PAIRS, flows=never), View(point=1)).to_dict())
    assert [len(table) for table in tables if "window_packets" in table.columns] == [0]


def test_shares_are_drawn_over_the_buffer_in_bdp():
    """One BDP is 100 Mbit/s · 40 ms / 12000 bit = 333.3 packets, and the buffer is 333."""
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


def test_goodput_and_fairness_are_drawn_over_the_axis():
    """100 and 300 packets of 333.3 are 0.3 and 0.9 BDP; the medians are the metrics' own."""
    data = varied("path.queue.limit")
    tables = [each for each in tables_in(draw("over_buffer", data).to_dict()) if "x" in each.columns]
    goodput, jain = tables if tables[0]["value"][0] > 1 else tables[::-1]
    assert goodput.filter(pl.col("line") == "2 reno")["x"].to_list() == [0.3, 0.6, 0.9]
    assert set(goodput["line"]) == {"2 reno", "reno and vegas"}
    total = METRICS["total"].compute(data)["total_goodput_bit_per_s"] / 1e6
    assert goodput["value"].to_list() == pytest.approx(total.to_list(), rel=1e-4)
    assert jain["value"].to_list() == pytest.approx(
        METRICS["jain"].compute(data)["jain_index"].to_list(), rel=1e-4
    )


def test_losses_are_percentages_and_zero_is_on_the_axis():
    (table, *_) = [
        each for each in tables_in(draw("over_loss", varied("path.loss")).to_dict()) if "x" in each.columns
    ]
    assert sorted(set(table["x"])) == [0, 0.01, 1]


@pytest.mark.parametrize("name", VARIED)
def test_a_key_that_is_not_an_axis_is_refused(name: str):
    with pytest.raises(TussleError, match=rf"no two values .*{VARIED[name]}"):
        draw(name, PAIRS)


def test_a_box_plot_has_quartiles_whiskers_and_outliers():
    """1, 2, 3, 4, 20: quartiles 2 and 4, so whiskers reach to values from -1 to 7, and 20 is beyond."""
    values = pl.DataFrame({"algorithm": ["reno"] * 5, "value": [3.0, 1.0, 20.0, 2.0, 4.0]})
    assert boxes(values).row(0, named=True) == {
        "algorithm": "reno",
        "q1": 2.0,
        "q3": 4.0,
        "median": 3.0,
        "mean": 6.0,
        "low": 1.0,
        "high": 4.0,
    }
    assert beyond(values)["value"].to_list() == [20.0]


@pytest.mark.parametrize("name", ["box", "cdf"])
def test_too_few_values_for_a_distribution_are_refused(name: str):
    with pytest.raises(TussleError, match=r"no algorithm has more than 1 .*repetitions=10"):
        draw(name, sweep([{"flows.0.algorithm": "reno"}]))


def test_a_distribution_shows_the_requested_metric():
    shown = tables_in(draw("cdf", PAIRS, View(metric="rtt_p95_ms")).to_dict())[0]
    assert set(shown["value"]) == {79.0}
    assert len(shown) == 8


def test_an_unknown_metric_is_refused_with_the_nearest_name():
    with pytest.raises(TussleError, match=r'unknown metric "godput"; did you mean "goodput"'):
        draw("box", PAIRS, View(metric="godput"))


def test_a_metric_whose_column_is_absent_is_refused():
    silent = PAIRS.flows.with_columns(rtt_p50_ms=pl.lit(None, pl.Float64))
    with pytest.raises(TussleError, match=r"no values of the RTT p50: rtt_p50_ms is empty"):
        draw("matrix", replace(PAIRS, flows=silent), View(metric="rtt"))


def test_a_metric_for_a_figure_without_the_option_is_refused_with_the_figures_that_have_it():
    with pytest.raises(TussleError, match=r"figure window takes no metric; these do: .*matrix"):
        draw("window", PAIRS, View(metric="rtt"))


def test_an_option_without_effect_on_a_figure_is_refused():
    with pytest.raises(TussleError, match="figure matrix takes no between_s; these do: fairness, overlay"):
        draw("matrix", PAIRS, View(between_s=(1, 2)))
    with pytest.raises(TussleError, match="figure window takes no beside; these do: overlay"):
        draw("window", PAIRS, View(beside=Beside(PAIRS, "a", "b")))


def test_a_matrix_of_another_metric_holds_its_numbers(tmp_path: Path):
    """The RTT is 79 ms in every run; that of the first flow is unknown in one, whose cell has no colour."""
    half = pl.when((pl.col("run") == 0) & (pl.col("flow") == 0)).then(None).otherwise(pl.col("rtt_p95_ms"))
    data = replace(PAIRS, flows=PAIRS.flows.with_columns(rtt_p95_ms=half))
    cells = tables_in(draw("matrix", data, View(metric="rtt_p95_ms")).to_dict())[0]
    assert cells["numbers"].to_list() == ["- / 79", "79 / 79", "79 / 79", "79 / 79"]
    assert cells["value"].to_list() == [None, 79, 79, 79]
    picture = save(draw("matrix", data, View(metric="rtt_p95_ms")), tmp_path / "matrix.svg").read_text()
    assert picture.count('aria-roledescription="rect mark"') - picture.count('fill-opacity="0"') == 3


def test_the_ranking_ends_with_the_smallest_share_and_omits_pairs_of_one_algorithm():
    shown = tables_in(draw("ranking", PAIRS).to_dict())[0]
    assert shown["algorithm"].to_list() == ["reno", "vegas", "vegas", "reno"]
    medians = dict(shown.group_by("algorithm").agg(pl.col("value").median()).iter_rows())
    assert medians["vegas"] < 50 < medians["reno"]
    order = draw("ranking", PAIRS).to_dict()["layer"][0]["encoding"]["y"]["sort"]
    assert order == {"field": "value", "op": "median", "order": "descending"}


def test_the_graph_joins_only_pairs_whose_verdict_is_not_no():
    data = matrix(["reno", "cubic", "vegas"])
    verdicts = METRICS["coexistence"].compute(data).filter(pl.col("first") != pl.col("second"))
    wanted = {
        frozenset(pair)
        for *pair, verdict in verdicts.select("first", "second", "verdict_both_orders").iter_rows()
        if verdict != "no"
    }
    edges = next(table for table in tables_in(draw("groups", data).to_dict()) if "x2" in table.columns)
    assert {frozenset(pair) for pair in edges.select("first", "second").iter_rows()} == wanted
    assert len(edges) == len(wanted)


def test_a_flow_that_did_not_end_has_no_completion_time():
    """The second flow of each of the four runs ends."""
    data, view = shown_by("completion")
    chart = draw("completion", data, view)
    points = next(table for table in tables_in(chart.to_dict()) if "completion_s" in table.columns)
    assert len(points) == 4
    assert "4 flows did not end" in chart.to_json()
    with pytest.raises(TussleError, match=r"completion needs flows .*`bytes`"):
        draw("completion", PAIRS)


def test_a_phase_plot_covers_the_time_when_both_flows_run():
    """The second flow starts at 10 s."""
    shown = next(
        table
        for table in tables_in(draw("phase", PAIRS, View(point=1)).to_dict())
        if "first_mbit_per_s" in table.columns
    )
    assert (shown["time_s"] > 10).all()
    assert shown["time_s"].is_sorted()


def test_a_phase_plot_without_a_known_link_rate_has_no_full_use_line():
    untold = PAIRS.runs.with_columns(link_rate_bit_per_s=pl.lit(None, pl.Float64))
    for data, guides in ((PAIRS, 2), (replace(PAIRS, runs=untold), 1)):
        chart = draw("phase", data, View(point=1))
        shown = [table for table in tables_in(chart.to_dict()) if "guide_x" in table.columns]
        assert len(shown) == guides
        assert ("the link is full" in chart.to_json()) == (guides == 2)


def test_fairness_is_1_before_the_second_flow_and_at_least_one_half_after():
    """The second flow starts at 10 s; the index equals the metric, and the guide line is at 1/n."""
    shown = next(
        table
        for table in tables_in(draw("fairness", PAIRS, View(point=1)).to_dict())
        if "jain_index" in table.columns
    )
    alone = shown["time_s"] < 10
    assert shown.filter(alone).select("jain_index", "least_index").unique().rows() == [(1, 1)]
    assert shown.filter(~alone)["least_index"].unique().to_list() == [0.5]
    of_run = METRICS["jain_over_time"].compute(PAIRS).filter(pl.col("run") == 1)
    assert shown["jain_index"].to_list() == pytest.approx(of_run["jain_index"].to_list(), rel=1e-3)


def test_an_interval_without_deliveries_has_no_fairness():
    stalled = pl.when(pl.col("time_s") < 30).then("delivered_bytes").forward_fill().over("run", "flow")
    data = replace(PAIRS, samples=PAIRS.samples.with_columns(delivered_bytes=stalled))
    shown = next(
        table
        for table in tables_in(draw("fairness", data, View(point=1)).to_dict())
        if "jain_index" in table.columns
    )
    assert shown.filter(pl.col("time_s") >= 31).is_empty()
    assert not shown.is_empty()


def test_fairness_of_one_flow_is_refused():
    with pytest.raises(TussleError, match="two flows or more"):
        draw("fairness", sweep([{"flows.0.algorithm": "reno"}]))


def test_a_phase_of_one_flow_is_refused():
    with pytest.raises(TussleError, match="two flows each"):
        draw("phase", sweep([{"flows.0.algorithm": "reno"}]))


def test_an_overlay_holds_the_series_of_both_datasets():
    other = matrix(["reno", "vegas"])
    slower = replace(other, samples=other.samples.with_columns(pl.col("cwnd_packets") // 2))
    tables = tables_in(
        draw("overlay", PAIRS, View(point=1, beside=Beside(slower, "kernel", "sim"))).to_dict()
    )
    first, second = [table for table in tables if "cwnd_packets" in table.columns][:2]
    assert (second["cwnd_packets"] == first["cwnd_packets"] // 2).all()


def test_an_overlay_without_the_other_dataset_is_refused_with_the_argument_that_names_it():
    with pytest.raises(TussleError, match="give the second one with beside"):
        draw("overlay", PAIRS)


def test_an_overlay_of_different_runs_is_refused():
    other = Beside(matrix(["cubic", "bic"]), "kernel", "sim")
    with pytest.raises(TussleError, match="reno and vegas in sim, cubic and bic in kernel"):
        draw("overlay", PAIRS, View(point=1, beside=other))


def test_dashes_distinguish_flows_without_colours():
    strokes = dashes(["reno", "vegas", "reno", "cubic", "reno"])
    assert len(set(strokes[:4])) == 4
    assert len({strokes[0], strokes[2], strokes[4]}) == 3


def test_thinned_series_keep_their_ends_and_extremes():
    peaks = [1000 if i == 4321 else -5 if i == 777 else i % 7 for i in range(10_000)]
    kept = thin(pl.DataFrame({"time_s": range(10_000), "value": peaks}), "value", 300)
    assert len(kept) <= 301
    assert {0, 777, 4321, 9999} <= set(kept["time_s"])
    assert kept["time_s"].is_sorted()


def test_thinning_flows_together_equals_thinning_each_alone():
    """The short series is not thinned, and a gap is not an extreme."""
    series = {
        0: [None if i == 50 else 90 if i == 41 else i % 5 for i in range(100)],
        1: [7, None, 3],
        2: [-9 if i == 777 else i % 7 for i in range(1000)],
    }
    each = [
        pl.DataFrame({"flow": flow, "time_s": range(len(values)), "value": values})
        for flow, values in series.items()
    ]
    together = thin_flows(pl.concat(each), "value", 12)
    for flow, alone in enumerate(each):
        shown = together.filter(pl.col("flow") == flow).drop("flow")
        assert shown.equals(thin(alone.drop("flow"), "value", 12))
    assert together.filter(pl.col("flow") == 1).equals(each[1])
    assert {(0, 41), (2, 777), (2, 999)} <= set(together.select("flow", "time_s").rows())


def test_the_title_of_a_figure_may_be_plain_text(monkeypatch: pytest.MonkeyPatch):
    """The report and `--title` read the title's text."""

    def titled(_tables: object, _view: View) -> alt.LayerChart:
        return layered(alt.Chart().mark_point()).properties(title="Plain")

    plain = Figure(name="plain", shows="A title.", needs=(), draw=titled)
    monkeypatch.setattr(figures, "REGISTRY", {**REGISTRY, "plain": plain})
    assert draw("plain", PAIRS).to_dict()["title"] == {"text": "Plain"}


def test_short_series_are_not_thinned():
    short = pl.DataFrame({"time_s": [0, 1, 2], "value": [5, 6, 7]})
    assert thin(short, "value", 3).equals(short)


def test_many_flows_are_coloured_by_algorithm():
    data = sweep([{f"flows.{i}.algorithm": "cubic" if i % 2 else "reno" for i in range(9)}])
    for name in ("throughput", "window"):
        text = draw(name, data).to_json()
        assert '"domain": [\n' in text
        assert "strokeDash" not in re.sub(r'"strokeDash": \[[^]]*\]', "", text)
        assert "slow start threshold" not in text


def test_a_cwnd_series_begins_at_the_start_of_its_flow():
    early = PAIRS.samples.filter(pl.col("flow") == 0).with_columns(flow=pl.lit(1, pl.Int64))
    before = replace(PAIRS, samples=pl.concat([PAIRS.samples.filter(pl.col("flow") == 0), early]))
    windows = next(
        table
        for table in tables_in(draw("window", before, View(point=1)).to_dict())
        if "window_packets" in table.columns
    )
    assert windows.filter(pl.col("series") == "vegas (second)")["time_s"].min() == 10.0
