"""The bridge to the simulator: JSON runs as input, Arrow tables as output."""

import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tussle
from tussle import _core
from tussle.dataset import ENGINE_TABLES, flows_frame
from tussle.engines import engine
from tussle.errors import TussleError
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

Run = dict[str, Any]

SCENARIO = Scenario.from_dict(
    {
        "duration": "5 s",
        "record": {"events": True},
        "path": {"rate": "10 Mbit/s", "rtt": "20 ms"},
        "flows": [{"algorithm": ["reno", "cubic"]}, {"algorithm": "vegas"}],
    }
)


def a_run() -> Run:
    return SCENARIO.runs()[1].run


def test_the_engine_fills_every_table_as_declared() -> None:
    tables = engine("sim").execute(a_run())
    assert set(tables) == set(ENGINE_TABLES)
    for name, table in ENGINE_TABLES.items():
        conformed = table.conform(tables[name].with_columns(run=pl.lit(0, pl.UInt32)))
        assert conformed.height > 0
        # Whatever is counted fits the declared type already: the cast in `conform` only widens.
        assert conformed.drop("run").equals(
            tables[name].cast(conformed.drop("run").schema).select(conformed.columns[1:])
        )


MEASURED = {
    "name": "first",
    "algorithm": "reno",
    "path": ["network"],
    "start_ns": 0,
    "delivered_bytes": 3_000_000,
    "steady": {"delivered_bytes": 2_500_000, "timeouts": 1},
}
"""A flow of which an engine measures little."""


def test_flows_of_real_hosts_have_the_table_of_simulated_ones() -> None:
    """2 500 000 bytes in 2 s are 10 Mbit/s; what is not measured is empty."""
    rtt = {"min_ms": 1.0, "mean_ms": 2.0, "percentiles_ms": [1.0, 1.5, 2.0, 2.5, 3.0, 3.5]}
    second = {**MEASURED, "name": "second", "counts": {"sent_packets": 9}, "rtt": rtt}
    table = flows_frame([MEASURED, second], 2 * 10**9)
    simulated = engine("sim").execute(a_run())["flows"]
    assert table.schema == simulated.schema
    assert table["flow"].to_list() == [0, 1]
    assert table["goodput_bit_per_s"].to_list() == [1e7, 1e7]
    assert table["steady_timeouts"].to_list() == [1, 1]
    assert table["sent_packets"].to_list() == [None, 9]
    assert table["rtt_p95_ms"].to_list() == [None, 3.0]


def test_a_row_with_a_key_that_no_flow_has_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown field `losses`"):
        flows_frame([{**MEASURED, "losses": 1}], 10**9)


def test_every_column_type_crosses_the_bridge() -> None:
    tables = {name: pl.DataFrame(table) for name, table in _core.execute(json.dumps(a_run())).items()}
    types = {str(dtype) for frame in tables.values() for dtype in frame.dtypes}
    assert types == {"UInt32", "UInt64", "Float64", "String", "Categorical"}
    assert tables["flows"]["algorithm"].to_list() == ["cubic", "vegas"]
    assert tables["flows"]["name"].to_list() == ["flow-0", "flow-1"]
    starts = tables["events"].filter(pl.col("kind") == "start")
    assert starts["flow"].to_list() == [0, 1]
    assert starts["link"].to_list() == [None, None]
    assert tables["samples"]["ssthresh_packets"].null_count() > 0
    assert set(tables["samples"]["state"].unique()) <= {"open", "disorder", "cwr", "recovery", "loss"}


def test_a_table_can_be_imported_more_than_once() -> None:
    table = _core.execute(json.dumps(a_run()))["flows"]
    assert pl.DataFrame(table).equals(pl.DataFrame(table))


def test_delivered_bytes_agree_with_goodput() -> None:
    run = a_run()
    flows = engine("sim").execute(run)["flows"]
    steady_s = (run["steady"]["to_ns"] - run["steady"]["from_ns"]) / 1e9
    for flow in flows.iter_rows(named=True):
        assert math.isclose(flow["goodput_bit_per_s"], 8 * flow["steady_delivered_bytes"] / steady_s)
    assert flows["goodput_bit_per_s"].sum() < 10e6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda run: run.pop("seed"), "seed"),
        (lambda run: run.update(colour="red"), "colour"),
        (lambda run: run.update(format=2), "format"),
        (lambda run: run.update(duration_ns=-1), "duration_ns|-1"),
        (lambda run: run.update(duration_ns=0), "duration_ns"),
        (lambda run: run["flows"][0].update(algorithm="cubik"), "cubik"),
        (lambda run: run["flows"][0].update(parameters={"speed": 3}), "speed"),
        (lambda run: run["flows"][0].update(forward=["nowhere"]), "nowhere"),
        (lambda run: run["flows"][1].update(name="flow-0"), "flow-0"),
        (lambda run: run["elements"][0].update(rate_bit_per_s=0), "rate_bit_per_s"),
        (lambda run: run["elements"][0].update(kind="wormhole"), "wormhole"),
        (lambda run: run["elements"][0]["queue"].update(limit_packets=0), "limit_packets"),
        (lambda run: run["steady"].update(to_ns=0), "steady"),
    ],
)
def test_an_invalid_run_is_refused_with_its_field(change: Callable[[Run], object], words: str) -> None:
    run = a_run()
    change(run)
    with pytest.raises(TussleError, match=words) as checked:
        engine("sim").check(run)
    with pytest.raises(TussleError) as executed:
        engine("sim").execute(run)
    assert str(checked.value) == str(executed.value)
    assert "\n" not in str(checked.value)


@given(st.text())
def test_an_invalid_run_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        _core.check(text)


def test_the_catalogue_lists_algorithms_queues_and_elements() -> None:
    catalogue = json.loads(_core.catalog())
    assert {"reno", "cubic", "bic", "vegas"} <= {entry["name"] for entry in catalogue["algorithms"]}
    assert "fifo" in {entry["name"] for entry in catalogue["queues"]}
    assert {"link", "delay", "loss"} <= {entry["name"] for entry in catalogue["elements"]}
    for entry in catalogue["algorithms"]:
        assert set(entry) == {"name", "idea", "source", "agrees_with", "parameters"}
        for parameter in entry["parameters"]:
            assert set(parameter) == {"name", "default", "min", "max", "meaning"}
            assert parameter["min"] <= parameter["default"] <= parameter["max"]


def test_every_algorithm_runs_and_appears_in_the_results() -> None:
    for entry in json.loads(_core.catalog())["algorithms"]:
        run = SCENARIO.set("flows.0.algorithm", entry["name"]).runs()[0].run
        assert engine("sim").execute(run)["flows"]["algorithm"][0] == entry["name"]


def test_package_and_simulator_have_the_same_version() -> None:
    assert tussle.__version__ == _core.version()


def test_threads_simulate_side_by_side_with_equal_results() -> None:
    text = json.dumps(a_run())
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(_core.execute, [text] * 8))
    first = pl.DataFrame(results[0]["samples"])
    assert all(first.equals(pl.DataFrame(result["samples"])) for result in results[1:])


def test_ctrl_c_stops_a_long_simulation(tmp_path: Path) -> None:
    run = a_run() | {"duration_ns": 10**15, "record": {"sampling": "off", "events": False}}
    (tmp_path / "run.json").write_text(json.dumps(run))
    script = "import sys, tussle._core as core; print(flush=True); core.execute(open(sys.argv[1]).read())"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "run.json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=10)[1].rstrip().endswith("KeyboardInterrupt")


def test_sweeps_of_the_simulator_repeat_byte_for_byte(tmp_path: Path) -> None:
    one = sweep(SCENARIO, tmp_path / "one", SweepSettings(workers=1))
    two = sweep(SCENARIO, tmp_path / "two", SweepSettings(workers=2))
    assert one.provenance["digest"] == two.provenance["digest"]
    assert one.provenance["files_sha256"] == two.provenance["files_sha256"]
    assert one.provenance["engine"]["name"] == "sim"
