"""Queues: their settings, and their form in a run."""

import json
from typing import Any

import pytest

from simulated import simulated
from tussle import _core
from tussle.catalog import catalog
from tussle.errors import TussleError
from tussle.scenario import Scenario
from tussle.scenario.queue_kinds import QUEUES, Fifo, Red
from written import scenario, takers

THRESHOLD = {"kind": "threshold", "mark_above": "20 packets"}
RED = {"kind": "red", "min": "0.03 bdp", "max": "60 packets"}
CODEL = {"kind": "codel"}
LIMIT = {"limit_packets": 333}
"""1 bdp: 100e6 bit/s x 0.04 s / 12000 bit = 333.3."""


def queues(made: Scenario) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the queues of both directions at each point after the simulator has accepted them."""
    found = []
    for point in made.points():
        run = point.resolve(seed=1)
        _core.check(json.dumps(run))
        by_name = {each["name"]: each for each in run["elements"]}
        found.append((by_name["bottleneck"]["queue"], by_name["bottleneck-reverse"]["queue"]))
    return found


def forward_queue(**queue: Any) -> dict[str, Any]:
    ((found, _),) = queues(scenario(path__queue=queue))
    return found


def mistakes(**changes: Any) -> list[str]:
    with pytest.raises(TussleError) as refused:
        scenario(**changes)
    return str(refused.value).splitlines()


def test_scenarios_have_exactly_the_queues_of_the_simulator():
    assert list(QUEUES.by_name) == list(catalog().queues)


def with_everything(kind: str) -> dict[str, Any]:
    """Return a queue with each of its settings, at the default or at an example."""
    fields = QUEUES.by_name[kind].model_fields
    extras = {name: fields[name].json_schema_extra for name in QUEUES.settings(kind)}
    values = {
        name: getattr(extra, "value", getattr(extra, "example", "1 bdp")) for name, extra in extras.items()
    }
    return {"kind": kind, **values}


@pytest.mark.parametrize("kind", QUEUES.by_name)
def test_the_simulator_takes_every_setting_of_a_queue(kind: str):
    written = with_everything(kind)
    assert len(forward_queue(**written)) == len(written)


@pytest.mark.parametrize("kind", QUEUES.by_name)
def test_the_default_of_a_setting_is_the_simulators(kind: str):
    """Results are equal with an explicit and with an implicit default."""
    fields = QUEUES.by_name[kind].model_fields
    written = with_everything(kind)
    needed = {
        name: value
        for name, value in written.items()
        if name == "kind" or hasattr(fields[name].json_schema_extra, "example")
    }
    assert outcome(written) == outcome(needed)


def outcome(queue: dict[str, Any]) -> Any:
    hosts = {"receive_window": "4 MB"}  # by default it depends on limits that are written
    flows = [{"algorithm": "cubic", "sender": {"ecn": True}}, {"algorithm": "reno"}]
    limit = {} if queue["kind"] != "cake" else {"limit": "4 MB"}
    made = scenario(
        duration="5 s",
        path={"rate": "20 Mbit/s", "rtt": "40 ms", "queue": queue | limit},
        flows=flows,
        hosts=hosts,
    )
    return simulated(made)


def test_a_queue_has_the_settings_of_its_kind_only():
    made = scenario(path__queue={"kind": "fifo", "limit": "2 bdp"})
    assert repr(made.path.queue) == "Fifo(kind='fifo', limit='2 bdp')"
    assert set(Fifo.model_fields) == {"kind", "limit"}
    assert isinstance(scenario(path__queue=RED).path.queue, Red)


@pytest.mark.parametrize(
    ("written", "mark_above"),
    [
        ("20 packets", {"mark_above_packets": 20}),
        ("0 packets", {"mark_above_packets": 0}),
        ("0.1 bdp", {"mark_above_packets": 33}),
        ("30 kB", {"mark_above_bytes": 30_000}),
        ("1 ms", {"mark_above_bytes": 12_500}),  # 100e6 bit/s x 0.001 s / 8 bit
        ("1 ns", {"mark_above_bytes": 0}),
    ],
)
def test_a_threshold_has_the_form_of_a_limit_and_may_be_0(written: str, mark_above: dict[str, int]):
    found = forward_queue(kind="threshold", mark_above=written)
    assert found == {"kind": "threshold", **LIMIT, **mark_above}


@pytest.mark.parametrize(
    ("written", "packets"),
    [("5 packets", 5), ("0.03 bdp", 10), ("7.5 kB", 5), ("0.3 ms", 2.5), ("0 packets", 0)],
)
def test_the_thresholds_of_red_are_packets_and_may_be_fractional(written: str, packets: float):
    found = forward_queue(kind="red", min=written, max="60 packets")
    assert found == {"kind": "red", **LIMIT, "min_packets": packets, "max_packets": 60}


def test_red_has_a_weight_a_probability_and_booleans():
    found = forward_queue(
        **RED, limit="90 kB", weight="0.4 %", max_probability="100 %", ecn=False, adaptive=True
    )
    assert found == {
        "kind": "red",
        "limit_bytes": 90_000,
        "min_packets": 10,
        "max_packets": 60,
        "weight": 0.004,
        "max_probability": 1,
        "adaptive": True,
        "ecn": False,
    }


def test_codel_has_a_target_an_interval_and_ecn():
    assert forward_queue(**CODEL) == {"kind": "codel", **LIMIT}
    assert forward_queue(**CODEL, target="1 ms", interval="20 ms", ecn=True) == {
        "kind": "codel",
        **LIMIT,
        "target_ns": 1_000_000,
        "interval_ns": 20_000_000,
        "ecn": True,
    }


def test_fair_queues_have_a_quantum_and_a_number_of_flow_queues():
    assert forward_queue(kind="fq_codel", limit="2 bdp", quantum="300 B", flows=64, target="15 ms") == {
        "kind": "fq_codel",
        "limit_packets": 667,
        "quantum_bytes": 300,
        "flows": 64,
        "target_ns": 15_000_000,
    }


def test_pie_has_a_target_and_an_update_interval():
    assert forward_queue(kind="pie", target="20 ms", update="16 ms", limit="90 kB", ecn=False) == {
        "kind": "pie",
        "limit_bytes": 90_000,
        "target_ns": 20_000_000,
        "update_ns": 16_000_000,
        "ecn": False,
    }


def test_dualpi2_has_a_step_threshold():
    assert forward_queue(kind="dualpi2", target="20 ms", step="0.5 ms") == {
        "kind": "dualpi2",
        "target_ns": 20_000_000,
        "step_ns": 500_000,
    }


@pytest.mark.parametrize("kind", ["fq_codel", "pie", "fq_pie", "cake", "dualpi2", "sfq"])
def test_settings_not_written_have_the_default_of_the_kind(kind: str):
    assert forward_queue(kind=kind) == {"kind": kind}


def test_a_queue_without_a_default_limit_holds_1_bdp():
    ((there_limited, back_limited),) = queues(
        scenario(path__queue={"kind": "fq_codel"}, path__reverse__queue__kind="fifo")
    )
    assert (there_limited, back_limited) == ({"kind": "fq_codel"}, {"kind": "fifo", **LIMIT})


def test_each_queue_of_a_list_has_its_own_settings():
    found = queues(scenario(path__queue=THRESHOLD | {"kind": ["fifo", "threshold"]}))
    assert [queue for queue, _ in found] == [
        {"kind": "fifo", **LIMIT},
        {"kind": "threshold", **LIMIT, "mark_above_packets": 20},
    ]


def test_the_reverse_queue_is_the_forward_queue_unless_set():
    ((same, reverse),) = queues(scenario(path__queue=THRESHOLD))
    assert reverse == same
    ((_, reverse),) = queues(scenario(path__queue=THRESHOLD, path__reverse__queue__kind="fifo"))
    assert reverse == {"kind": "fifo", **LIMIT}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"path__queue": {"target": "5 ms"}},
            f"scenario, path.queue.target: a setting of {takers(QUEUES, 'target')}; fifo takes limit",
        ),
        (
            {"path__queue": {"kind": ["fifo", "threshold"], "mark_above": "9 packets", "ecn": True}},
            f"scenario, path.queue.ecn: a setting of {takers(QUEUES, 'ecn')}; "
            "fifo and threshold take limit, mark_above",
        ),
        (
            {"path__profile": ["lan", "dsl"], "path__queue__min": "1 packet"},
            "scenario, path.queue.min: a setting of red; fifo takes limit",
        ),
        (
            {"path__queue": CODEL, "path__reverse__queue__weight": "1 %"},
            "scenario, path.reverse.queue.weight: a setting of red; codel takes limit, target, interval, ecn",
        ),
        (
            {"path__queue": {**CODEL, "targets": "5 ms"}},
            'scenario, path.queue: unknown key "targets"; did you mean "target"?',
        ),
        (
            {"path__queue__kind": "threshold"},
            'scenario, path.queue.mark_above: missing; a threshold queue needs it, like "20 packets"',
        ),
        (
            {"path__reverse__queue": {"kind": "red", "min": "1 bdp"}},
            'scenario, path.reverse.queue.max: missing; a red queue needs it, like "0.6 bdp"',
        ),
        (
            {"path__queue": RED | {"max": "9 packets"}},
            "scenario, path.queue.max: 9 packets is not more than min, 0.03 bdp; twice as much is advised",
        ),
        ({"path__queue": RED | {"weight": 0}}, "scenario, path.queue.weight: 0; give more than 0"),
        (
            {"path__queue": RED | {"max_probability": 0.02}},
            'scenario, path.queue.max_probability: 0.02 has no unit; write "2 %" for 0.02 of 1, or "0.02 %"',
        ),
        (
            {"path__queue": CODEL | {"interval": "0 ms"}},
            "scenario, path.queue.interval: 0 ms; give more than 0",
        ),
        (
            {"path__queue": CODEL | {"target": "5 packets"}},
            'scenario, path.queue.target: "5 packets" is a number of packets, not a time; '
            'write one like "40 ms"',
        ),
        (
            {"path__queue": {"kind": "fq_codel", "quantum": "2 MiB"}},
            "scenario, path.queue.quantum: 2 MiB; give 256 B to 1048576 B",
        ),
        (
            {"path__queue": {"kind": "fq_codel", "flows": 0}},
            "scenario, path.queue.flows: 0 is out of range; give 1 to 65536",
        ),
        ({"path__queue": CODEL | {"ecn": "yes"}}, 'scenario, path.queue.ecn: "yes"; write true or false'),
    ],
)
def test_a_mistake_in_a_queue_is_reported_in_one_sentence(changes: dict[str, Any], sentence: str):
    assert mistakes(**changes) == [sentence]


def test_red_without_thresholds_is_refused_with_both_names():
    assert [each.partition(";")[0] for each in mistakes(path__queue__kind="red")] == [
        "scenario, path.queue.min: missing",
        "scenario, path.queue.max: missing",
    ]
