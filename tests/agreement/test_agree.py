"""`tussle agree`: the simulator agrees with Linux within its bounds, in sampled cells."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from commandline import refused
from tussle.agreement import BOUNDS, HOSTS
from tussle.cli.agree import folder_of
from tussle.dataset import Dataset

TUSSLE = Path(sys.executable).with_name("tussle")


@pytest.mark.usefixtures("kernel")
def test_a_quarter_of_the_quick_grid_holds_every_bound(tmp_path):
    """The quick grid has 32 cells; `make draw` runs all of them."""
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
def test_both_engines_agree_with_settings_of_hosts(tussle_, tmp_path, monkeypatch):
    """One setting of each kind; `make agreement-of-hosts` compares all, in more cells."""
    chosen = [each for each in HOSTS if {"sack", "wmem", "offloads", "noise", "ring"} & each.keys()]
    monkeypatch.setattr("tussle.agreement.HOSTS", chosen)
    answer = tussle_(
        "agree", "--hosts", "--cells", "1", "--seed", "32", "--algorithms", "cubic", "-o", "hosts"
    )
    assert answer.status == 0, answer.out
    folders = {folder.name for folder in (tmp_path / "hosts").iterdir()}
    assert len(folders) == len(chosen) == 5
    assert folders == {folder_of(settings) for settings in chosen}
    [cell] = (tmp_path / "hosts" / "sack-false" / "kernel").iterdir()
    assert Dataset.open(cell).scenario.hosts.sack is False


@pytest.mark.usefixtures("kernel")
def test_existing_results_are_reused(tussle_, tmp_path):
    arguments = ("agree", "--cells", "1", "--algorithms", "reno", "-o", "one")
    first = tussle_(*arguments)
    written = {file: file.stat().st_mtime_ns for file in (tmp_path / "one").glob("*/*/*.parquet")}
    assert len(written) == 10
    assert tussle_(*arguments).out == first.out
    assert {file: file.stat().st_mtime_ns for file in written} == written
    other = tussle_("agree", "--cells", "1", "--algorithms", "vegas", "-o", "one")
    assert "holds results of other cells" in refused(other)


@pytest.mark.usefixtures("kernel")
def test_results_of_another_build_are_reused_only_on_request(tussle_, tmp_path):
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
        (("--set", "path.rate=2Mbit/s"), "--set path.rate: every cell has a value of its own"),
        (("--set", "hosts.profil=linux-6.1"), 'unknown key "profil"; did you mean "profile"?'),
        (("--reuse", "hosts"), '--reuse: unknown engine "hosts"; there are sim, kernel'),
    ],
)
def test_an_unknown_option_value_is_refused_with_the_valid_ones(tussle_, arguments, sentence):
    assert sentence in refused(tussle_("agree", *arguments))
