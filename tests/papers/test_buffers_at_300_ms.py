"""Why H-TCP and Scalable lose with more buffer at 300 ms in the study of buffers, as far as is known."""

from pathlib import Path

import polars as pl
import pytest

from tussle.engines.sim import SimEngine
from tussle.papers import Setting, Study, planned

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "published-studies.md"
WORDS = " ".join(PAGE.read_text("utf-8").split())
FULL, QUICK = (Setting(size, study_hosts=True) for size in ("full", "quick"))


def goodputs(setting: Setting, algorithm: str, rtt: str, recovery: str) -> list[float]:
    """Goodput in Mbit/s with 0.1 and 1 BDP."""
    plan = planned(Study.load("buffer-provisioning"), "recovery", setting)
    at = {"path.rtt": rtt, "hosts.recovery": recovery, "flows.0.algorithm": algorithm}
    runs = [run for run in plan.runs() if at.items() <= run.axes.items()]
    assert [run.axes["path.queue.limit"] for run in runs] == ["0.1 bdp", "1 bdp"]
    return [SimEngine().execute(run.run)["flows"]["goodput_bit_per_s"].item() / 1e6 for run in runs]


def test_without_a_scoreboard_scalable_loses_with_more_buffer_and_htcp_is_far_below_the_link():
    small, large = goodputs(FULL, "scalable", "300 ms", "newreno")
    said = f"{small:.0f} Mbit/s with 0.1 BDP and {large:.0f} with 1 BDP (printed: 91 and 66)"
    assert f"Scalable gets {said}" in WORDS
    assert large < small / 2
    small, large = goodputs(FULL, "htcp", "300 ms", "newreno")
    assert f"H-TCP {small:.0f} and {large:.0f} (67 and 43)" in WORDS
    assert max(small, large) < 100


def test_without_a_scoreboard_bic_falls_behind_as_well_which_it_does_not_in_print():
    small, _ = goodputs(FULL, "bic", "300 ms", "newreno")
    assert f"BIC falls behind as well, and gets {small:.1f} Mbit/s with 0.1 BDP where 177" in WORDS


@pytest.mark.parametrize(("setting", "algorithm"), [(FULL, "scalable"), (QUICK, "htcp")])
def test_with_a_shorter_rtt_neither_falls_behind(setting: Setting, algorithm: str):
    assert min(goodputs(setting, algorithm, "100 ms", "newreno")) > 165


@pytest.mark.parametrize("algorithm", ["scalable", "htcp"])
def test_with_a_scoreboard_neither_loses_with_more_buffer(algorithm: str):
    small, large = goodputs(QUICK, algorithm, "300 ms", "rfc6675")
    assert large > small > 165


def test_the_printed_numbers_are_those_of_the_study():
    rows = (
        Study.load("buffer-provisioning")
        .published()
        .filter(pl.col("part") == "single", pl.col("path.rtt") == "300 ms")
    )
    printed = {
        (row["flows.0.algorithm"], row["path.queue.limit"]): round(row["goodput_mbit_per_s"])
        for row in rows.to_dicts()
    }
    assert [printed["scalable", limit] for limit in ("0.1 bdp", "1 bdp")] == [91, 66]
    assert [printed["htcp", limit] for limit in ("0.1 bdp", "1 bdp")] == [67, 43]
    assert printed["bic", "0.1 bdp"] == 177
