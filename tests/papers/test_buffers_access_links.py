"""What the rate of the access links does to two flows over a full buffer, in the study of buffers."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import polars as pl
import pytest

import tussle
from tussle.papers import Study

DOCS = Path(__file__).parents[2] / "docs"
KEPT = DOCS / "papers" / "buffer-provisioning" / "results" / "sim-study-hosts"
WORDS = " ".join((DOCS / "explanation" / "published-studies.md").read_text("utf-8").split())
STUDY = Study.load("buffer-provisioning")
OF_WHOLE_PACKETS = 1.0359e-6
"""The study's Mbit/s for each bit/s of payload."""
VARIANT = {"access-near": "flows.0.algorithm", "access-far": "flows.1.algorithm"}
BESIDE_RENO = ("scalable", "highspeed", "htcp", "westwood", "bic", "cubic")

Pairs = dict[tuple[str, str, str], tuple[float, float]]


def of_both_flows(column: str) -> Pairs:
    """The mean of three runs for the nearer and for the farther flow, by part, rate and variant."""
    found: Pairs = {}
    for part, variant in VARIANT.items():
        data = tussle.open(KEPT / part)
        flows = data.flows.collect().join(data.runs.collect(), on="run", suffix="_of_run")
        keys = ("flows.0.access.rate", variant)
        means = flows.group_by(*keys, "flow").agg(pl.len(), pl.col(column).mean())
        assert means["len"].to_list() == [3] * 3 * 6 * 2
        for (rate, algorithm), both in means.group_by(*keys):
            near, far = both.sort("flow")[column]
            found[part, str(rate), str(algorithm)] = (near, far)
    return found


@pytest.fixture(scope="module")
def goodputs() -> Pairs:
    return {
        key: (near * OF_WHOLE_PACKETS, far * OF_WHOLE_PACKETS)
        for key, (near, far) in of_both_flows("goodput_bit_per_s").items()
    }


@pytest.fixture(scope="module")
def printed() -> dict[tuple[str, str], tuple[float, float]]:
    """Table II, by the part that sweeps its rows and the variant."""
    return {
        (part, row[variant]): (row["host_a_mbit_per_s"], row["host_b_mbit_per_s"])
        for part, variant in VARIANT.items()
        for row in STUDY.published().iter_rows(named=True)
        if f"access-{row['part']}" == part
    }


def test_in_print_each_flow_gets_more_on_the_farther_host(printed):
    for variant in BESIDE_RENO:
        near, reno_far = printed["access-near", variant]
        reno_near, far = printed["access-far", variant]
        assert far > near
        assert reno_far > reno_near
    assert "In print each flow of Table II gets more on the farther host than on the nearer one." in WORDS
    (near, far), (other_near, other_far) = (printed[part, "westwood"] for part in VARIANT)
    said = f"they get {near:.0f} and {far:.0f} Mbit/s, and {other_far:.0f} and {other_near:.0f}"
    assert f"{said} the other way round" in WORDS


def test_the_rate_of_the_access_links_decides_who_of_westwood_and_reno_gets_more(goodputs):
    def both(rate: str) -> list[tuple[float, float]]:
        return [goodputs[part, rate, "westwood"] for part in VARIANT]

    (near, far), (other_near, other_far) = both("500 Mbit/s")
    said = f"gets {near:.0f} or {other_near:.0f} and the farther {far:.0f} or {other_far:.0f}"
    assert f"With 500 Mbit/s the nearer of these two {said}" in WORDS
    for near, far in [*both("500 Mbit/s"), *both("250 Mbit/s")]:
        assert far > 4 * near
    (near, far), (other_near, other_far) = both("10 Gbit/s")
    said = f"gets {near:.0f} or {other_near:.0f} and the farther {far:.0f} or {other_far:.0f}"
    assert f"with 10 Gbit/s the nearer {said}" in WORDS
    assert max(far / near, other_far / other_near) < 0.6


def test_with_todays_hosts_the_rate_hardly_matters():
    table = pl.read_csv(DOCS / "papers" / "buffer-provisioning" / "comparison.csv")
    rows = table.filter(pl.col("part").is_in(list(VARIANT)), pl.col("row").str.ends_with(" westwood"))
    nearer = rows.filter(engine="sim", quantity="a")["mean"].to_list()
    assert len(nearer) == 2 * 3
    least, most = round(min(nearer)), round(max(nearer))
    assert f"the nearer of Westwood+ and Reno gets {least} to {most} Mbit/s with each" in WORDS
    assert 100 < least < most < 130


def test_the_flow_that_gets_less_loses_more_often():
    recoveries = of_both_flows("recoveries")
    near, far = recoveries["access-near", "500 Mbit/s", "westwood"]
    said = f"the nearer flow enters loss recovery {near:.0f} times and the farther {far:.0f} times in 2000 s"
    assert f"with 500 Mbit/s {said}" in WORDS
    assert near > 10 * far
    near, far = recoveries["access-near", "10 Gbit/s", "westwood"]
    assert f"with 10 Gbit/s {near:.0f} and {far:.0f} times" in WORDS
    assert far > 1.5 * near


def off(goodputs: Pairs, printed: dict[tuple[str, str], tuple[float, float]], part: str, rate: str) -> str:
    """The median difference of the twelve numbers of a part from print."""
    differences = [
        abs(ours / theirs - 1)
        for variant in BESIDE_RENO
        for ours, theirs in zip(goodputs[part, rate, variant], printed[part, variant], strict=True)
    ]
    return f"{100 * median(differences):.0f} %"


def test_with_slow_access_links_the_rows_of_a_farther_variant_are_near_print(goodputs, printed):
    slow, fast = (off(goodputs, printed, "access-far", rate) for rate in ("250 Mbit/s", "10 Gbit/s"))
    said = f"are within {slow} of print in the median, instead of {fast} with 10 Gbit/s"
    assert f"With 250 Mbit/s the rows of a variant on the farther host {said}" in WORDS


def test_a_nearer_variant_leaves_reno_more_with_slow_access_links_and_less_than_in_print(goodputs, printed):
    left = {
        variant: [goodputs["access-near", rate, variant][1] for rate in ("250 Mbit/s", "10 Gbit/s")]
        for variant in BESIDE_RENO
    }
    assert all(slow > fast for slow, fast in left.values())
    named = ("htcp", "bic", "cubic")
    htcp, bic, cubic = (f"{left[variant][0]:.0f}" for variant in named)
    in_print = [printed["access-near", variant][1] for variant in named]
    assert f"less than in print: H-TCP {htcp}, BIC {bic} and CUBIC {cubic} Mbit/s" in WORDS
    assert "where {:.0f}, {:.0f} and {:.0f} are printed".format(*in_print) in WORDS
    assert all(left[variant][0] < mbit / 3 for variant, mbit in zip(named, in_print, strict=True))
