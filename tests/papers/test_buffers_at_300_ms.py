"""Why H-TCP and Scalable lose with more buffer at 300 ms in the study of buffers, as far as is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tussle.engines.sim import ENGINE
from tussle.papers import Setting, Study, planned

DOCS = Path(__file__).parents[2] / "docs"
WORDS = " ".join((DOCS / "explanation" / "published-studies.md").read_text("utf-8").split())
PAGE = (DOCS / "papers" / "buffer-provisioning.md").read_text("utf-8")
MOST_OF_THE_LINK = 171
"""Mbit/s of 200, as the study counts them."""


@pytest.fixture(scope="module")
def goodputs() -> dict[tuple[str, ...], float]:
    """Goodput in Mbit/s of a single flow with the study's hosts, by RTT, buffer, recovery and algorithm."""
    table = pl.read_csv(DOCS / "papers" / "buffer-provisioning" / "comparison.csv")
    rows = table.filter(part="recovery", engine="sim-study-hosts", quantity="goodput")
    assert rows.height == 56
    return {tuple(row.split(", ")): mean for row, mean in rows.select("row", "mean").iter_rows()}


@pytest.fixture(scope="module")
def printed() -> dict[tuple[str, str], float]:
    """The goodputs that the study prints for 300 ms, by algorithm and buffer."""
    rows = Study.load("buffer-provisioning").published()
    rows = rows.filter(pl.col("part") == "single", pl.col("path.rtt") == "300 ms")
    named = rows.select("flows.0.algorithm", "path.queue.limit", "goodput_mbit_per_s")
    return {(algorithm, limit): goodput for algorithm, limit, goodput in named.iter_rows()}


def test_without_a_scoreboard_scalable_loses_with_more_buffer_and_htcp_is_far_below_the_link(
    goodputs, printed
):
    def both(algorithm: str) -> tuple[float, float]:
        return tuple(goodputs["300 ms", limit, "newreno", algorithm] for limit in ("0.1 bdp", "1 bdp"))

    small, large = both("scalable")
    said = f"Scalable gets {small:.0f} Mbit/s with 0.1 BDP and {large:.0f} with 1 BDP"
    in_print = f"{printed['scalable', '0.1 bdp']:.0f} and {printed['scalable', '1 bdp']:.0f}"
    assert f"{said} (printed: {in_print})" in WORDS
    assert large < small / 2
    small, large = both("htcp")
    in_print = f"{printed['htcp', '0.1 bdp']:.0f} and {printed['htcp', '1 bdp']:.0f}"
    assert f"H-TCP {small:.0f} and {large:.0f} ({in_print})" in WORDS
    assert max(small, large) < 100


def test_without_a_scoreboard_bic_and_cubic_fall_behind_as_well_which_they_do_not_in_print(goodputs, printed):
    bic, cubic = (goodputs["300 ms", "0.1 bdp", "newreno", name] for name in ("bic", "cubic"))
    in_print = f"{printed['bic', '0.1 bdp']:.0f} and {printed['cubic', '0.1 bdp']:.0f}"
    said = f"With 0.1 BDP they get {bic:.1f} and {cubic:.1f} Mbit/s, where {in_print} are printed"
    assert said in WORDS


@pytest.mark.parametrize("algorithm", ["scalable", "htcp"])
def test_neither_falls_behind_with_a_shorter_rtt_or_with_a_scoreboard(goodputs, algorithm: str):
    for limit in ("0.1 bdp", "1 bdp"):
        assert goodputs["100 ms", limit, "newreno", algorithm] > MOST_OF_THE_LINK
        assert goodputs["300 ms", limit, "rfc6675", algorithm] > MOST_OF_THE_LINK
    small, large = (goodputs["300 ms", limit, "rfc6675", algorithm] for limit in ("0.1 bdp", "1 bdp"))
    assert large > small


def test_who_fills_the_link_agrees_better_with_print_without_a_scoreboard():
    section = PAGE.partition("### Single flows over the loss recovery")[2]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if " | Table I | " in line]
    kappa = {value: found for engine, value, *_, found in rows if engine == "simulator, the study's hosts"}
    assert f"Cohen's κ of the verdicts of Table I is {kappa['newreno']} without a scoreboard" in WORDS
    assert f"and {kappa['rfc6675']} with one" in WORDS
    assert float(kappa["newreno"]) > float(kappa["rfc6675"]) + 0.2


def flow_of(algorithm: str, limit: str, more: dict[str, str]) -> dict[str, Any]:
    """Return the row of a single flow at 300 ms without a scoreboard, with the study's hosts."""
    settings = {"path.rtt": "300 ms", "path.queue.limit": limit, "hosts.recovery": "newreno", **more}
    part = planned(
        Study.load("buffer-provisioning"), "recovery", Setting("full", (algorithm,), study_hosts=True)
    )
    [run] = part.with_settings(settings).runs()
    return ENGINE.execute(run.run)["flows"].row(0, named=True)


@pytest.mark.parametrize(
    ("algorithm", "limit"),
    [("htcp", "0.1 bdp"), ("htcp", "1 bdp"), ("bic", "0.1 bdp"), ("cubic", "0.1 bdp"), ("scalable", "1 bdp")],
)
def test_without_a_scoreboard_the_receive_window_limits_who_falls_behind(algorithm: str, limit: str):
    """Most of the 1000 s that are measured."""
    assert flow_of(algorithm, limit, {})["steady_rwnd_limited_s"] > 500


def test_a_window_that_holds_more_packets_does_not_hold_bic_back():
    """Packets of 250 bytes cross a link of a sixth of the rate as those of 1500 bytes cross the study's."""
    small = {"path.rate": "33.333 Mbit/s", "flows.0.segment": "198 B"}
    usual, many = (flow_of("bic", "500 packets", more) for more in ({}, small))
    assert many["steady_rwnd_limited_s"] == 0
    used, used_with_many = (
        100 * flow["goodput_bit_per_s"] / 1e6 / (mbit_per_s * payload_bytes / size_bytes)
        for flow, mbit_per_s, payload_bytes, size_bytes in (
            (usual, 200, 1448, 1500),
            (many, 33.333, 198, 250),
        )
    )
    assert f"BIC with 0.1 BDP uses {used_with_many:.0f} % of the link instead of {used:.0f} %" in WORDS
    assert "the same window holds seven times as many packets" in WORDS  # 1448 / 198
