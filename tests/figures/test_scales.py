"""Axes, scales and explanatory subtitles of figures."""

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from plausible import RATE_BIT_PER_S, PlausibleDataset, matrix, sweep
from tussle.figures import View, draw, save

PAIRS = matrix(["reno", "vegas"])
EXPLAINED = "values above the link rate: data that waited for a retransmission and were delivered at once"


def over_buffers(limits: list[str], repetitions: int = 1) -> PlausibleDataset:
    """Reno with Vegas at these limits in products of 333.3 packets, of which a queue holds whole ones."""
    axes = [
        {"flows.0.algorithm": "reno", "flows.1.algorithm": "vegas", "path.queue.limit": limit}
        for limit in limits
    ]
    data = sweep(axes, repetitions)
    packets = [int(float(limit.split(" ")[0]) * 1000 / 3) for limit in limits]
    of_point = pl.col("point").replace_strict(dict(enumerate(packets)), return_dtype=pl.Int64)
    return replace(data, runs=data.runs.with_columns(buffer_packets=of_point))


def axes_of(spec: Any, field: str) -> list[dict[str, Any]]:
    """Return the encodings of this field at any depth."""
    if isinstance(spec, list):
        return [found for each in spec for found in axes_of(each, field)]
    if not isinstance(spec, dict):
        return []
    here = [spec] if spec.get("field") == field else []
    return here + [found for each in spec.values() for found in axes_of(each, field)]


def marks_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [layer["mark"] for layer in spec["layer"]]


def in_the_subtitle(name: str, data: PlausibleDataset, view: View | None = None) -> str:
    subtitle = draw(name, data, view or View()).to_dict()["title"].get("subtitle", "")
    return subtitle if isinstance(subtitle, str) else "; ".join(subtitle)


@pytest.mark.parametrize(("name", "field"), [("over_buffer", "x"), ("share_over_buffer", "buffer_bdp")])
def test_a_buffer_axis_has_ticks_at_the_configured_buffers(name: str, field: str):
    """0.01 of 333.3 packets are 3, which is 0.009; 160 lies far beyond any list of usual buffers."""
    limits = ["0.01 bdp", "0.5 bdp", "10 bdp", "160 bdp"]
    for axis in axes_of(draw(name, over_buffers(limits)).to_dict(), field):
        assert axis["axis"]["values"] == [0.01, 0.5, 10, 160]


def test_a_rounded_buffer_is_drawn_at_its_actual_size():
    """A queue holds a packet at least: of 333.3, 0.003 products."""
    data = over_buffers(["0.0001 bdp", "1 bdp"])
    data = replace(data, runs=data.runs.with_columns(buffer_packets=pl.max_horizontal("buffer_packets", 2)))
    axis, *_ = axes_of(draw("over_buffer", data).to_dict(), "x")
    assert axis["axis"]["values"] == [0.006, 1]


def test_the_subtitle_mentions_bars_only_where_the_chart_has_some():
    """A chart without repetitions, or with equal ones, has no bars."""
    limits = ["1 bdp", "2 bdp"]
    assert "bars" not in in_the_subtitle("over_buffer", over_buffers(limits))
    several = over_buffers(limits, 3)
    uneven = pl.col("goodput_bit_per_s") * (1 + 0.3 * (pl.col("run") % 3))
    assert "bars" in in_the_subtitle(
        "over_buffer", replace(several, flows=several.flows.with_columns(goodput_bit_per_s=uneven))
    )


@pytest.mark.parametrize("name", ["throughput", "fairness"])
def test_means_are_drawn_as_steps(name: str):
    marks = marks_of(draw(name, PAIRS, View(point=1)).to_dict())
    assert {mark["interpolate"] for mark in marks if mark["type"] == "line"} == {"step"}


def test_transfer_sizes_are_labelled_in_their_unit():
    """1000 kB are no "1k"."""
    ended = PAIRS.flows.with_columns(completion_s=pl.lit(1.0))
    formats = [
        axis["axis"]["format"]
        for axis in axes_of(draw("completion", replace(PAIRS, flows=ended)).to_dict(), "size_kb")
        if "axis" in axis
    ]
    assert formats == ["~f"]


def test_rtts_of_flows_of_one_algorithm_have_separate_panels():
    rows = draw("rtt", PAIRS, View(point=0)).to_dict()["vconcat"]
    assert [row["title"]["text"] for row in rows] == ["reno (first)", "reno (second)"]
    domains = [axis["scale"]["domain"] for row in rows for axis in axes_of(row, "rtt_ms")]
    assert domains[0] == domains[1]


def test_rtts_of_different_algorithms_are_in_one_panel():
    assert "vconcat" not in draw("rtt", PAIRS, View(point=1)).to_dict()


def test_a_signed_quantity_has_a_colour_on_each_side_of_zero():
    spec = draw("matrix", PAIRS, View(metric="order_effect")).to_dict()
    (colour,) = [axis for axis in axes_of(spec, "value") if "legend" in axis]
    domain, colours = colour["scale"]["domain"], colour["scale"]["range"]
    assert domain == pytest.approx([-end for end in reversed(domain)])
    assert colours[len(colours) // 2] == "#f6f4f0"


def released(data: PlausibleDataset, rate_of_link: float) -> PlausibleDataset:
    """A second in which the first flow of each run delivers twice what the link carries."""
    burst = 2 * RATE_BIT_PER_S / 8
    more = pl.when((pl.col("flow") == 0) & (pl.col("time_s") >= 31)).then(burst).otherwise(0)
    delivered = (pl.col("delivered_bytes") + more).cast(pl.Int64)
    sent = (pl.col("time_s") * rate_of_link / 8).cast(pl.Int64)
    return replace(
        data,
        samples=data.samples.with_columns(delivered_bytes=delivered),
        links=data.links.with_columns(delivered_bytes=sent),
    )


@pytest.mark.parametrize("name", ["throughput", "phase"])
def test_goodput_above_the_link_rate_is_explained_unless_the_link_was_faster(name: str):
    view = View(point=1)
    assert EXPLAINED not in in_the_subtitle(name, PAIRS, view)
    assert EXPLAINED in in_the_subtitle(name, released(PAIRS, RATE_BIT_PER_S), view)
    assert EXPLAINED not in in_the_subtitle(name, released(PAIRS, 3 * RATE_BIT_PER_S), view)


def test_a_phase_shows_dots_beyond_the_link():
    spec = draw("phase", released(PAIRS, RATE_BIT_PER_S), View(point=1)).to_dict()
    series = next(text for text in spec["datasets"].values() if text.startswith("time_s"))
    largest = max(pl.read_csv(StringIO(series))["first_mbit_per_s"].to_list())
    axis, *_ = axes_of(spec, "first_mbit_per_s")
    assert axis["scale"]["domain"][1] > largest > RATE_BIT_PER_S / 1e6


@pytest.mark.parametrize("name", ["groups", "matrix", "share_over_buffer"])
def test_percentages_have_one_format(name: str, tmp_path: Path):
    """The format is a number, a no-break space and the sign."""
    data = PAIRS if name == "share_over_buffer" else matrix(["reno", "cubic", "vegas"])
    picture = save(draw(name, data), tmp_path / "figure.svg").read_text()
    assert set(re.findall(r"\d(\D?)%", picture)) == {"\u00a0"}
