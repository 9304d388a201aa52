"""Runs in which both engines send and lose the same packets, each for a difference that was repaired."""

from typing import Any

import pytest

from tussle.engines.kernel import KernelEngine
from tussle.engines.sim import ENGINE
from tussle.scenario import Scenario

pytestmark = pytest.mark.usefixtures("kernel")

COUNTS = (
    "delivered_bytes",
    "sent_packets",
    "retransmitted_packets",
    "dropped_packets",
    "timeouts",
    "recoveries",
)
SCENARIOS: dict[str, dict[str, Any]] = {
    # Timeouts at coarse ticks.
    "without-sack": {
        "path": {"rate": "16 Mbit/s", "rtt": "80 ms", "loss": "2 %", "queue": {"limit": "4 bdp"}},
        "hosts": {"sack": False},
        "flows": [{"algorithm": "veno"}, {"algorithm": "hybla", "start": "2 s"}],
    },
    # A link that is often idle, delayed SACKs, and windows in units of 16 kB.
    "westwood": {
        "path": {"rate": "8 Mbit/s", "rtt": "14 ms", "loss": "1 %", "queue": {"kind": "cake"}},
        "hosts": {"initial_cwnd": 30},
        "flows": [{"algorithm": "westwood"}],
    },
    # A sender with offloads that waits for the next ACK, which is a millisecond away.
    "offloads-wait-for-an-ack": {
        "path": {"rate": "21.1 Mbit/s", "rtt": "8.21 ms", "loss": "0.01 %", "queue": {"limit": "0.254 bdp"}},
        "hosts": {"profile": "linux-6.1", "timestamps": "synchronised"},
        "flows": [{"algorithm": "lp"}],
    },
    # Delayed SACKs of two hosts within a tenth of a millisecond.
    "two-hosts-delay-sacks": {
        "duration": "4 s",
        "path": {"rate": "641 Mbit/s", "rtt": "1.44 ms", "loss": "0.01 %", "queue": {"limit": "2.63 bdp"}},
        "flows": [{"algorithm": "dctcp"}, {"algorithm": "dctcp", "start": "0.1 s"}],
    },
    "two-hosts-delay-sacks-often": {
        "duration": "4 s",
        "path": {"rate": "255 Mbit/s", "rtt": "1.11 ms", "loss": "1 %", "queue": {"limit": "1.6 bdp"}},
        "flows": [{"algorithm": "vegas"}, {"algorithm": "vegas", "start": "0.1 s"}],
    },
    # The receiver's window grows with packets that are smaller than their metadata.
    "short-segments": {
        "path": {"rate": "5 Mbit/s", "rtt": "150 ms"},
        "flows": [{"algorithm": "cubic", "segment": "500 B"}, {"algorithm": "cubic", "start": "0.5 s"}],
    },
    "short-segments-without-sack": {
        "path": {"rate": "5 Mbit/s", "rtt": "150 ms"},
        "hosts": {"sack": False},
        "flows": [{"algorithm": "cubic", "segment": "500 B"}, {"algorithm": "cubic", "start": "0.5 s"}],
    },
    # Packets too small for the window to grow with them.
    "tiny-segments": {
        "path": {"rate": "1 Mbit/s", "rtt": "30 ms", "queue": {"limit": "60 packets"}},
        "flows": [{"algorithm": "reno", "segment": "100 B"}],
    },
    # An application that writes as soon as its buffer has room, and a queue that compares times.
    "small-send-buffer": {
        "path": {
            "rate": "4 Mbit/s",
            "rtt": "100 ms",
            "queue": {"kind": "fq_codel", "interval": "30 ms"},
        },
        "hosts": {"wmem": "4 KiB, 16 KiB, 128 KiB"},
        "flows": [{"algorithm": "nv"}],
    },
    # Packets that leave several links at one instant.
    "links-of-one-rate": {
        "path": {
            "rate": "12 Mbit/s",
            "rtt": "20 ms",
            "queue": {"limit": "30 packets"},
            "links": [{"rate": "12 Mbit/s"}, {"rate": "12 Mbit/s"}],
        },
        "flows": [
            {"algorithm": "cubic"},
            {"algorithm": "reno", "enters": 2},
            {"algorithm": "bic", "leaves": 1},
        ],
    },
    # The last packet, which leaves although the window is full.
    "eleven-packets": {
        "path": {"rate": "20 Mbit/s", "rtt": "40 ms"},
        "flows": [{"algorithm": "reno", "bytes": "15928 B"}],
    },
    # Flows that end, and whose last packets arrive beside those of others.
    "short-flows": {
        "path": {"rate": "10 Mbit/s", "rtt": "20 ms", "queue": {"limit": "20 packets"}},
        "flows": [{"algorithm": "cubic"}, *({"algorithm": "reno", "bytes": "100 kB", "start": "2 s"},) * 3],
    },
    # Retransmissions of the SYN are timeouts, and no retransmitted data.
    "a-lost-syn": {
        "path": {
            "rate": "10 Mbit/s",
            "rtt": "20 ms",
            "elements": [{"kind": "loss_list", "packets": "0, 60-70"}],
        },
        "flows": [{"algorithm": "reno", "bytes": "300 kB"}],
    },
    # What an application writes is acknowledged as soon as the other one reads it.
    "applications": {
        "path": {"rate": "10 Mbit/s", "rtt": "40 ms", "queue": {"limit": "20 packets"}},
        "flows": [
            {"algorithm": "cubic", "application": {"kind": "rate", "rate": "5 Mbit/s"}},
            {"algorithm": "reno", "application": {"kind": "chunks", "size": "301 kB", "every": "600 ms"}},
        ],
    },
    # More than the network carries, also while the connection is being opened.
    "applications-with-buffers": {
        "path": {"rate": "10 Mbit/s", "rtt": "40 ms", "queue": {"limit": "20 packets"}},
        "hosts": {"rmem": "4 KiB, 128 KiB, 6 MiB", "wmem": "4 KiB, 16 KiB, 4 MiB"},
        "flows": [
            {"algorithm": "westwood", "application": {"kind": "rate", "rate": "13 Mbit/s"}},
            {"algorithm": "htcp", "application": {"kind": "chunks", "size": "125 kB", "every": "1 s"}},
        ],
    },
    # Writes of three applications at the same instants.
    "applications-in-step": {
        "start_jitter": "0 s",
        "path": {"rate": "10 Mbit/s", "rtt": "40 ms", "queue": {"limit": "20 packets"}},
        "flows": [{"algorithm": "cubic", "count": 3, "application": {"kind": "rate", "rate": "4 Mbit/s"}}],
    },
    # What an application has written ahead when it stops, and header prediction afterwards.
    "a-flow-that-stops": {
        "path": {"rate": "10 Mbit/s", "rtt": "40 ms", "queue": {"limit": "20 packets"}},
        "flows": [{"algorithm": "westwood", "stop": "3 s"}, {"algorithm": "cubic"}],
    },
    # Windows that grow as far as the memory of packets out of order allows.
    "hosts-of-linux": {
        "path": {"rate": "30 Mbit/s", "rtt": "40 ms", "queue": {"kind": "codel"}},
        "hosts": {"profile": "linux-6.1"},
        "flows": [{"algorithm": "dctcp"}, {"algorithm": "htcp"}],
    },
    # LP computes with the time since its host booted, and with the timestamps of delayed SACKs.
    "time-since-boot": {
        "path": {"rate": "4.4 Mbit/s", "rtt": "5.7 ms", "loss": "1 %", "queue": {"limit": "3 bdp"}},
        "hosts": {"timestamps": "synchronised"},
        "flows": [{"algorithm": "lp"}],
    },
    "timestamps-of-sacks": {
        "path": {"rate": "33.6 Mbit/s", "rtt": "9.22 ms", "queue": {"limit": "2.19 bdp"}},
        "hosts": {"timestamps": "synchronised"},
        "flows": [{"algorithm": "lp"}, {"algorithm": "lp", "start": "2 s"}],
    },
    # A window of one packet, whose ACK is delayed for longer each time.
    "longest-delay-of-acks": {
        "duration": "10 s",
        "start_jitter": "0 s",
        "path": {"rate": "10.6 Mbit/s", "rtt": "1.55 ms", "queue": {"limit": "2.12 bdp"}},
        "hosts": {"timestamps": "synchronised"},
        "flows": [{"algorithm": "lp"}, {"algorithm": "lp", "start": "5 s"}],
    },
    # A receiving program that reads a mebibyte at a time, in which a packet with PSH may be the last.
    "large-reads": {
        "path": {"rate": "48.8 Mbit/s", "rtt": "61.2 ms", "queue": {"limit": "0.213 bdp"}},
        "flows": [{"algorithm": "yeah"}],
    },
    # Flows with and without SACK, whose RTT grows.
    "growing-delay": {
        "path": {
            "rate": "5 Mbit/s",
            "rtt": "150 ms",
            "queue": {"kind": "fq_pie"},
            "elements": [{"kind": "ramp", "begin": "3 s", "end": "6 s", "from": "0 ms", "to": "40 ms"}],
        },
        "flows": [
            {"algorithm": "htcp", "segment": "500 B"},
            {"algorithm": "illinois", "start": "2 s", "receiver": {"sack": False}},
            {"algorithm": "scalable", "start": "2 s"},
        ],
    },
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_engines_send_and_lose_the_same_packets(name: str):
    tables = {"duration": "8 s", "repetitions": 3, "start_jitter": "200 ms", **SCENARIOS[name]}
    for planned in Scenario.from_dict(tables).runs():
        simulated, on_linux = (each.execute(planned.run)["flows"] for each in (ENGINE, KernelEngine()))
        for count in COUNTS:
            assert simulated[count].to_list() == on_linux[count].to_list(), (planned.run["seed"], count)
        for one, other in zip(simulated["completion_s"], on_linux["completion_s"], strict=True):
            assert one == (None if other is None else pytest.approx(other, abs=1e-6))


def test_the_window_does_not_hold_back_the_last_of_eleven_packets():
    """The handshake and half a round trip take 60 ms, and eleven packets at 20 Mbit/s 6.6 ms."""
    [planned, *_] = Scenario.from_dict({"duration": "1 s", **SCENARIOS["eleven-packets"]}).runs()
    for each in (ENGINE, KernelEngine()):
        [completion_s] = each.execute(planned.run)["flows"]["completion_s"].to_list()
        assert 0.06 < completion_s < 0.07


def test_without_sack_a_sender_sends_on_for_as_long_as_it_repairs_one_loss_in_a_round_trip():
    """57 losses take 17 s; in this time 285 thousand packets are sent and not acknowledged in order."""
    access = {"rate": "1 Gbit/s", "delay": "2.5 ms"}
    tables = {
        "duration": "75 s",
        "path": {"rate": "200 Mbit/s", "rtt": "300 ms", "queue": {"limit": "0.1 bdp"}},
        "hosts": {"recovery": "newreno", "initial_ssthresh": 1000},
        "flows": [{"algorithm": "scalable", "access": access, "receiver_access": access}],
    }
    [planned] = Scenario.from_dict(tables).runs()
    simulated, on_linux = (each.execute(planned.run)["flows"] for each in (ENGINE, KernelEngine()))
    for count in ("delivered_bytes", "retransmitted_packets", "dropped_packets", "recoveries"):
        assert simulated[count].to_list() == on_linux[count].to_list(), count
    assert simulated["retransmitted_packets"].to_list() == [57]
    # The last packet leaves within the last microseconds.
    assert on_linux["sent_packets"].item() == pytest.approx(simulated["sent_packets"].item(), abs=1)
