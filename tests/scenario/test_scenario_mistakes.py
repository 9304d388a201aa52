"""Error messages for mistakes in a scenario: one sentence with the place and the correction."""

from pathlib import Path
from typing import Any

import pytest

from tussle.errors import TussleError
from tussle.profiles import profiles
from tussle.scenario import Scenario
from written import scenario


def mistake(changes: dict[str, Any]) -> str:
    with pytest.raises(TussleError) as refused:
        scenario(**changes)
    return str(refused.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"pth": 1}, 'scenario: unknown key "pth"; did you mean "path"?'),
        ({"path__queue__limt": "1 bdp"}, 'scenario, path.queue: unknown key "limt"; did you mean "limit"?'),
        (
            {"path__queue": {"type": "codel"}},
            'scenario, path.queue: unknown key "type"; did you mean kind = "codel"?',
        ),
        (
            {"path__queue": {"kind": "codel", "xyz": 1}},
            'scenario, path.queue: unknown key "xyz"; there are kind, limit, target, interval, ecn',
        ),
        ({"flows__0__algoritm": "x"}, 'scenario, flows.0: unknown key "algoritm"; did you mean "algorithm"?'),
        (
            {"flows__0__algorithm": "cubik"},
            'scenario, flows.0.algorithm: unknown algorithm "cubik"; did you mean "cubic"?',
        ),
        (
            {"flows__0__algorithm": "linux14"},
            'scenario, flows.0.algorithm: unknown algorithm "linux14"; did you mean "linux13"?',
        ),
        (
            {"flows__0__algorithm": ["linux13", {}]},
            "scenario, flows.0.algorithm: {} is not the name of an algorithm; write one in quotes, "
            'like "reno"',
        ),
        ({"path__profile": "lann"}, 'scenario, path.profile: unknown profile "lann"; did you mean "lan"?'),
        (
            {"path__queue__kind": "fif"},
            'scenario, path.queue.kind: unknown queue "fif"; did you mean "fifo"?',
        ),
        (
            {"path__rate": "40 ms"},
            'scenario, path.rate: "40 ms" is a time, not a rate; write one like "100 Mbit/s"',
        ),
        ({"path__rate": "0 Mbit/s"}, "scenario, path.rate: 0 Mbit/s; give more than 0"),
        (
            {"path__rate": "-1 Mbit/s"},
            'scenario, path.rate: -1 Mbit/s is negative; give a rate like "100 Mbit/s"',
        ),
        (
            {"path__rate": None},
            'scenario, path.rate: missing; give one like "100 Mbit/s", or a profile '
            f"({', '.join(profiles())})",
        ),
        ({"path__queue__limit": "0 packets"}, "scenario, path.queue.limit: 0 packets; give at least 1"),
        (
            {"path__queue__limit": "0 kB"},
            "scenario, path.queue.limit: 0 kB; give room for at least one packet",
        ),
        (
            {"path__queue__limit": "300 B"},
            "scenario, path.queue.limit: 300 B does not hold one packet; give at least 1500 B",
        ),
        ({"path__loss": "100 %"}, "scenario, path.loss: 100 %; nothing would arrive; give less than 100 %"),
        (
            {"path__loss": 0.01},
            'scenario, path.loss: 0.01 has no unit; write "1 %" for 0.01 of 1, or "0.01 %"',
        ),
        (
            {"path__rate": "400 Gbit/s", "path__rtt": "200 s", "path__queue__limit": "1000 bdp"},
            "scenario, path.queue.limit: 1000 bdp is 6666666666667 packets; give at most 4000000000",
        ),
        ({"duration": "0 s"}, "scenario, duration: 0 s; give more than 0"),
        (
            {"duration": float("inf")},
            'scenario, duration: Infinity has no unit; write a time like "40 ms" (ns, us, ms, s, min, h)',
        ),
        ({"duration": "1e20 s"}, "scenario, duration: 1e20 s is too large; give at most 720 h"),
        ({"duration": []}, "scenario, duration: an empty list; give at least one value"),
        (
            {"path__rate": ["1 Mbit/s"] * 2},
            'scenario, path.rate: "1 Mbit/s" is listed twice; give each value once',
        ),
        ({"seed": True}, "scenario, seed: true is not a whole number; write one, like 1"),
        ({"seed": -1}, "scenario, seed: -1 is out of range; give 0 to 9223372036854775807"),
        ({"repetitions": 0}, "scenario, repetitions: 0 is out of range; give 1 to 100000"),
        ({"flows__0__count": 10**9}, "scenario, flows.0.count: 1000000000 is out of range; give 1 to 10000"),
        (
            {"flows": [{"algorithm": "reno", "count": 9000}] * 2},
            "scenario, flows: 18000 flows; give at most 10000",
        ),
        ({"flows": []}, "scenario, flows: there are no flows; give at least one [[flows]] table"),
        ({"flows": [3]}, "scenario, flows.0: 3 is not a table; write its keys under [[flows]]"),
        ({"path": 3}, "scenario, path: 3 is not a table; write its keys under [path]"),
        (
            {"flows__0__start": "70 s"},
            "scenario, flows.0.start: 70 s is not before the end of the run at 60 s",
        ),
        (
            {"flows__0": {"algorithm": "reno", "start": "9 s", "stop": "5 s"}},
            "scenario, flows.0.stop: 5 s is not after the start at 9 s",
        ),
        (
            {"flows__0__stop": "2 s", "start_jitter": "2 s"},
            "scenario, flows.0.stop: 2 s is not after the start at 0 s (and up to 2 s of jitter)",
        ),
        ({"path__rtt": "201 s"}, "scenario, path.rtt: 201 s; give at most 200 s"),
        (
            {"flows__0__access__delay": "101 s"},
            "scenario, flows.0.access.delay: 101 s; give at most 100 s",
        ),
        (
            {"hosts__receive_window": "1 kB"},
            "scenario, hosts.receive_window: 1 kB has no room for a segment of flow 0; give at least 1448 B",
        ),
        (
            {"flows__0__bytes": "6 TB"},
            "scenario, flows.0.bytes: 6 TB is too large; give at most 4000000000 segments of 1448 B",
        ),
        ({"hosts__ecn": 1}, "scenario, hosts.ecn: 1; write true or false"),
        (
            {"flows__0__ecn": True},
            "scenario, flows.0.ecn: a setting of hosts; write it below [hosts], or as ecn of "
            "sender or receiver",
        ),
        (
            {"flows__0__segment": "1 B"},
            "scenario, flows.0.segment: 1 B is not a valid segment size; give 88 B to 65483 B",
        ),
        (
            {"flows__0__parameters": {"x": 1}},
            "scenario, flows.0.parameters: reno has no parameters; remove x",
        ),
        ({"steady__to": "70 s"}, "scenario, steady.to: 70 s is after the end of the run at 60 s"),
        ({"steady__from": "60 s"}, "scenario, steady.from: 60 s is not before the interval's end at 60 s"),
        (
            {"record__samples": "often"},
            'scenario, record.samples: "often"; write "off", "change" or an interval like "100 ms"',
        ),
        (
            {
                "path__rate": [f"{n} Mbit/s" for n in range(1, 401)],
                "path__rtt": [f"{n} ms" for n in range(1, 401)],
            },
            "scenario: its axes and repetitions make 160000 runs; shorten a list (at most 100000 runs)",
        ),
    ],
)
def test_a_mistake_is_reported_in_one_sentence_with_its_place(changes: dict[str, Any], sentence: str):
    assert mistake(changes) == sentence


def test_a_name_that_begins_with_a_dash_is_refused_for_its_beginning():
    """Such a name would be an option of the next command."""
    assert mistake({"flows": [{"algorithm": "reno", "name": "-1.5_x"}]}) == (
        'scenario, flows.0.name: "-1.5_x"; write a letter or digit, then up to 63 of letters, digits, dots, '
        "dashes and underscores"
    )


def test_two_flows_of_one_name_are_refused():
    named = {"algorithm": "reno", "name": "alice"}
    assert mistake({"flows": [named, named]}).splitlines() == [
        'scenario, flows.0.name: two flows are called "alice"; give each its own name',
        'scenario, flows.1.name: two flows are called "alice"; give each its own name',
    ]


def test_a_parameter_of_an_algorithm_is_checked_by_name_and_range():
    with_parameters = {"flows__0": {"algorithm": "cubic", "parameters": {"bta": 1, "beta": 10**6}}}
    assert mistake(with_parameters).splitlines() == [
        'scenario, flows.0.parameters: unknown parameter "bta"; did you mean "beta"?',
        "scenario, flows.0.parameters.beta: 1000000; cubic takes 1 to 1023",
    ]


def test_a_mistake_at_one_point_of_an_axis_is_found_before_the_first_run():
    assert mistake({"flows__0__start": ["0 s", "70 s"], "path__rate": ["1 Mbit/s", "2 Mbit/s"]}) == (
        "scenario, flows.0.start: 70 s is not before the end of the run at 60 s"
    )


def test_all_mistakes_of_a_file_are_listed_with_its_name(tmp_path: Path):
    file = tmp_path / "lte.toml"
    file.write_text(
        'duration = 60\n[path]\nrate = "1 Mbit/s"\nqueue.limit = "0 packets"\n'
        '[[flows]]\nalgorithm = "cubik"\n',
        encoding="utf-8",
    )
    with pytest.raises(TussleError) as refused:
        Scenario.load(file)
    assert str(refused.value).splitlines() == [
        'scenario lte.toml, duration: 60 has no unit; write a time like "40 ms" (ns, us, ms, s, min, h)',
        "scenario lte.toml, path.queue.limit: 0 packets; give at least 1",
        'scenario lte.toml, flows.0.algorithm: unknown algorithm "cubik"; did you mean "cubic"?',
    ]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"duration = \n", "scenario x.toml, line 1, column 12: not valid TOML: invalid value"),
        (b'duration = "60 s', "scenario x.toml, last line: not valid TOML: unterminated string"),
        (b"\xff\xfe", "scenario x.toml: {file} is not text in UTF-8; save it in UTF-8"),
        (
            b"seed = " + b"9" * 5000,
            "scenario x.toml: a number is too long or a list too deep to read; shorten it",
        ),
        (
            b"seed = " + b"[" * 5000,
            "scenario x.toml: a number is too long or a list too deep to read; shorten it",
        ),
    ],
)
def test_a_file_that_is_not_toml_is_refused_with_the_line(tmp_path: Path, content: bytes, sentence: str):
    file = tmp_path / "x.toml"
    file.write_bytes(content)
    with pytest.raises(TussleError) as refused:
        Scenario.load(file)
    assert str(refused.value) == sentence.format(file=file)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no file without an end here")
def test_a_file_without_an_end_is_refused():
    with pytest.raises(TussleError, match=r'scenario zero: "/dev/zero" cannot be read \(more than 4 MiB'):
        Scenario.load("/dev/zero")


def test_a_file_that_does_not_exist_is_refused():
    with pytest.raises(TussleError) as refused:
        Scenario.load("nowhere.toml")
    assert str(refused.value) == (
        "scenario nowhere.toml: there is no file nowhere.toml; `tussle list scenarios` shows the ready ones"
    )


def test_a_setting_for_a_flow_that_does_not_exist_is_refused():
    assert (
        mistake({"flows__3__start": "1 s"})
        == "setting flows.3.start: there is no item 3; the items are 0 to 0"
    )
