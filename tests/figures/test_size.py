"""The size, the title and the format of a figure, and overlays of several datasets."""

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from test_figures import PAIRS, shown_by

from commandline import refused
from plausible import PlausibleDataset, matrix
from tussle.errors import TussleError
from tussle.figures import Beside, View, draw, resized, retitled, svg

LABELS_PX = 110
"""A scale with other labels, or a title that is wider than the panels, changes the whole by up to this."""


def size_px(name: str, width_px: int, height_px: int) -> tuple[float, float]:
    data, view = shown_by(name)
    drawn = svg(resized(draw(name, data, view), width_px, height_px))
    found = re.search(r'width="([\d.]+)" height="([\d.]+)"', drawn)
    assert found is not None
    return float(found[1]), float(found[2])


@pytest.mark.parametrize("name", ["box", "matrix", "ranking", "completion", "fairness", "overlay"])
def test_a_figure_grows_by_what_is_asked_for(name: str):
    """One panel, cells, rows, a panel for each point, and panels above each other."""
    narrow, low = size_px(name, 400, 300)
    wide, high = size_px(name, 900, 900)
    assert wide - narrow == pytest.approx(500, abs=LABELS_PX)
    assert high - low == pytest.approx(600, abs=LABELS_PX)


def test_a_title_is_replaced_and_the_lines_below_it_stay():
    chart = retitled(draw("matrix", PAIRS), "Ours against theirs")
    assert "Ours against theirs" in svg(chart)
    assert "Who shares fairly" not in svg(chart)
    assert "outlined: they share fairly" in svg(chart)


def test_an_empty_title_removes_it_with_the_lines_below():
    drawn = svg(retitled(draw("matrix", PAIRS), ""))
    assert "Who shares fairly" not in drawn
    assert "outlined" not in drawn


def with_windows_divided_by(data: PlausibleDataset, times: int) -> PlausibleDataset:
    return replace(data, samples=data.samples.with_columns(pl.col("cwnd_packets") // times))


def test_an_overlay_of_three_datasets_shows_each_with_a_legend():
    names = ("first", "second", "third")
    others = [
        Beside(with_windows_divided_by(PAIRS, index + 2), names[index + 1], names[0]) for index in range(2)
    ]
    spec = draw("overlay", PAIRS, View(point=1, beside=others[0], further=(others[1],))).to_dict()
    drawn = pl.read_csv(next(text for text in spec["datasets"].values() if "cwnd" in text).encode())
    assert drawn["dataset"].unique(maintain_order=True).to_list() == list(names)
    windows = drawn.pivot("dataset", index="time_s", values="cwnd_packets")
    assert (windows["second"] == windows["first"] // 2).all()
    assert (windows["third"] == windows["first"] // 3).all()
    assert spec["title"]["text"] == "first, second and third: reno and vegas"


def test_an_overlay_of_a_third_dataset_with_other_flows_is_refused():
    others = (Beside(PAIRS, "same", "mine"), Beside(matrix(["cubic", "bic"]), "other", "mine"))
    with pytest.raises(TussleError, match="reno and vegas in mine, cubic and bic in other"):
        draw("overlay", PAIRS, View(point=1, beside=others[0], further=others[1:]))


def test_an_overlay_of_a_dataset_with_itself_is_refused():
    with pytest.raises(TussleError, match="two of these datasets are the same"):
        draw("overlay", PAIRS, View(point=1, beside=Beside(PAIRS, "pairs", "pairs")))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import tussle

    folder = tmp_path_factory.mktemp("size") / "pair"
    flows = [{"algorithm": "reno"}, {"algorithm": "vegas"}]
    path = {"rate": "5 Mbit/s", "rtt": "20 ms"}
    tussle.run({"duration": "3 s", "repetitions": 1, "path": path, "flows": flows}, output=folder, workers=1)
    return folder


def test_the_command_draws_in_the_format_the_size_and_with_the_title_asked_for(tussle_, dataset, tmp_path):
    plot = ("plot", dataset, "window")
    assert tussle_(*plot, "--format", "pdf").out == "figure: window.pdf\n"
    assert (tmp_path / "window.pdf").read_bytes().startswith(b"%PDF")
    assert tussle_(*plot, "--format", "svg", "-o", "a.figure", "--title", "Two of them").status == 0
    titled = (tmp_path / "a.figure").read_text()
    assert "Two of them" in titled
    assert "5 Mbit/s, 20 ms" in titled
    sizes = ("--width", 900, "--height", 700, "--no-title")
    assert tussle_(*plot, *sizes, "-o", "b.svg").status == 0
    plain = (tmp_path / "b.svg").read_text()
    assert "5 Mbit/s, 20 ms" not in plain
    width, height = map(float, re.findall(r'(?:width|height)="([\d.]+)"', plain)[:2])
    assert 900 < width < 900 + 2 * LABELS_PX + 100
    assert 700 < height < 700 + 2 * LABELS_PX + 100


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--format", "gif"), '--format: unknown format "gif"; there are png, svg, pdf, html'),
        (("--title", "A", "--no-title"), "--title gives the figure a title, and --no-title none"),
        (("--width", "10"), "--width: give at least 50; "),
        (("--height", "100000"), "--height: give at most 5000; "),
        (("--width", "wide"), "--width: give a whole number; "),
    ],
)
def test_options_of_a_drawing_that_make_no_sense_are_refused(tussle_, dataset, options, sentence):
    assert sentence in refused(tussle_("plot", dataset, "window", *options))
