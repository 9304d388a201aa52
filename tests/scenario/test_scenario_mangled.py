"""Any input gives a scenario or error messages, and never another exception."""

import json
import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tussle import _core
from tussle.errors import TussleError
from tussle.scenario import Scenario, value_of_text
from tussle.scenario.text import parse_toml

unhurried = settings(deadline=None)
"""A loaded machine is no mistake."""

WHOLE = {
    "question": "Who wins?",
    "duration": "60 s",
    "steady": {"from": "20 s", "to": "50 s"},
    "seed": 3,
    "repetitions": 2,
    "start_jitter": "10 ms",
    "record": {"samples": "100 ms", "events": True},
    "path": {
        "profile": "dsl",
        "rate": "100 Mbit/s",
        "rtt": "40 ms",
        "loss": "0.01 %",
        "changes": [
            {"at": "2 s", "rate": "50 Mbit/s", "reverse_rate": "1 Mbit/s"},
            {"at": "3 s", "rtt": "9 ms"},
        ],
        "arq": {
            "block_error": "1 %",
            "block": "500 B",
            "attempts": 3,
            "retry_delay": "8 ms",
            "overhead": 0,
        },
        "elements": [
            {"kind": "jitter", "delay": "normal(5 ms, 2 ms)", "order": "free", "place": "before"},
            {"kind": "ramp", "begin": "1 s", "end": "2 s", "from": "0 ms", "to": "5 ms"},
            {"kind": "handover", "every": "15 s", "delay": "uniform(0 ms, 9 ms)", "pause": "1 ms"},
            {"kind": "outage", "up": "exponential(9 s)", "down": "pareto(1 ms, 2)", "while_down": "hold"},
            {"kind": "policer", "rate": "9 Mbit/s", "burst": "90 kB"},
            {"kind": "gilbert_elliott", "p": "1 %", "r": "9 %", "loss_good": 0, "loss_bad": "50 %"},
        ],
        "queue": {
            "kind": ["fifo", "threshold", "codel"],
            "limit": ["1 bdp", "300 kB", "100 packets", "40 ms"],
            "mark_above": "20 packets",
            "target": "5 ms",
            "interval": "100 ms",
            "ecn": True,
        },
        "reverse": {
            "rate": "1 Mbit/s",
            "loss": 0,
            "elements": [
                {"kind": "aggregate", "hold": "1 ms", "most_packets": 9},
                {"kind": "loss_periodic", "every_packets": 9},
                {"kind": "loss_list", "packets": "1, 3-5"},
                {"kind": "corrupt", "probability": "1 %"},
            ],
            "queue": {
                "kind": "red",
                "limit": "1 bdp",
                "min": "0.2 bdp",
                "max": "30 packets",
                "weight": "0.2 %",
                "max_probability": "2 %",
            },
        },
    },
    "flows": [
        {
            "algorithm": ["reno", "cubic"],
            "name": "alice",
            "count": 2,
            "start": "1 s",
            "stop": "55 s",
            "bytes": "1 GB",
            "access": {"rate": "1 Gbit/s", "delay": "1 ms"},
            "receiver_access": {"delay": "1 ms"},
            "parameters": {},
            "sender": {"ecn": True, "pacing": True},
            "receiver": {"receive_window": "1 MiB"},
            "segment": "1000 B",
        },
        {"algorithm": "vegas"},
    ],
}
TRAFFIC = {
    "duration": "5 s",
    "path": {"rate": "10 Mbit/s", "rtt": "40 ms", "links": [{"rate": "9 Mbit/s", "rtt": "9 ms"}, {}]},
    "flows": [
        {"algorithm": "reno", "arrivals": "exponential(1 s)", "bytes": "pareto(10 kB, 1.2)", "leaves": 2},
        {"algorithm": "udp", "application": {"kind": "rate", "rate": "1 Mbit/s"}, "enters": 2},
        {
            "algorithm": "cubic",
            "direction": "reverse",
            "application": {"kind": "on_off", "rate": "1 Mbit/s", "on": "1 s", "off": "normal(2 s, 1 s)"},
        },
        {"algorithm": "cubic", "application": {"kind": "chunks", "size": "1 MB", "every": "1 s"}},
        {"algorithm": "cubic", "application": {"kind": "requests", "size": "9 kB", "think": "9 ms"}},
    ],
}

numbers = st.one_of(st.integers(), st.floats(), st.integers(-(10**4000), 10**4000), st.booleans(), st.none())
quantities = st.builds(
    "{} {}".format,
    st.one_of(st.integers(-3, 10**12), st.floats()),
    st.sampled_from(["bit/s", "Mbit/s", "ms", "s", "h", "packets", "kB", "bdp", "%", "", "x"]),
)
names = st.sampled_from(
    ["reno", "cubic", "bic", "vegas", "lan", "linux", "fifo", "red", "on", "off", "change", "flow-0"]
)
scalars = st.one_of(numbers, quantities, names, st.text(max_size=12))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=5,
)


def keys_of(tables: Any, prefix: str = "") -> list[str]:
    """Return every dotted key of the tables, including the tables' own."""
    items = dict(enumerate(tables)) if isinstance(tables, list) else tables
    if not isinstance(items, dict):
        return []
    below = [deeper for key, value in items.items() for deeper in keys_of(value, f"{prefix}{key}.")]
    return [*(f"{prefix}{key}" for key in items), *below]


def scenario_or_sentences(make) -> None:
    try:
        made = make()
    except TussleError as error:
        sentences = str(error).splitlines()
        assert sentences
        for sentence in sentences:
            assert sentence.startswith(("scenario", "setting "))
            assert sentence.isprintable()
    else:
        assert isinstance(made, Scenario)
        assert Scenario.from_dict(tomllib.loads(made.to_toml())) == made
        for point in made.points()[:2]:
            _core.check(json.dumps(point.resolve(seed=1)))  # what is right here is right for the simulator


def test_the_unmutated_scenario_is_valid():
    assert Scenario.from_dict(WHOLE).points()


@unhurried
@given(st.dictionaries(st.sampled_from(keys_of(WHOLE)), values, min_size=1, max_size=3))
def test_mutated_values_give_a_scenario_or_error_messages(changes: dict[str, Any]):
    scenario_or_sentences(lambda: Scenario.from_dict(WHOLE).with_settings(changes))


@unhurried
@given(st.dictionaries(st.sampled_from(keys_of(TRAFFIC)), st.one_of(values, quantities), max_size=2))
def test_mutated_traffic_gives_a_scenario_or_error_messages(changes: dict[str, Any]):
    scenario_or_sentences(lambda: Scenario.from_dict(TRAFFIC).with_settings(changes))


@unhurried
@given(st.sampled_from(keys_of(WHOLE)), quantities)
def test_mutated_quantities_give_a_scenario_or_error_messages(key: str, quantity: str):
    scenario_or_sentences(lambda: Scenario.from_dict(WHOLE).set(key, quantity))


@unhurried
@given(values)
def test_arbitrary_values_give_a_scenario_or_error_messages(anything: Any):
    scenario_or_sentences(lambda: Scenario.from_dict(anything))


@unhurried
@given(st.text(max_size=30), st.text(max_size=30))
def test_random_settings_give_a_scenario_or_error_messages(key: str, text: str):
    scenario_or_sentences(lambda: Scenario.from_dict(WHOLE).set(key, value_of_text(text)))


@unhurried
@given(st.data())
def test_a_mutated_file_gives_a_scenario_or_error_messages(data: st.DataObject):
    text = Scenario.from_dict(WHOLE).to_toml()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 20, len(text))))
    mangled = text[:start] + data.draw(st.text(max_size=10)) + text[end:]
    scenario_or_sentences(lambda: Scenario.from_dict(parse_toml(mangled, "scenario")))
