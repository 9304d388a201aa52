"""The registry, and the properties of all metrics."""

from pathlib import Path

import polars as pl
import pytest

from measured import measured
from plausible import PlausibleDataset, by_hand, flow_row, matrix, run_row
from tussle import metrics
from tussle.dataset.schema import FLOWS
from tussle.errors import TussleError
from tussle.metrics import REGISTRY, Metric, representative_runs, select_runs, summarise

FILES = sorted(path.stem for path in Path(metrics.__path__[0]).glob("[a-z]*.py"))
DATA = matrix(["reno", "vegas"], 2)


def test_every_file_is_a_metric_of_the_same_name():
    assert list(REGISTRY) == FILES


@pytest.mark.parametrize("metric", REGISTRY.values(), ids=list(REGISTRY))
def test_a_metric_has_a_definition_unit_and_source(metric: Metric):
    assert metric.definition.endswith(".")
    assert metric.source
    assert metric.unit


@pytest.mark.parametrize("metric", REGISTRY.values(), ids=list(REGISTRY))
def test_a_metric_has_one_row_per_key(metric: Metric):
    table = metric.compute(measured())
    assert tuple(table.columns[: len(metric.per)]) == metric.per
    assert not table.is_empty()
    assert not table.select(metric.per).is_duplicated().any()
    assert table.equals(table.sort(metric.per))


@pytest.mark.parametrize("metric", REGISTRY.values(), ids=list(REGISTRY))
def test_a_metric_of_a_complete_dataset_has_finite_values(metric: Metric):
    """Each column of values has a value somewhere, and none is infinite or NaN."""
    values = metric.compute(measured()).drop(metric.per)
    assert values.columns
    if metric.name == "coexistence":
        values = values.drop("reason")  # of a verdict that is unclear, which none here is
    for column in values.get_columns():
        assert column.null_count() < column.len(), column.name
        assert not column.dtype.is_float() or column.drop_nulls().is_finite().all(), column.name


@pytest.mark.parametrize("metric", REGISTRY.values(), ids=list(REGISTRY))
def test_a_metric_depends_on_its_tables_only(metric: Metric):
    assert metric.compute(measured()).equals(metric.compute(measured()))


def test_repetitions_become_medians_and_quartiles():
    """Values 10, 20, 30, 50: median 25; quartiles 10 + 0.75 · 10 = 17.5 and 30 + 0.25 · 20 = 35."""
    data = by_hand(
        runs=[run_row(run, point=0, repetition=run) for run in range(4)],
        flows=[flow_row(run, 0, goodput_bit_per_s=rate * 1e6) for run, rate in enumerate([50, 10, 30, 20])],
    )
    row = summarise(REGISTRY["goodput"], data).row(0, named=True)
    assert row == {
        "point": 0,
        "flow": 0,
        "repetitions": 4,
        "goodput_bit_per_s": 25e6,
        "goodput_bit_per_s_q1": 17.5e6,
        "goodput_bit_per_s_q3": 35e6,
    }


def test_a_repetition_without_a_value_is_not_counted():
    data = by_hand(
        runs=[run_row(run, point=0, repetition=run) for run in range(2)],
        flows=[flow_row(0, 0), flow_row(1, 0, goodput_bit_per_s=1e6)],
    )
    assert summarise(REGISTRY["share"], data)["repetitions"].to_list() == [1]


def test_the_representative_run_is_nearest_to_the_medians():
    """The medians are 20 and 60; the distances are 10 and 0, 0 and 5, 20 and 10: run 1 is the nearest."""
    goodputs = [(10e6, 60e6), (20e6, 65e6), (40e6, 50e6)]
    data = by_hand(
        runs=[run_row(run, point=0, repetition=run) for run in range(3)],
        flows=[
            flow_row(run, flow, goodput_bit_per_s=goodput)
            for run, both in enumerate(goodputs)
            for flow, goodput in enumerate(both)
        ],
    )
    assert representative_runs(data).rows() == [(0, 1)]


def test_a_selection_has_its_runs_in_every_table():
    chosen = select_runs(DATA, [3])
    for table in (chosen.runs, chosen.flows, chosen.samples, chosen.links):
        assert table.select(pl.col("run").unique()).collect()["run"].to_list() == [3]


TIMES = ["start_s", "stop_s", "completion_s"]
COUNTED = [
    column.name
    for column in FLOWS.columns
    if column.dtype in (pl.UInt64, pl.Float64) and column.name not in TIMES
]
"""What engines count and measure of flows; any of it some engine may not tell."""


def without(table: str, columns: list[str]) -> PlausibleDataset:
    """The measured dataset with some columns of a table empty."""
    frames = {name: getattr(measured(), name) for name in ("runs", "flows", "samples", "links", "events")}
    emptied = [pl.lit(None, dtype=frames[table].collect_schema()[column]).alias(column) for column in columns]
    return PlausibleDataset(
        **{**frames, table: frames[table].with_columns(emptied)}, baseline=measured().baseline
    )


@pytest.mark.parametrize("metric", REGISTRY.values(), ids=list(REGISTRY))
@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("flows", COUNTED),
        ("samples", ["cwnd_packets", "ssthresh_packets", "srtt_ms", "rtt_ms", "in_flight_packets", "state"]),
        ("samples", ["delivered_bytes"]),
        (
            "links",
            [
                "backlog_packets",
                "backlog_bytes",
                "mean_backlog_packets",
                "max_backlog_packets",
                "utilisation",
            ],
        ),
        ("links", ["delivered_bytes"]),
    ],
)
def test_unknown_values_become_nulls_and_others_stay(metric: Metric, table: str, columns: list[str]):
    """A metric reports the missing column, or leaves cells empty; an unknown value never counts as 0."""
    try:
        found = metric.compute(without(table, columns))
    except TussleError:
        return
    whole = metric.compute(measured())
    assert found.columns == whole.columns
    joined = whole.join(found, on=metric.per, nulls_equal=True, suffix=" then")
    for column in whole.drop(metric.per).columns:
        then = joined[f"{column} then"]
        assert (then.is_null() | (then == joined[column])).fill_null(value=False).all(), column


@pytest.mark.parametrize("metric", REGISTRY.values(), ids=list(REGISTRY))
def test_metrics_in_ms_or_rtts_are_empty_without_network_parameters(metric: Metric):
    """Intervals then depend on the sampling only; columns in ms or in round trips are empty."""
    needs_the_network = {
        "queue": ["queue_mean_ms", "queue_max_ms"],
        "responsiveness": ["response_rtts"],
        "standing_queue": ["standing_queue_ms"],
    }
    data = without("runs", ["link_rate_bit_per_s", "base_rtt_ms", "buffer_packets"])
    if metric.name in ("loss_event_size", "loss_synchronisation"):
        with pytest.raises(TussleError, match="needs the rate and the RTT of the bottleneck"):
            metric.compute(data)
    else:
        table = metric.compute(data)
        assert metric.name != "queueing_delay" or table.is_empty()
        for column in needs_the_network.get(metric.name, ()):
            assert table[column].null_count() == table.height, column


@pytest.mark.parametrize("metric", REGISTRY.values(), ids=list(REGISTRY))
def test_a_dataset_without_runs_gives_no_values(metric: Metric):
    """A metric has no rows, or its error names the missing data."""
    nothing = select_runs(measured(), [])
    try:
        table = metric.compute(nothing)
    except TussleError:
        with pytest.raises(TussleError, match=f"^{metric.name} needs "):
            metric.compute(nothing)
    else:
        assert table.is_empty()
