"""The table [hosts] of a scenario: its form in runs, and its errors."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from commandline import refused
from tussle.engines import engine
from tussle.errors import TussleError
from tussle.host_profiles import host_profiles
from tussle.scenario import Scenario
from tussle.scenario.hosts import Hosts


def scenario(algorithm: str = "reno", **more: Any) -> Scenario:
    path = {"rate": "20 Mbit/s", "rtt": "40 ms"}
    return Scenario.from_dict({"duration": "2 s", "path": path, "flows": [{"algorithm": algorithm}], **more})


def test_hosts_are_bare_by_default():
    [planned] = scenario().runs()
    bare = host_profiles()["bare"].values
    # A run has the first three in its flows, elements there, and queues only where a host has one.
    elsewhere = {
        "hystart",
        "ecn",
        "pacing",
        "ring",
        "netdev_max_backlog",
        "qdisc",
        "txqueuelen",
        "limit_output",
    }
    bare = {key: value for key, value in bare.items() if value != "unlimited"}
    assert planned.run["hosts"] == {key: value for key, value in bare.items() if key not in elsewhere}
    [flow] = planned.run["flows"]
    assert (flow["ecn"], flow["pacing"], flow["receive_window_bytes"]) == (False, False, None)
    assert not {"sender", "receiver"} & planned.run["flows"][0].keys()


@pytest.mark.parametrize("name", host_profiles())
def test_every_profile_makes_a_run_and_names_a_source_for_each_value(name: str):
    [planned] = scenario(hosts={"profile": name}, repetitions=1).runs()
    assert engine("sim").execute(planned.run)["flows"]["delivered_bytes"][0] > 1_000_000
    profile = host_profiles()[name]
    assert profile.values.keys() == profile.sources.keys()
    # Old kernels alone limit the first receive window.
    assert profile.values.keys() - {"initial_rwnd"} == host_profiles()["bare"].values.keys()
    assert all(profile.sources.values())


AXES: dict[str, list[Any]] = {
    "profile": ["bare", "linux-2.6.24"],
    "hz": [100, 250, 1000],
    "timestamps": ["random", "synchronised", "off"],
    "growth": ["packet", "ack", "ack_corrected"],
    "sack": [True, False],
    "dsack": [True, False],
    "recovery": ["rack", "rfc6675", "newreno"],
    "fack": [True, False],
    "early_retransmit": [True, False],
    "impatient": [True, False],
    "reduction": ["prr", "rate_halving", "immediate"],
    "tlp": [True, False],
    "frto": [True, False],
    "initial_cwnd": [1, 3, 10],
    "initial_ssthresh": [2, 64],
    "metrics_save": [True, False],
    "slow_start_after_idle": [True, False],
    "offloads": [True, False],
    "hystart": [True, False],
    "ecn": [True, False],
    "pacing": [True, False],
    "receive_window": ["20 kB", "40 kB"],
    "rmem": ["unlimited", "4 KiB, 128 KiB, 6 MiB", "4096 65536 65536"],
    "wmem": ["unlimited", "4 KiB, 16 KiB, 4 MiB", "4096 16384 65536"],
    "moderate_rcvbuf": [True, False],
    "rcvbuf_tuning": ["rising", "twice"],
    "quickack": [True, False],
    "initial_rwnd": [4, 10],
    "adv_win_scale": [1, 2, -2],
    "clock_offset": ["0 s", "5 ms", "1 h"],
    "bus": ["10 Mbit/s", "20 Mbit/s"],
    "ring": [64, 256],
    "noise": ["0 s", "20 us", "exponential(20 us)"],
    "netdev_max_backlog": [100, 1000],
    "qdisc": ["none", "pfifo_fast", "fq", "fq_codel"],
    "txqueuelen": [2, 1000],
    "limit_output": ["4 kB", "1 MiB", "off"],
}
SHIPPED_RMEM = "4 KiB, 128 KiB, 6 MiB"
COUNTS = {"recovery": "rfc6675"}
NEEDED = {
    **{key: {"rmem": SHIPPED_RMEM} for key in ("moderate_rcvbuf", "rcvbuf_tuning", "adv_win_scale")},
    **dict.fromkeys(("fack", "early_retransmit"), COUNTS),
    **{key: {"qdisc": "pfifo_fast"} for key in ("txqueuelen", "limit_output")},
    "ring": {"bus": "10 Mbit/s"},
    "netdev_max_backlog": {"noise": "exponential(20 us)"},
}
"""Settings that others need, by key."""


def test_the_axes_below_are_all_settings():
    assert set(AXES) == set(Hosts.model_fields)


@pytest.mark.parametrize("key", AXES)
def test_each_setting_of_hosts_is_an_axis(key: str):
    hosts = {key: AXES[key]} | NEEDED.get(key, {})
    varied = scenario(hosts=hosts, flows=[{"algorithm": "cubic"}], repetitions=1)
    assert varied.axes() == {f"hosts.{key}": tuple(AXES[key])}
    runs = [planned.run for planned in varied.runs()]
    described = [(run["hosts"], run["flows"], run["elements"]) for run in runs]
    assert all(one != other for one, other in itertools.pairwise(described))
    assert all(engine("sim").execute(run)["flows"]["delivered_bytes"][0] > 0 for run in runs)


def test_the_device_of_a_host_with_a_queue_has_the_rate_of_the_access_link():
    flows = [{"algorithm": "reno", "access": {"rate": "10 Mbit/s"}}, {"algorithm": "reno"}]
    [without], [queued] = (
        scenario(hosts={"qdisc": name}, flows=flows).runs() for name in ("none", "pfifo_fast")
    )
    rates = [
        [flow.get("device_rate_bit_per_s") for flow in run["flows"]] for run in (without.run, queued.run)
    ]
    assert rates == [[None, None], [10_000_000, None]]


def test_a_limit_of_the_output_may_be_off():
    [planned] = scenario(hosts={"qdisc": "fq", "limit_output": "off"}).runs()
    assert planned.run["hosts"]["limit_output_bytes"] is None


def test_udp_does_not_wait_in_the_queue_of_a_host():
    udp = {"algorithm": "udp", "application": {"kind": "rate", "rate": "1 Mbit/s"}}
    with_access = udp | {"access": {"rate": "5 Mbit/s"}}
    assert scenario(hosts={"qdisc": "fq"}, flows=[udp]).runs()
    with pytest.raises(TussleError, match=r"flows\.0\.sender\.qdisc: the queue of a host takes no udp yet"):
        scenario(hosts={"qdisc": "fq"}, flows=[with_access])


def test_switches_are_named_as_scenarios_write_them():
    runs = scenario(hosts={"sack": [True, False]}).runs()
    assert [planned.axes["hosts.sack"] for planned in runs] == ["true", "false"]


def test_newreno_is_recovery_without_sack():
    [newreno], [without] = (
        scenario(hosts=hosts).runs() for hosts in ({"recovery": "newreno"}, {"sack": False})
    )
    assert newreno.run["hosts"] == without.run["hosts"]


def test_hystart_is_the_parameter_of_cubic_unless_a_flow_gives_it():
    flows = [
        {"algorithm": "cubic"},
        {"algorithm": "cubic", "parameters": {"hystart": 1}},
        {"algorithm": "bic"},
    ]
    [planned] = scenario(hosts={"hystart": False}, flows=flows).runs()
    assert [flow["parameters"] for flow in planned.run["flows"]] == [{"hystart": 0}, {"hystart": 1}, {}]


def test_a_flow_may_have_hosts_of_its_own():
    own = {"algorithm": "reno", "sender": {"initial_cwnd": 3}, "receiver": {"profile": "linux-2.6.24"}}
    [planned] = scenario(hosts={"hz": 1000}, flows=[{"algorithm": "reno"}, own]).runs()
    first, second = planned.run["flows"]
    assert not {"sender", "receiver"} & first.keys()
    # What an end leaves out is that of [hosts], unless it has a profile of its own.
    assert second["sender"] == planned.run["hosts"] | {"initial_cwnd": 3}
    assert (second["receiver"]["hz"], second["receiver"]["growth"]) == (250, "ack_corrected")


def test_an_end_that_changes_nothing_is_left_out():
    [planned] = scenario(flows=[{"algorithm": "reno", "sender": {"sack": True}}]).runs()
    assert "sender" not in planned.run["flows"][0]


def test_a_setting_that_an_end_in_a_run_does_not_have_leaves_it_out():
    [planned] = scenario(flows=[{"algorithm": "cubic", "sender": {"hystart": False}}]).runs()
    [flow] = planned.run["flows"]
    assert "sender" not in flow
    assert flow["parameters"] == {"hystart": 0}


def test_one_end_without_sack_is_enough():
    """Losses cost NewReno a round trip each; the other end cannot help."""
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "loss": "1 %"}
    ends = ({}, {"sender": {"sack": False}}, {"receiver": {"sack": False}})
    runs = [
        Scenario.from_dict(
            {"duration": "20 s", "path": path, "repetitions": 1, "flows": [{"algorithm": "reno"} | end]}
        ).runs()[0]
        for end in ends
    ]
    both, sender, receiver = (engine("sim").execute(planned.run)["flows"] for planned in runs)
    assert sender["delivered_bytes"][0] == receiver["delivered_bytes"][0] < both["delivered_bytes"][0]


def test_timestamps_are_an_axis():
    both = scenario(hosts={"timestamps": ["random", "synchronised"]})
    assert both.axes() == {"hosts.timestamps": ("random", "synchronised")}
    assert [planned.run["hosts"]["timestamps"] for planned in both.runs()] == ["random", "synchronised"]


def test_hosts_survive_writing_and_reading_a_scenario(tmp_path: Path):
    written = scenario(hosts={"timestamps": "synchronised"})
    (tmp_path / "it.toml").write_text(written.to_toml(), "utf-8")
    assert Scenario.load(tmp_path / "it.toml") == written
    assert scenario().set("hosts.timestamps", "synchronised") == written


@pytest.mark.parametrize(
    ("algorithm", "timestamps", "repetitions"),
    [("cubic", "random", 1), ("lp", "random", 10), ("lp", "synchronised", 1)],
)
def test_only_lp_is_repeated_for_random_timestamps(algorithm: str, timestamps: str, repetitions: int):
    assert len(scenario(algorithm, hosts={"timestamps": timestamps}).runs()) == repetitions


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (
            {"timestamps": "of"},
            'scenario, hosts.timestamps: "of"; did you mean "off"? give "random" or "synchronised" or "off"',
        ),
        (
            {"timestamps": "synchronized"},
            'scenario, hosts.timestamps: "synchronized"; did you mean "synchronised"? '
            'give "random" or "synchronised" or "off"',
        ),
        ({"timestamps": 1}, 'scenario, hosts.timestamps: 1; give "random" or "synchronised" or "off"'),
        ({"hz": 50}, "scenario, hosts.hz: 50 is out of range; give 100 to 1000"),
        (
            {"qdisc": "codel"},
            'scenario, hosts.qdisc: "codel"; did you mean "fq_codel"? '
            'give "none" or "pfifo_fast" or "fq" or "fq_codel"',
        ),
        ({"txqueuelen": 0}, "scenario, hosts.txqueuelen: 0 is out of range; give 1 to 1000000"),
        ({"limit_output": "0 B"}, "scenario, hosts.limit_output: 0 B; give more than 0"),
        (
            {"profile": "linux-2.6.24", "qdisc": "fq"},
            'scenario, hosts.qdisc: "fq"; linux-2.6.24 never had it; leave it out, or give another profile',
        ),
        ({"initial_cwnd": 0}, "scenario, hosts.initial_cwnd: 0 is out of range; give 1 to 65536"),
        ({"initial_ssthresh": 1}, "scenario, hosts.initial_ssthresh: 1 is out of range; give 2 to 65536"),
        (
            {"recovery": "fack"},
            'scenario, hosts.recovery: "fack"; did you mean "rack"? give "rack" or "rfc6675" or "newreno"',
        ),
        (
            {"fack": True},
            'scenario, hosts.fack: true; it counts sacked packets; give recovery = "rfc6675"',
        ),
        (
            {"early_retransmit": True},
            "scenario, hosts.early_retransmit: true; RACK has it built in; "
            'give recovery = "rfc6675" or "newreno"',
        ),
        (
            {"profile": "linux-2.6.23"},
            'scenario, hosts.profile: unknown host profile "linux-2.6.23"; did you mean "linux-2.6.32"?',
        ),
        (
            {"profile": "linux-2.6.24", "recovery": "rack"},
            'scenario, hosts.recovery: "rack"; linux-2.6.24 never had it; leave it out, or give another '
            "profile",
        ),
        (
            {"rmem": "128 KiB"},
            'scenario, hosts.rmem: "128 KiB"; give minimum, default and maximum, such as '
            '"4 KiB, 128 KiB, 6 MiB", or "unlimited"',
        ),
        (
            {"wmem": "4 KiB, 4 MiB, 16 KiB"},
            'scenario, hosts.wmem: "4 KiB, 4 MiB, 16 KiB" is not in ascending order; give minimum, '
            'default and maximum, such as "4 KiB, 128 KiB, 6 MiB", or "unlimited"',
        ),
        (
            {"rmem": "4 KiB, 6 KiB, 6 MiB"},
            'scenario, hosts.rmem: "4 KiB, 6 KiB, 6 MiB"; give a default of at least 8192 B',
        ),
        (
            {"rmem": "4 KiB, 128 KiB, 2 GiB"},
            'scenario, hosts.rmem: "4 KiB, 128 KiB, 2 GiB"; give a maximum of at most 2147483647 B',
        ),
        (
            {"wmem": "4 kB, 128 KiB, 6 MiB"},
            'scenario, hosts.wmem: "4 kB, 128 KiB, 6 MiB"; give a minimum of at least 4096 B, which Linux '
            "wants: 4 KiB",
        ),
        (
            {"rmem": "4 KiB, 8 KiB, 6 MiB", "adv_win_scale": -3},
            "scenario, flows.0.rmem: its default makes a window of 1024 bytes; give one for two packets, "
            "of 1448 bytes each",
        ),
        (
            {"moderate_rcvbuf": False},
            "scenario, hosts.moderate_rcvbuf: false; the receive buffer is unlimited; give rmem, too, or "
            "leave it out",
        ),
        (
            {"moderate_rcvbuf": True, "rmem": SHIPPED_RMEM, "receive_window": "1 MB"},
            "scenario, hosts.moderate_rcvbuf: true; a receive_window that is given does not grow; leave one "
            "of them out",
        ),
        (
            {"adv_win_scale": 40, "rmem": SHIPPED_RMEM},
            "scenario, hosts.adv_win_scale: 40 is out of range; give -31 to 31",
        ),
        (
            {"timestamp": "random"},
            'scenario, hosts: unknown key "timestamp"; did you mean "timestamps"?',
        ),
        ({"bus": "0 bit/s"}, "scenario, hosts.bus: 0 bit/s; give more than 0"),
        ({"ring": 0}, "scenario, hosts.ring: 0 is out of range; give 1 to 1000000"),
        (
            {"noise": "exponential"},
            'scenario, hosts.noise: "exponential" is not a time; write one like "40 ms"',
        ),
        ({"clock_offset": "1.5 ms"}, "scenario, hosts.clock_offset: 1.5 ms; give whole milliseconds"),
        (
            {"clock_offset": "1200 h"},
            "scenario, hosts.clock_offset: 1200 h is too large; give at most 720 h",
        ),
        ("linux", 'scenario, hosts: "linux" is not a table; write its keys under [hosts]'),
    ],
)
def test_unknown_settings_of_hosts_are_refused(hosts: Any, message: str):
    with pytest.raises(TussleError) as raised:
        scenario(hosts=hosts)
    assert str(raised.value) == message


@pytest.mark.slow
def test_the_command_sets_timestamps_and_refuses_others(tussle_: Any, tmp_path: Path):
    (tmp_path / "it.toml").write_text(scenario().to_toml(), "utf-8")
    answer = tussle_("run", "it.toml", "--set", "hosts.timestamps=synchronised", "-o", "out")
    assert answer.status == 0
    assert Scenario.load(tmp_path / "out" / "scenario.toml").hosts.timestamps == "synchronised"
    message = refused(tussle_("run", "it.toml", "--set", "hosts.timestamps=of", "-o", "other"))
    assert message.endswith(
        'hosts.timestamps: "of"; did you mean "off"? give "random" or "synchronised" or "off"'
    )


def test_flows_of_one_table_share_a_pair_of_hosts_that_keep_what_they_learn():
    several = {"algorithm": "reno", "count": 2, "bytes": "1 MB"}
    flows = [{"algorithm": "reno"}, several, several | {"sender": {"metrics_save": False}}]
    [kept] = scenario(hosts={"metrics_save": True}, flows=flows).runs()
    assert [flow.get("pair") for flow in kept.run["flows"]] == [None, 1, 1, None, None]
    [forgotten] = scenario(flows=flows).runs()
    assert all("pair" not in flow for flow in forgotten.run["flows"])


@pytest.mark.parametrize(
    ("flow", "segment_bytes"),
    [
        ({}, 1448),
        ({"sender": {"timestamps": "off"}}, 1460),
        ({"receiver": {"timestamps": "off"}}, 1460),
        ({"receiver": {"timestamps": "off"}, "segment": "1000 B"}, 1000),
    ],
)
def test_a_segment_fills_a_packet_with_and_without_timestamps(flow: dict[str, Any], segment_bytes: int):
    [planned] = scenario(flows=[{"algorithm": "reno"} | flow]).runs()
    assert planned.run["flows"][0]["mss_bytes"] == segment_bytes


def test_an_algorithm_that_needs_timestamps_is_refused_without():
    with pytest.raises(TussleError) as raised:
        scenario(flows=[{"algorithm": "ledbat", "receiver": {"timestamps": "off"}}])
    assert str(raised.value) == (
        "scenario, flows.0.algorithm: ledbat measures delays by timestamps, which a host of this flow "
        'refuses; give timestamps = "random"'
    )


def test_buffers_are_in_bytes_in_a_run_and_left_out_if_they_are_unlimited():
    [planned] = scenario(hosts={"rmem": SHIPPED_RMEM}).runs()
    shipped = {"min_bytes": 4096, "default_bytes": 131_072, "max_bytes": 6_291_456}
    assert planned.run["hosts"]["rmem"] == shipped
    assert "wmem" not in planned.run["hosts"]
    [planned] = scenario(hosts={"profile": "linux-2.6.24", "rmem": "unlimited"}).runs()
    assert "rmem" not in planned.run["hosts"]
    assert planned.run["hosts"]["wmem"]["max_bytes"] == 4 << 20


def goodput_mbit_per_s(hosts: dict[str, Any], **more: Any) -> float:
    path = {"rate": "100 Mbit/s", "rtt": "100 ms", "queue": {"limit": "1 bdp"}}
    [planned] = scenario(hosts=hosts, path=path, duration="10 s", steady={"from": "3 s"}, **more).runs()
    return engine("sim").execute(planned.run)["flows"]["goodput_bit_per_s"][0] / 1e6


def test_the_smaller_buffer_decides_the_goodput_over_a_long_path():
    """Half of a receive buffer is window, and a packet of 1448 bytes takes 2728 of a send buffer."""
    rmem, wmem = "4096 131072 1000000", "4096 16384 1000000"
    window = 500_000 * 8 / 0.1 / 1e6
    assert goodput_mbit_per_s({"rmem": rmem}) == pytest.approx(window, rel=0.02)
    assert goodput_mbit_per_s({"rmem": rmem, "moderate_rcvbuf": False}) == pytest.approx(
        64_088 * 8 / 0.1 / 1e6, rel=0.05
    )
    assert goodput_mbit_per_s({"rmem": SHIPPED_RMEM, "receive_window": "300 kB"}) == pytest.approx(
        300_000 * 8 / 0.1 / 1e6, rel=0.03
    )
    # The application sleeps until a third of the used memory is free: less than the buffer is in flight.
    buffer = 1_000_000 / 2728 * 1448 * 8 / 0.1 / 1e6
    assert 0.6 * buffer < goodput_mbit_per_s({"wmem": wmem}) < buffer
    assert goodput_mbit_per_s({}) > 90
