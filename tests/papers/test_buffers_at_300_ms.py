"""What does not explain the goodputs of single flows at 300 ms in the study of buffers."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tussle.engines.sim import ENGINE
from tussle.papers import Setting, Study, planned

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
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
def over_windows() -> pl.DataFrame:
    """Goodput in Mbit/s of a flow without a scoreboard over its receive window, a column for each engine."""
    table = pl.read_csv(DOCS / "papers" / "buffer-provisioning" / "comparison.csv")
    rows = table.filter(part="receive-window", quantity="goodput").pivot("engine", index="row", values="mean")
    assert rows.height == 36
    names = pl.col("row").str.split(", ").list.to_struct(fields=["window", "rtt", "limit", "algorithm"])
    return rows.with_columns(names.alias("names")).unnest("names")


@pytest.fixture(scope="module")
def printed() -> dict[tuple[str, ...], float]:
    """The goodputs in Mbit/s that the study prints for a single flow, by RTT, buffer and algorithm."""
    rows = Study.load("buffer-provisioning").published().filter(part="single")
    named = rows.select("path.rtt", "path.queue.limit", "flows.0.algorithm", "goodput_mbit_per_s")
    return {tuple(keys): goodput for *keys, goodput in named.iter_rows()}


EVERY_ROW = list(itertools.product(("100 ms", "300 ms"), ("0.1 bdp", "1 bdp")))
"""Each RTT with each buffer."""


def both(numbers: dict[tuple[str, ...], float], rtt: str, *others: str) -> str:
    """Return the goodputs with a buffer of 0.1 and 1 BDP as a text has them."""
    small, large = (numbers[rtt, limit, *others] for limit in ("0.1 bdp", "1 bdp"))
    return f"{small:.0f} and {large:.0f}"


def test_without_a_scoreboard_scalable_and_htcp_are_far_below_the_link_as_in_print(goodputs, printed):
    scalable, htcp = (both(goodputs, "300 ms", "newreno", name) for name in ("scalable", "htcp"))
    in_print = [both(printed, "300 ms", name) for name in ("scalable", "htcp")]
    said = f"Scalable gets {scalable} Mbit/s at 300 ms with 0.1 and 1 BDP (printed: {in_print[0]})"
    assert f"{said}, and H-TCP {htcp} ({in_print[1]})" in WORDS
    for name, limit in itertools.product(("scalable", "htcp"), ("0.1 bdp", "1 bdp")):
        assert max(goodputs["300 ms", limit, "newreno", name], printed["300 ms", limit, name]) < 100


def test_without_a_scoreboard_they_fall_behind_at_100_ms_too_which_they_do_not_in_print(goodputs, printed):
    scalable, htcp = (both(goodputs, "100 ms", "newreno", name) for name in ("scalable", "htcp"))
    in_print = [both(printed, "100 ms", name) for name in ("scalable", "htcp")]
    said = f"At 100 ms Scalable gets {scalable} (printed: {in_print[0]}), and H-TCP {htcp} ({in_print[1]})"
    assert said in WORDS
    for name, limit in itertools.product(("scalable", "htcp"), ("0.1 bdp", "1 bdp")):
        assert goodputs["100 ms", limit, "newreno", name] < 120
        assert printed["100 ms", limit, name] > MOST_OF_THE_LINK


def test_without_a_scoreboard_bic_and_cubic_fall_behind_too_which_they_do_not_in_print(goodputs, printed):
    rows = [(*row, name) for row in EVERY_ROW for name in ("bic", "cubic")]
    most = max(goodputs[rtt, limit, "newreno", name] for rtt, limit, name in rows)
    least = min(printed[row] for row in rows)
    assert f"BIC and CUBIC get at most {most:.0f} in each row, where at least {least:.0f} is printed" in WORDS


@pytest.mark.parametrize("algorithm", ["scalable", "highspeed", "htcp", "bic", "cubic"])
def test_with_a_scoreboard_no_fast_variant_falls_behind(goodputs, algorithm: str):
    assert all(goodputs[*row, "rfc6675", algorithm] > MOST_OF_THE_LINK for row in EVERY_ROW)


def test_who_fills_the_link_agrees_better_with_print_without_a_scoreboard():
    section = PAGE.partition("### Single flows over the loss recovery")[2]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if " | Table I | " in line]
    kappa = {value: found for engine, value, *_, found in rows if engine == "simulator, the study's hosts"}
    assert f"Cohen's κ of the verdicts of Table I is {kappa['newreno']} without a scoreboard" in WORDS
    assert f"and {kappa['rfc6675']} with one" in WORDS
    assert float(kappa["newreno"]) > float(kappa["rfc6675"]) + 0.2


def flow_of(algorithm: str, *, impatient: bool) -> dict[str, Any]:
    """Return the row of a flow at 300 ms with 0.1 BDP, without a scoreboard, with the study's hosts."""
    settings = {"path.rtt": "300 ms", "path.queue.limit": "0.1 bdp", "hosts.recovery": "newreno"}
    part = planned(
        Study.load("buffer-provisioning"), "recovery", Setting("full", (algorithm,), study_hosts=True)
    )
    [run] = part.with_settings(settings | {"hosts.impatient": impatient}).runs()
    return ENGINE.execute(run.run)["flows"].row(0, named=True)


@pytest.mark.parametrize("algorithm", ["htcp", "bic"])
def test_the_timer_of_the_newreno_agent_ends_each_recovery_of_a_fast_variant_and_that_of_linux_does_not(
    algorithm: str,
):
    impatient, steady = (flow_of(algorithm, impatient=each) for each in (True, False))
    assert impatient["timeouts"] >= impatient["recoveries"] - 1 > 100
    assert steady["timeouts"] < steady["recoveries"]


def test_both_engines_agree_with_a_receive_window_that_linux_can_hold(over_windows: pl.DataFrame):
    rows = over_windows.with_columns(off=(pl.col("kernel") - pl.col("sim")).abs())
    held = rows.filter(pl.col("window") != "1 GiB")
    assert (
        f"With a window that is set to 128 or 512 MiB all {held.height} goodputs of both engines agree to"
        in WORDS
    )
    assert f"agree to {held['off'].max():.1f} Mbit/s" in WORDS
    apart = rows.filter(pl.col("off") > 0.7)
    assert "With one that is set to 1 GiB these three differ again, and Westwood+ does not" in WORDS
    assert sorted(apart["algorithm"]) == ["cubic", "htcp", "scalable"]
    assert set(apart.select("window", "limit").iter_rows()) == {("1 GiB", "1 bdp")}


def test_reno_gets_the_same_with_a_scoreboard_and_without_one(goodputs):
    for row in EVERY_ROW:
        assert goodputs[*row, "rfc6675", "reno"] == pytest.approx(goodputs[*row, "newreno", "reno"], rel=1e-3)


def test_linux_lacks_a_buffer_for_a_window_of_1_gib_while_packets_wait():
    """The arithmetic of the agent: twice the window, and the memory of the packets that wait out of order."""
    agent = ROOT / "crates" / "tussle-agent" / "src" / "network" / "buffers.rs"
    [memory] = re.findall(r"const OUT_OF_ORDER_BYTES: u64 = (\d+);", agent.read_text("utf-8"))
    needed = 2 + int(memory) / 1448
    assert f"Linux would need a buffer of {needed:.1f} GiB, and its largest has 2" in WORDS
    page = " ".join((DOCS / "explanation" / "kernel-engine.md").read_text("utf-8").split())
    assert "leaves room for a receive window of 512 MiB while as many bytes wait" in page
    assert 512 / 1024 * needed < 2


def test_the_largest_buffer_leaves_less_room_beside_a_window_of_1_gib_than_the_application_may_leave_unread():
    """Linux keeps the size in 31 bits, as an even number; the window has 16 bits, scaled by 14."""
    room = 2**31 - 2 - 2 * (65_535 << 14)
    assert f"the largest buffer has {room / 1000:.0f} kB left beside the window" in WORDS
    traffic = ROOT / "crates" / "tussle-agent" / "src" / "execute" / "traffic.rs"
    assert "const READ_BYTES: i32 = 1 << 20;" in traffic.read_text("utf-8")
    assert "may leave 1 MiB unread" in WORDS


def test_receive_windows_from_128_mib_to_1_gib_do_not_give_the_printed_goodputs(
    over_windows: pl.DataFrame, printed
):
    in_print = [printed["300 ms", "1 bdp", name] for name in ("scalable", "cubic")]
    of_the_agent = over_windows.group_by("algorithm", "limit").agg(
        change=pl.col("sim-study-hosts").max() - pl.col("sim-study-hosts").min()
    )
    assert of_the_agent.height == 12
    assert of_the_agent["change"].max() == 0
    assert "With the timer of the NewReno agent the window changes nothing" in WORDS
    for column, name in itertools.product(("sim", "sim-study-hosts"), ("bic", "cubic")):
        most = over_windows.filter(algorithm=name, limit="0.1 bdp")[column].max()
        assert most < printed["300 ms", "0.1 bdp", name] / 5
    assert over_windows.filter(algorithm="cubic")["sim"].max() < in_print[1] / 3
    ranges = [
        f"{goodputs.min():.0f} to {goodputs.max():.0f}"
        for name in ("scalable", "cubic")
        for goodputs in [over_windows.filter(algorithm=name, limit="1 bdp")["sim"]]
    ]
    said = f"Scalable gets {ranges[0]} and CUBIC {ranges[1]}"
    assert f"{said} Mbit/s with 1 BDP, where {in_print[0]:.0f} and {in_print[1]:.0f} are printed" in WORDS
