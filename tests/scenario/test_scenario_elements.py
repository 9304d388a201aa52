"""Elements, radio links and traces on a path: their settings, and their form in a run."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from simulated import simulated
from tussle import _core
from tussle.catalog import catalog
from tussle.engines import engine
from tussle.errors import TussleError
from tussle.profiles import profiles
from tussle.scenario import Scenario
from tussle.scenario.element_kinds import ELEMENTS
from tussle.scenario.kinds import Needed, SimulatorDefault
from tussle.sweep.merge import runs_table
from written import WRITTEN, scenario, takers

MS = 1_000_000
S = 1_000_000_000

IN_A_RUN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"kind": "jitter", "delay": "5 ms"}, {"delay": {"constant_ns": 5 * MS}}),
    (
        {"kind": "jitter", "delay": "normal(20 ms, 5 ms)", "order": "free"},
        {"delay": {"normal": {"mean_ns": 20 * MS, "deviation_ns": 5 * MS}}, "order": "free"},
    ),
    (
        {"kind": "ramp", "begin": "1 s", "end": "2 s", "from": "0 ms", "to": "5 ms"},
        {"begin_ns": S, "end_ns": 2 * S, "from_delay_ns": 0, "to_delay_ns": 5 * MS},
    ),
    (
        {"kind": "rtt_series", "series": "rtt.csv"},
        {
            "steps": [
                {"until_ns": S, "delay_ns": 0},
                {"until_ns": 3 * S, "delay_ns": 15_500_000},
                {"until_ns": 5 * S, "delay_ns": 2 * MS},
            ]
        },
    ),
    (
        {"kind": "handover", "every": "15 s", "delay": "uniform(0 ms, 9 ms)", "pause": "10 ms"},
        {
            "every_ns": 15 * S,
            "delay": {"uniform": {"least_ns": 0, "most_ns": 9 * MS}},
            "pause_ns": 10 * MS,
        },
    ),
    (
        {"kind": "outage", "up": "exponential(10 s)", "down": "pareto(5 ms, 2.5)", "while_down": "drop"},
        {
            "up": {"exponential_ns": 10 * S},
            "down": {"pareto": {"least_ns": 5 * MS, "shape": 2.5}},
            "while_down": "drop",
        },
    ),
    ({"kind": "aggregate", "hold": "4 ms", "most_packets": 32}, {"hold_ns": 4 * MS, "most_packets": 32}),
    (
        {"kind": "policer", "rate": "10 Mbit/s", "burst": "100 kB"},
        {"rate_bit_per_s": 10_000_000, "burst_bytes": 100_000},
    ),
    ({"kind": "gilbert_elliott", "p": "1 %", "r": "25 %"}, {"p": 0.01, "r": 0.25}),
    ({"kind": "loss_periodic", "every_packets": 100}, {"every_packets": 100}),
    ({"kind": "loss_list", "packets": "20, 40-42"}, {"packets": [20, 40, 41, 42]}),
    ({"kind": "corrupt", "probability": "0.1 %"}, {"probability": 0.001}),
    ({"kind": "duplicate", "probability": "0.1 %"}, {"probability": 0.001}),
    ({"kind": "mark", "probability": "1 %"}, {"probability": 0.01}),
    ({"kind": "unmark", "probability": "100 %"}, {"probability": 1.0}),
    (
        {"kind": "jitter", "delay": "quantiles(0 ms, 1 ms, 9 ms)"},
        {"delay": {"quantiles_ns": [0, MS, 9 * MS]}},
    ),
    ({"kind": "jitter", "delay": "wifi(7 ms)"}, {"delay": {"wifi_ns": 7 * MS}}),
]


def directions(made: Scenario) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the elements of both directions of the only point after the simulator has accepted them."""
    (point,) = made.points()
    run = point.resolve(seed=1)
    _core.check(json.dumps(run))
    by_name = {each["name"]: each for each in run["elements"]}
    return tuple([by_name[name] for name in run["flows"][0][way]] for way in ("forward", "reverse"))  # pyright: ignore[reportReturnType]


def names(elements: list[dict[str, Any]]) -> list[str]:
    return [element["name"] for element in elements]


def mistakes(**changes: Any) -> list[str]:
    with pytest.raises(TussleError) as refused:
        scenario(**changes)
    return str(refused.value).splitlines()


def test_scenarios_have_exactly_the_elements_of_the_simulator():
    of_keys = {"link", "trace", "arq", "wifi", "processing", "delay", "loss"}
    assert set(ELEMENTS.by_name) == set(catalog().elements) - of_keys


def with_everything(kind: str, *, defaults: bool) -> dict[str, Any]:
    """Return an element with its required settings, and the others at their defaults."""
    table = ELEMENTS.by_name[kind]
    extras = {
        field.alias or name: field.json_schema_extra
        for name, field in table.model_fields.items()
        if name not in table.common
    }
    needed = {name: extra.example for name, extra in extras.items() if isinstance(extra, Needed)}
    given = {name: extra.value for name, extra in extras.items() if isinstance(extra, SimulatorDefault)}
    return {"kind": kind, **needed, **(given if defaults else {})}


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The file that the example of `rtt_series` names, in the current folder."""
    (tmp_path / "rtt.csv").write_text("time_s,rtt_ms\n5,40\n6,55.5\n8,42\n", "utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("kind", ELEMENTS.by_name)
def test_the_simulator_takes_every_setting_of_an_element_and_has_its_default(kind: str):
    """Results are equal with an explicit and with an implicit default."""
    found = []
    for defaults in (True, False):
        written = with_everything(kind, defaults=defaults)
        forward, _ = directions(scenario(path__elements=[written]))
        assert len(forward[-1]) == 1 + len(written)
        made = scenario(path__elements=[written], duration="3 s", repetitions=1)
        found.append(simulated(made))
    assert found[0] == found[1]


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(("written", "element"), IN_A_RUN)
def test_an_element_of_a_scenario_becomes_one_of_its_run(written: dict[str, Any], element: dict[str, Any]):
    forward, _ = directions(scenario(path__elements=[written]))
    assert forward[-1] == {"name": written["kind"], "kind": written["kind"]} | element


def test_elements_are_before_or_after_the_bottleneck_in_the_written_order():
    police = {"kind": "policer", "rate": "9 Mbit/s", "burst": "30 kB", "place": "before"}
    jitter = {"kind": "jitter", "delay": "1 ms"}
    lose = {"kind": "loss_periodic", "every_packets": 9}
    forward, reverse = directions(
        scenario(
            path__loss="1 %", path__elements=[jitter, police, lose, jitter], path__reverse__elements=[lose]
        )
    )
    assert names(forward) == ["loss", "policer", "bottleneck", "jitter", "loss_periodic", "jitter-2"]
    assert names(reverse) == ["bottleneck-reverse", "loss_periodic-reverse"]


def test_a_list_in_an_element_is_an_axis():
    element = {"kind": ["duplicate", "corrupt"], "probability": ["1 %", "2 %"]}
    made = scenario(path__elements=[element], repetitions=1)
    assert list(made.axes()) == ["path.elements.0.kind", "path.elements.0.probability"]
    assert len(made.runs()) == 4


def test_a_radio_link_has_the_errors_that_are_given_in_that_direction_alone():
    arq = {"block_error": "10 %", "block": "320 B", "attempts": 4, "retry_delay": "8 ms"}
    forward, reverse = directions(scenario(path__arq=arq, path__changes=[{"at": "1 s", "rate": "1 Mbit/s"}]))
    assert {key: forward[0][key] for key in ("kind", "block_error", "block_bytes", "attempts")} == {
        "kind": "arq",
        "block_error": 0.1,
        "block_bytes": 320,
        "attempts": 4,
    }
    assert (forward[0]["retry_delay_ns"], forward[0]["overhead_ns"]) == (8 * MS, 0)
    assert forward[0]["changes"]
    assert reverse[0]["kind"] == "link"


def test_a_radio_link_takes_the_settings_that_are_not_given_from_its_profile():
    path = {"profile": "hsdpa", "arq": {"attempts": 3}, "reverse": {"arq": {"block_error": "12 %"}}}
    made = scenario(path=path)
    (forward, *_), (reverse, *_) = directions(made)
    keys = ("block_error", "block_bytes", "attempts", "retry_delay_ns")
    assert [forward[key] for key in keys] == [0.1, 400, 3, 10 * MS]
    assert [reverse[key] for key in keys] == [0.12, 86, 4, 10 * MS]
    assert directions(Scenario.from_dict(made.to_dict())) == directions(made)


def test_wifi_takes_the_settings_that_are_not_given_from_its_profile():
    path = {"profile": "wifi-80211g", "wifi": {"stations": 0}, "reverse": {"wifi": {"fading_db": 0}}}
    made = scenario(path=path)
    (forward, *_), (reverse, *_) = directions(made)
    keys = ("stations", "signal_dbm", "fading_db")
    assert [[each[key] for key in keys] for each in (forward, reverse)] == [[0, -76, 2], [4, -76, 0]]
    assert directions(Scenario.from_dict(made.to_dict())) == directions(made)


@pytest.mark.parametrize("kind", ["arq", "wifi"])
def test_a_medium_may_have_no_settings(kind: str):
    made = scenario(path__rate="20 Mbit/s", **{f"path__{kind}": {}})
    (forward, *_), _ = directions(made)
    assert forward["kind"] == kind
    assert Scenario.from_dict(made.to_dict()) == made


def test_a_medium_without_settings_takes_all_of_them_from_its_profile():
    path = {"profile": "wifi-80211g"}
    assert directions(scenario(path=path | {"wifi": {}})) == directions(scenario(path=path))


def test_wifi_has_stations_and_a_signal_and_the_path_rate_as_its_highest_rate():
    wifi = {"stations": [3, 9], "signal_dbm": -76}
    made = scenario(path__rate="54 Mbit/s", path__wifi=wifi)
    assert made.axes() == {"path.wifi.stations": (3, 9)}
    forward = [point.resolve(seed=1)["elements"][0] for point in made.points()]
    assert [(each["kind"], each["stations"], each["signal_dbm"]) for each in forward] == [
        ("wifi", 3, -76),
        ("wifi", 9, -76),
    ]
    assert {each["rate_bit_per_s"] for each in forward} == {54_000_000}


def test_a_trace_file_beside_the_scenario_is_stored_in_the_run(tmp_path: Path):
    """3 x 12 000 bit each 10 ms: 3.6 Mbit/s, and 1 bdp of 40 ms is 12 packets."""
    (tmp_path / "lte.trace").write_text("1\n5\n10\n")
    file = tmp_path / "lte.toml"
    file.write_text(WRITTEN.replace('rate = "100 Mbit/s"', 'trace = "lte.trace"'))
    made = Scenario.load(file)
    forward, reverse = directions(made)
    assert (forward[0]["kind"], list(forward[0]["opportunities_ms"])) == ("trace", [1, 5, 10])
    assert forward[0]["queue"] == {"kind": "fifo", "limit_packets": 12}
    assert reverse[0] == forward[0] | {"name": "bottleneck-reverse"}
    assert runs_table(made.runs())["link_rate_bit_per_s"].item() == 3.6e6
    assert Scenario.from_dict(made.to_dict()) == made


def test_a_trace_overrides_the_rate_of_a_profile(tmp_path: Path):
    trace = tmp_path / "up.trace"
    trace.write_text("10\n")
    forward, reverse = directions(scenario(path__rate=None, path__profile="dsl", path__trace=str(trace)))
    assert (forward[0]["kind"], reverse[0]["kind"]) == ("trace", "link")
    assert reverse[0]["rate_bit_per_s"] == 1_000_000


def test_a_csv_of_rates_gives_the_opportunities_at_which_they_add_up_to_a_packet(tmp_path: Path):
    """From 100 s: 1.2 Mbit/s, a packet each 10 ms, for 35 ms; nothing for 20 ms; 2.4 Mbit/s, one each 5 ms.

    The first rate leaves half a packet, which the third completes 2.5 ms after 55 ms.
    """
    file = tmp_path / "5g.csv"
    file.write_text("time_s,rate_mbit_per_s,cell\n100,1.2,a\n100.035,0,a\n\n100.055,2.4,b\n", "utf-8")
    forward, _ = directions(scenario(path__rate=None, path__rtt="40 ms", path__trace=str(file)))
    assert list(forward[0]["opportunities_ms"]) == [10, 20, 30, 58, 63, 68, 73]


def test_a_csv_of_one_rate_is_that_rate(tmp_path: Path):
    """50 Mbit/s for 2 s are 8333.3 packets, of which the last whole one leaves after 1999.92 ms."""
    file = tmp_path / "even.csv"
    file.write_text("0,50\n1,50\n", "utf-8")
    made = scenario(path__rate=None, path__rtt="40 ms", path__trace=str(file))
    assert len(directions(made)[0][0]["opportunities_ms"]) == 8333
    assert runs_table(made.runs())["link_rate_bit_per_s"].item() == pytest.approx(50e6, rel=1e-4)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("time,rate\n0,x\n", 'line 2: "0,x" is not a time in seconds and a rate in Mbit/s'),
        ("0,1\n1\n", 'line 2: "1" is not a time in seconds and a rate in Mbit/s'),
        ("0,1\n0,1\n", "line 2: 0 s is not after the row above it"),
        ("0,-1\n1,1\n", 'line 1: "0,-1" is not a time and a rate in Mbit/s from 0 up'),
        ("0,nan\n1,1\n", 'line 1: "0,nan" is not a time and a rate in Mbit/s from 0 up'),
        ("0,1\n", "has 1 rows of numbers; give two or more, of seconds and a rate in Mbit/s"),
        ("", "has 0 rows of numbers; give two or more, of seconds and a rate in Mbit/s"),
        ("0,0\n1,0\n", "never carries a packet of 1500 bytes; its rates are in Mbit/s"),
        ("0,1e6\n9,1\n", "carries more than 10000000 packets; shorten it"),
        ("0,1\n1e9,1\n", "lasts 2000000000 s; give at most 4294967 s"),
    ],
)
def test_a_mistake_in_a_csv_of_rates_is_reported_with_its_line(tmp_path: Path, text: str, what: str):
    trace = tmp_path / "bad.csv"
    trace.write_text(text)
    (sentence,) = mistakes(path__rate=None, path__trace=str(trace))
    assert sentence.startswith("scenario, path.trace: bad.csv")
    assert sentence.endswith(what)


def test_a_series_of_rtts_beside_the_scenario_is_what_short_flows_measure(tmp_path: Path):
    """40 ms for 1 s, 55.5 ms for 2 s, 42 ms for 2 s, and again; two packets take 0.25 ms at 100 Mbit/s."""
    (tmp_path / "rtt.csv").write_text("5,40\n6,55.5\n8,42\n", "utf-8")
    file = tmp_path / "mobile.toml"
    element = '[[path.elements]]\nkind = "rtt_series"\nseries = "rtt.csv"\n\n[[flows]]'
    file.write_text(WRITTEN.replace("[[flows]]", element), "utf-8")
    made = Scenario.load(file)
    assert Scenario.from_dict(made.to_dict()) == made
    starts = ["100 ms", "1.1 s", "3.1 s", "5.1 s", "6.1 s"]
    tables = made.to_dict() | {
        "duration": "10 s",
        "steady": {"from": "0 s"},
        "flows": [{"algorithm": "reno", "bytes": "2 kB", "start": start} for start in starts],
    }
    measured = [flow["rtt_min_ms"] for flow in simulated(Scenario.from_dict(tables))["flows"]]
    assert measured == pytest.approx([40, 55.5, 42, 40, 55.5], abs=0.3)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("0,40\n1,x\n", 'line 2: "1,x" is not a time in seconds and an RTT in ms'),
        ("0,40\n1,-1\n", 'line 2: "1,-1" is not a time and an RTT in ms from 0 up'),
        ("0,40\n", "has 1 rows of numbers; give two or more, of seconds and an RTT in ms"),
        ("0,40\n1,1e6\n", "the RTTs are 40 to 1E+6 ms; they may differ by 100000 ms"),
        ("0,1\n1e-9,1\n", "lasts less than a microsecond; its times are in seconds"),
    ],
)
def test_a_mistake_in_a_series_of_rtts_is_reported_with_its_line(tmp_path: Path, text: str, what: str):
    series = tmp_path / "bad.csv"
    series.write_text(text)
    (sentence,) = mistakes(path__elements=[{"kind": "rtt_series", "series": str(series)}])
    assert sentence.startswith("scenario, path.elements.0.series: bad.csv")
    assert sentence.endswith(what)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1\nx\n", 'line 2: "x" is not a time in whole milliseconds'),
        ("3\n2\n", "line 2: 2 ms is before the line above it"),
        ("0\n", "has a duration of 0 ms; its last line must be more than 0"),
        ("", "has a duration of 0 ms; its last line must be more than 0"),
        ("1\n" * 90_000 + "2\n", "has 540 Gbit/s on average; the limit is 400 Gbit/s"),
    ],
)
def test_a_mistake_in_a_trace_file_is_reported_with_its_line(tmp_path: Path, text: str, what: str):
    trace = tmp_path / "bad.trace"
    trace.write_text(text)
    (sentence,) = mistakes(path__rate=None, path__trace=str(trace))
    assert sentence.startswith("scenario, path.trace: bad.trace")
    assert sentence.endswith(what)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"path__elements": [{"kind": "jiter"}]},
            'scenario, path.elements.0.kind: unknown element "jiter"; did you mean "jitter"?',
        ),
        (
            {"path__elements": [{}]},
            'scenario, path.elements.0.kind: missing; give the kind of element, like kind = "jitter"',
        ),
        (
            {"path__elements": [{"kind": "jitter"}]},
            'scenario, path.elements.0.delay: missing; jitter needs it, like "normal(5 ms, 2 ms)"',
        ),
        (
            {"path__reverse__elements": [{"kind": "loss_periodic"}]},
            "scenario, path.reverse.elements.0.every_packets: missing; loss_periodic needs it, like 100",
        ),
        (
            {"path__elements": [{"kind": "loss_periodic", "every_packets": 9, "delay": "1 ms"}]},
            f"scenario, path.elements.0.delay: a setting of {takers(ELEMENTS, 'delay')}; loss_periodic takes "
            "every_packets",
        ),
        (
            {"path__elements": [{"kind": "jitter", "delay": "uniforme(1 ms, 1 ms)"}]},
            'scenario, path.elements.0.delay: unknown distribution "uniforme"; did you mean "uniform"?',
        ),
        (
            {"path__elements": [{"kind": "jitter", "delay": "wifi(100 ms)"}]},
            'scenario, path.elements.0.delay: write a mean delay of 1 to 91 ms, like "wifi(7 ms)"',
        ),
        (
            {"path__elements": [{"kind": "jitter", "delay": "normal(1 ms)"}]},
            'scenario, path.elements.0.delay: write two values, like "normal(20 ms, 5 ms)"',
        ),
        (
            {"path__elements": [{"kind": "loss_list", "packets": "9-3"}]},
            'scenario, path.elements.0.packets: "9-3"; write packets and ranges of them, ascending, '
            'like "20, 40-45"',
        ),
        (
            {"path__elements": [{"kind": "ramp", "begin": "2 s", "end": "1 s", "from": 0, "to": "1 ms"}]},
            "scenario, path.elements.0.end: 1 s is not after begin, 2 s",
        ),
        (
            {"path__elements": [{"kind": "handover", "every": "1 s", "delay": 0, "pause": "1 s"}]},
            "scenario, path.elements.0.pause: 1 s is not less than every, 1 s",
        ),
        (
            {"path__elements": [{"kind": "policer", "rate": "1 Mbit/s", "burst": "1 kB"}]},
            "scenario, path.elements.0.burst: 1 kB lets no full packet pass; give at least 1500 B",
        ),
        (
            {"path__elements": [{"kind": "jitter", "delay": "1 ms", "place": "middle"}]},
            'scenario, path.elements.0.place: "middle"; write "before" or "after"',
        ),
        (
            {"path__rate": None, "path__trace": "none.trace"},
            'scenario, path.trace: there is no file "none.trace"; name one in mahimahi\'s format, '
            "or a .csv of seconds and Mbit/s",
        ),
        (
            {"path__rate": "5 Mbit/s", "path__wifi": {}},
            "scenario, path.rate: 5 Mbit/s is below the rates of WiFi; give 6 Mbit/s to 54 Mbit/s",
        ),
        (
            {"path__wifi": {}, "path__arq": {}},
            "scenario, path.wifi: a bottleneck is one of wifi, trace and arq; give one of them",
        ),
        (
            {"path__wifi": {}, "path__changes": [{"at": "1 s", "rtt": "1 ms"}]},
            "scenario, path.changes.0: a path with wifi cannot change; give it a rate instead, "
            "in both directions",
        ),
        (
            {"path__wifi": {"signal_dbm": 5}},
            "scenario, path.wifi.signal_dbm: 5 is out of range; give -100 to 0",
        ),
        (
            {"path__arq": {"attempts": 0}},
            "scenario, path.arq.attempts: 0 is out of range; give 1 to 1000",
        ),
        (
            {"path__arq": {"block_error": "100 %"}},
            "scenario, path.arq.block_error: 100 %; nothing would arrive; give less than 100 %",
        ),
    ],
)
def test_a_mistake_in_an_element_is_reported_in_one_sentence(changes: dict[str, Any], sentence: str):
    assert mistakes(**changes) == [sentence]


def test_a_trace_excludes_the_settings_that_it_contains(tmp_path: Path):
    trace = tmp_path / "a.trace"
    trace.write_text("10\n")
    both = mistakes(path__trace=str(trace))
    assert both == ["scenario, path.trace: a trace gives the rate of the link; give either a trace or a rate"]
    arq = mistakes(path__rate=None, path__trace=str(trace), path__arq={})
    assert arq == [
        "scenario, path.arq: a trace contains the errors of its radio link; give either a trace or arq"
    ]
    changing = mistakes(path__rate=None, path__trace=str(trace), path__changes=[{"at": "1 s", "rtt": 0}])
    assert changing == [
        "scenario, path.changes.0: a path with a trace cannot change; give it a rate instead, in both "
        "directions"
    ]


def test_corrupt_packets_are_distinct_events_and_are_retransmitted():
    made = scenario(
        path__elements=[{"kind": "corrupt", "probability": "1 %"}],
        flows__0__bytes="3 MB",
        record={"events": True, "samples": "off"},
    )
    tables = engine("sim").execute(made.runs()[0].run)
    flow = tables["flows"].row(0, named=True)
    corrupt = tables["events"].filter(pl.col("kind") == "corrupt")
    assert corrupt.height == flow["dropped_packets"] > 0
    assert flow["retransmitted_packets"] >= flow["dropped_packets"]
    assert flow["delivered_bytes"] == 3_000_000


@pytest.mark.parametrize("name", sorted(profiles()))
def test_a_flow_delivers_data_over_every_profile(name: str):
    made = scenario(path={"profile": name}, duration="5 s", flows__0__algorithm="cubic")
    tables = engine("sim").execute(made.runs()[0].run)
    assert tables["flows"]["goodput_bit_per_s"].item() > 0


def test_a_flow_has_jitter_of_its_own_in_both_directions():
    tables = {
        "duration": "2 s",
        "path": {"rate": "10 Mbit/s", "rtt": "40 ms"},
        "flows": [
            {"algorithm": "reno", "access": {"delay": "2 ms", "jitter": "uniform(0 ms, 5 ms)"}},
            {"algorithm": "reno", "access": {"jitter": "0 ms"}},
        ],
    }
    resolved = Scenario.from_dict(tables).runs()[0].run
    jittered, other = resolved["flows"]
    assert jittered["forward"] == ["flow-0-access", "flow-0-access-jitter", "bottleneck"]
    back = ["bottleneck-reverse", "flow-0-access-jitter-reverse", "flow-0-access-reverse"]
    assert jittered["reverse"] == back
    assert (other["forward"], other["reverse"]) == (["bottleneck"], ["bottleneck-reverse"])
    for name in ("flow-0-access-jitter", "flow-0-access-jitter-reverse"):
        element = next(each for each in resolved["elements"] if each["name"] == name)
        delay = {"uniform": {"least_ns": 0, "most_ns": 5 * MS}}
        assert element == {"name": name, "kind": "jitter", "delay": delay, "order": "kept"}


def test_jitter_of_a_flow_delays_its_packets_alone():
    tables = {
        "duration": "2 s",
        "path": {"rate": "100 Mbit/s", "rtt": "40 ms"},
        "steady": {"from": "0 s"},
        "flows": [
            {"algorithm": "reno", "bytes": "10 kB", "access": {"jitter": "5 ms"}},
            {"algorithm": "reno", "bytes": "10 kB", "start": "1 s"},
        ],
    }
    jittered, other = (flow["rtt_min_ms"] for flow in simulated(Scenario.from_dict(tables))["flows"])
    # Once in each direction: 40 + 2 * 5 ms. Seven packets of 1500 bytes take less than 1 ms.
    assert 50 <= jittered < 51
    assert 40 <= other < 41
