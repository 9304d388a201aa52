"""`tussle agree`: the simulator agrees with Linux within its bounds, in sampled cells."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from commandline import refused
from tussle.agreement import BOUNDS
from tussle.dataset import Dataset

TUSSLE = Path(sys.executable).with_name("tussle")


@pytest.mark.usefixtures("kernel")
def test_a_quarter_of_the_quick_grid_holds_every_bound(tmp_path):
    """All 32 cells take four times as long; `make draw` runs them."""
    called = subprocess.run(
        [TUSSLE, "agree", "--grid", "quick", "--cells", "8", "-o", "agree"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert called.returncode == 0, f"{called.stdout}\n{called.stderr}"
    folder = tmp_path / "agree"
    found = pl.read_csv(folder / "differences.csv")
    assert found.select("arrangement", "point").n_unique() == 8
    assert {bound.quantity for bound in BOUNDS} <= set(found["quantity"])
    pages = {page.stem for page in folder.glob("*.html")}
    assert pages == {"index", *found["algorithm"]}
    assert Dataset.open(folder / "kernel" / "two").provenance["engine"]["name"] == "kernel"


@pytest.mark.usefixtures("kernel")
def test_results_that_are_there_are_not_made_again(tussle_, tmp_path):
    arguments = ("agree", "--cells", "1", "--algorithms", "reno", "-o", "one")
    first = tussle_(*arguments)
    written = {file: file.stat().st_mtime_ns for file in (tmp_path / "one").glob("*/*/*.parquet")}
    assert len(written) == 10
    assert tussle_(*arguments).out == first.out
    assert {file: file.stat().st_mtime_ns for file in written} == written
    other = tussle_("agree", "--cells", "1", "--algorithms", "vegas", "-o", "one")
    assert "holds results of other cells" in refused(other)


@pytest.mark.usefixtures("kernel")
def test_results_of_another_build_are_taken_only_when_asked_to(tussle_, tmp_path):
    arguments = ("agree", "--cells", "1", "--algorithms", "reno", "-o", "one")
    tussle_(*arguments)
    [facts] = (tmp_path / "one" / "sim").glob("*/provenance.json")
    text = facts.read_text("utf-8")
    facts.write_text(text.replace('"build": "', '"build": "0'), "utf-8")
    assert "from another build of the engine sim (build differs)" in refused(tussle_(*arguments))
    assert tussle_(*arguments, "--reuse", "sim").status in (0, 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--grid", "quik"), '--grid: unknown grid "quik"; did you mean "quick"?'),
        (("--algorithms", "bbr3"), "--algorithms: Linux has no bbr3; give some of reno, bic, cubic"),
        (("--reuse", "hosts"), '--reuse: unknown engine "hosts"; there are sim, kernel'),
    ],
)
def test_a_wrong_option_is_answered_with_what_there_is(tussle_, arguments, sentence):
    assert sentence in refused(tussle_("agree", *arguments))
