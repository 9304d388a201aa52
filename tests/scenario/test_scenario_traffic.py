"""Applications, arrivals and directions of flows: their settings, and their form in a run."""

import json
import statistics
from itertools import pairwise
from typing import Any

import pytest

from tussle import _core
from tussle.engines import engine
from tussle.errors import TussleError
from tussle.scenario import Scenario
from tussle.scenario.application_kinds import APPLICATIONS
from tussle.scenario.distributions import size_distribution, time_distribution
from tussle.scenario.sampling import sample
from written import scenario

MS = 1_000_000
S = 1_000_000_000


def flows(made: Scenario, seed: int = 1) -> list[dict[str, Any]]:
    """Return the flows of the only point after the simulator has accepted them."""
    (point,) = made.points()
    run = point.resolve(seed)
    _core.check(json.dumps(run))
    return run["flows"]


def mistakes(**changes: Any) -> list[str]:
    with pytest.raises(TussleError) as refused:
        scenario(**changes)
    return str(refused.value).splitlines()


@pytest.mark.parametrize(
    ("written", "resolved"),
    [
        ({"kind": "rate", "rate": "5 Mbit/s"}, {"rate_bit_per_s": 5_000_000}),
        (
            {"kind": "on_off", "rate": "5 Mbit/s", "on": "exponential(1 s)", "off": "2 s"},
            {"rate_bit_per_s": 5_000_000, "on": {"exponential_ns": S}, "off": {"constant_ns": 2 * S}},
        ),
        (
            {"kind": "chunks", "size": "2 MB", "every": "4 s"},
            {"chunk_bytes": 2_000_000, "every": {"constant_ns": 4 * S}},
        ),
        (
            {"kind": "requests", "size": "100 kB", "think": "uniform(0 ms, 9 ms)"},
            {"response_bytes": 100_000, "think": {"uniform": {"least_ns": 0, "most_ns": 9 * MS}}},
        ),
    ],
)
def test_an_application_is_resolved(written: dict[str, Any], resolved: dict[str, Any]):
    (flow,) = flows(scenario(flows__0__application=written))
    assert flow["application"] == {"kind": written["kind"]} | resolved


@pytest.mark.parametrize("kind", APPLICATIONS.by_name)
def test_the_simulator_takes_every_setting_of_an_application(kind: str):
    table = APPLICATIONS.by_name[kind]
    missing = table.model_validate({"kind": kind}).missing()
    assert list(missing) == APPLICATIONS.settings(kind)
    written = {setting: needed.example for setting, needed in missing.items()}
    (flow,) = flows(scenario(flows__0__application={"kind": kind, **written}))
    assert len(flow["application"]) == 1 + len(written)


def test_a_bulk_flow_has_no_application_in_its_run():
    (flow,) = flows(scenario())
    assert "application" not in flow
    assert "application" not in scenario().to_toml()


def test_each_application_of_a_list_has_its_own_settings():
    written = {"kind": ["rate", "chunks"], "rate": "5 Mbit/s", "size": "2 MB", "every": "4 s"}
    points = scenario(flows__0__application=written).points()
    resolved = [point.resolve(seed=1)["flows"][0]["application"] for point in points]
    keys = [sorted(each) for each in resolved]
    assert keys == [["kind", "rate_bit_per_s"], ["chunk_bytes", "every", "kind"]]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"flows__0__application": {"rate": "1 Mbit/s"}},
            'scenario, flows.0.application.kind: missing; give one, like kind = "rate"',
        ),
        (
            {"flows__0__application": {"kind": "chunkz"}},
            'scenario, flows.0.application.kind: unknown application "chunkz"; did you mean "chunks"?',
        ),
        (
            {"flows__0__application": {"kind": "rate", "rate": "1 Mbit/s", "size": "1 kB"}},
            "scenario, flows.0.application.size: a setting of chunks and requests; rate takes rate",
        ),
        (
            {"flows__0__application": {"kind": "chunks", "size": "1 kB"}},
            'scenario, flows.0.application.every: missing; chunks needs it, like "4 s"',
        ),
        (
            {"flows__0__algorithm": "udp"},
            "scenario, flows.0.application: missing; udp sends what its application writes, "
            'like application = { kind = "rate", rate = "5 Mbit/s" }',
        ),
        (
            {
                "flows__0__algorithm": "udp",
                "flows__0__application": {"kind": "requests", "size": "1 kB", "think": "1 s"},
            },
            "scenario, flows.0.application.kind: udp does not acknowledge a response; "
            "write rate, on_off or chunks",
        ),
        (
            {
                "flows__0__algorithm": "udp",
                "flows__0__bytes": "1 MB",
                "flows__0__application": {"kind": "rate", "rate": "1 Mbit/s"},
            },
            "scenario, flows.0.bytes: a udp receiver cannot detect the last byte; give a stop instead",
        ),
        (
            {"flows__0__arrivals": "1 s"},
            'scenario, flows.0.bytes: missing; flows that arrive need a size, like "pareto(10 kB, 1.2)"',
        ),
        (
            {"flows__0__arrivals": "1 s", "flows__0__bytes": "1 kB", "flows__0__count": 2},
            "scenario, flows.0.count: arrivals decide the number of flows; leave count out",
        ),
        (
            {"flows__0__arrivals": "1 ms", "flows__0__bytes": "1 kB"},
            "scenario, flows.0.arrivals: 1 ms makes more than 5000 flows; give more time between them, "
            "or an earlier stop",
        ),
        (
            {"flows__0__arrivals": "2 min", "flows__0__bytes": "1 kB"},
            "scenario, flows.0.arrivals: 2 min makes no flow before the end of the run; give a shorter time",
        ),
        (
            {"flows__0__arrivals": "1 s", "flows__0__bytes": "1 kB", "baseline": True},
            "scenario, baseline: arrivals are random in each repetition; leave baseline out",
        ),
        (
            {"flows__0__arrivals": "wifi(7 ms)", "flows__0__bytes": "1 kB"},
            "scenario, flows.0.arrivals: wifi is a distribution of delays; write one of the others",
        ),
        (
            {"flows__0__bytes": "wifi(7 ms)"},
            "scenario, flows.0.bytes: wifi is a distribution of delays; write a distribution of sizes",
        ),
        ({"flows__0__bytes": "0 B"}, "scenario, flows.0.bytes: 0 B; give more than 0"),
        (
            {"flows__0__bytes": "pareto(10 kB)"},
            'scenario, flows.0.bytes: write two values, like "pareto(10 kB, 1.2)"',
        ),
        (
            {"flows__0__bytes": "uniform(1 MB, 1 kB)"},
            "scenario, flows.0.bytes: 1 kB is less than 1 MB; write the smaller size first",
        ),
        (
            {"flows__0__direction": "back"},
            'scenario, flows.0.direction: "back"; write "forward" or "reverse"',
        ),
    ],
)
def test_a_mistake_is_reported_in_one_sentence(changes: dict[str, Any], sentence: str):
    assert mistakes(**changes) == [sentence]


def arriving(**changes: Any) -> Scenario:
    return scenario(
        **{"flows__0__arrivals": "exponential(100 ms)", "flows__0__bytes": "pareto(10 kB, 1.2)", **changes}
    )


def test_the_number_of_poisson_arrivals_agrees_with_their_mean():
    """60 s of 10 a second: 600, with a deviation of sqrt(600) = 24; five of those allowed."""
    starts_ns = [flow["start_ns"] for flow in flows(arriving())]
    assert 480 <= len(starts_ns) <= 720
    assert starts_ns == sorted(starts_ns)
    gaps_ns = [after - before for before, after in pairwise(starts_ns)]
    # Exponential: as much deviation as mean.
    assert statistics.stdev(gaps_ns) / statistics.mean(gaps_ns) == pytest.approx(1, abs=0.2)


def test_sizes_have_the_tail_of_pareto():
    """P(size > 4 · 10 kB) = 4^-1.2 = 18.9 %; of some 600, with a deviation of 1.6 %; five of those."""
    sizes_bytes = [flow["bytes"] for flow in flows(arriving())]
    assert min(sizes_bytes) >= 10_000
    assert sum(size > 40_000 for size in sizes_bytes) / len(sizes_bytes) == pytest.approx(0.189, abs=0.08)


def test_arrivals_begin_at_the_start_and_end_at_the_stop():
    made = arriving(flows__0__start="10 s", flows__0__stop="20 s", flows__0__arrivals="1 s")
    assert [flow["start_ns"] for flow in flows(made)] == [second * S for second in range(11, 20)]
    assert {flow["stop_ns"] for flow in flows(made)} == {None}


def test_arrivals_follow_the_seed():
    assert flows(arriving(), seed=1) == flows(arriving(), seed=1)
    assert flows(arriving(), seed=1) != flows(arriving(), seed=2)


def test_each_flow_that_arrives_has_a_name():
    made = arriving(flows__0__arrivals="20 s", flows__0__name="web")
    assert [flow["name"] for flow in flows(made)] == ["web-0", "web-1"]


def test_each_flow_of_a_count_has_its_own_random_size():
    made = scenario(flows__0__count=5, flows__0__bytes="uniform(10 kB, 1 MB)")
    assert len({flow["bytes"] for flow in flows(made)}) == 5


@pytest.mark.parametrize(
    ("written", "mean", "half"),
    [
        # Exponential with mean 10 ms: half are below ln 2 · 10 = 6.93.
        ("exponential(10 ms)", 10.0, 6.93),
        ("uniform(1 ms, 5 ms)", 3.0, 3.0),
        ("normal(20 ms, 2 ms)", 20.0, 20.0),
        # Pareto from 4 ms with 2.5: mean 2.5 · 4 / 1.5 = 6.67, half are below 4 · 2^(1/2.5) = 5.28.
        ("pareto(4 ms, 2.5)", 6.67, 5.28),
        ("quantiles(1 ms, 2 ms, 10 ms)", 3.75, 2.0),
        ("7 ms", 7.0, 7.0),
    ],
)
def test_random_samples_have_the_expected_mean_and_median(written: str, mean: float, half: float):
    times_ms = [sample(time_distribution(written), f"{number}") / MS for number in range(5000)]
    assert statistics.mean(times_ms) == pytest.approx(mean, rel=0.08)
    assert statistics.median(times_ms) == pytest.approx(half, rel=0.08)


def test_random_samples_are_the_same_on_every_platform():
    assert sample(size_distribution("pareto(10 kB, 1.2)"), "a") == 31_352
    assert sample(time_distribution("exponential(10 ms)"), "a") == 13_712_339


def test_a_reverse_flow_takes_the_reverse_path_between_its_own_access_links():
    made = scenario(
        flows__0__direction="reverse",
        flows__0__access={"delay": "1 ms"},
        flows__0__receiver_access={"delay": "2 ms"},
    )
    (flow,) = flows(made)
    assert flow["forward"] == ["flow-0-access", "bottleneck-reverse", "flow-0-receiver"]
    assert flow["reverse"] == ["flow-0-receiver-reverse", "bottleneck", "flow-0-access-reverse"]


def test_the_simulator_executes_every_kind_of_traffic():
    made = scenario(
        duration="5 s",
        flows=[
            {"algorithm": "cubic", "direction": "reverse"},
            {"algorithm": "udp", "application": {"kind": "rate", "rate": "2 Mbit/s"}},
            {
                "algorithm": "reno",
                "name": "web",
                "arrivals": "exponential(500 ms)",
                "bytes": "pareto(10 kB, 2)",
                "stop": "4 s",
            },
        ],
    )
    (planned,) = made.runs()
    table = engine("sim").execute(planned.run)["flows"]
    assert table["algorithm"].to_list()[:2] == ["cubic", "udp"]
    # Over 100 Mbit/s, a second is enough for each.
    assert table["completion_s"][2:].null_count() == 0
    assert table["completion_s"][:2].null_count() == 2
