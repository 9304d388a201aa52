"""The kernel engine: real Linux in virtual time, through the package and through the command."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commandline import refused
from conftest import skip_or_fail
from tussle.catalog import groups
from tussle.engines import Variants, engine
from tussle.engines.kernel import KernelEngine, check_kernel
from tussle.errors import TussleError
from tussle.kernel import Kernel, guest
from tussle.kernel.agent import agent
from tussle.kernel.distribution import DistributionKernel
from tussle.kernel.guest import UserMode, which
from tussle.kernel.host import confinement, host_state_bytes
from tussle.kernel.qemu import Emulated
from tussle.scenario import Scenario

pytestmark = pytest.mark.usefixtures("kernel")

PATH = {"rate": "20 Mbit/s", "rtt": "20 ms", "queue": {"limit": "1 bdp"}}
MBIT = 1e6
TUSSLE = Path(sys.executable).with_name("tussle")


def runs(*flows: dict[str, Any], path: dict[str, Any] | None = None, **more: Any) -> list[dict[str, Any]]:
    """Return every run of a scenario over 20 Mbit/s and 20 ms; by default, 20 s long."""
    tables = {
        "duration": "20 s",
        "repetitions": 1,
        "path": {**PATH, **(path or {})},
        "flows": list(flows),
        **more,
    }
    return [planned.run for planned in Scenario.from_dict(tables).runs()]


def executed(
    *flows: dict[str, Any], path: dict[str, Any] | None = None, **more: Any
) -> dict[str, pl.DataFrame]:
    [run] = runs(*flows, path=path, **more)
    return engine("kernel").execute(run)


def goodputs(tables: dict[str, pl.DataFrame]) -> list[float]:
    """Return the goodput of each flow in Mbit/s."""
    return [rate / MBIT for rate in tables["flows"]["goodput_bit_per_s"]]


def refusal(*flows: dict[str, Any], **more: Any) -> str:
    """Return the error about a run over Linux's queue disciplines alone."""
    [run] = runs(*flows, **more)
    with pytest.raises(TussleError) as raised:
        KernelEngine(network="qdisc").check(run)
    return str(raised.value)


def number(value: Any) -> float:
    """Check that an aggregate is not empty, and return it."""
    assert value is not None
    return float(value)


def bottleneck(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    return tables["links"].filter(pl.col("link") == "bottleneck")


@pytest.mark.parametrize("algorithm", groups()["linux"].algorithms)
def test_every_algorithm_of_linux_runs_and_is_read_back(algorithm: str):
    tables = executed({"algorithm": algorithm}, duration="5 s")
    assert tables["flows"]["algorithm"].to_list() == [algorithm]
    # LP alone may leave a link almost idle; the others use most of it.
    assert goodputs(tables)[0] > (0.1 if algorithm == "lp" else 10)


@pytest.mark.parametrize(("timestamps", "sysctl"), [("random", "1"), ("synchronised", "2")])
def test_timestamps_of_both_ends_are_those_of_a_default_host_or_synchronised(
    timestamps: str, sysctl: str, tmp_path: Path
):
    [run] = runs({"algorithm": "reno"}, duration="1 s", hosts={"timestamps": timestamps})
    guest.UserMode().execute(run, guest.kernel_parameters(run, "driver"), tmp_path)
    assert (tmp_path / "tcp_timestamps").read_text("utf-8") == f"{sysctl} {sysctl}"


def test_lp_alone_has_the_goodput_of_reno_on_a_default_host():
    """Seven of eight timestamp offsets overflow LP's smoothed delay; this seed gives such an offset."""
    [reno], [lp] = (goodputs(executed({"algorithm": each}, seed=4)) for each in ("reno", "lp"))
    assert lp == pytest.approx(reno, rel=0.001)


def test_offsets_of_timestamps_follow_from_the_seed():
    """Offsets below 2^29, one in eight, halve the first window at the first delay; (7/8)^60 is 0.03 %."""
    begun = set()
    for seed in range(60):
        [run] = runs({"algorithm": "lp"}, duration="500 ms", seed=seed)
        begun.add(engine("kernel").execute(run)["flows"]["delivered_bytes"][0])
        if len(begun) > 1:
            return
    pytest.fail("LP begins alike with every seed")


def test_two_reno_flows_share_fairly_and_fill_the_link():
    tables = executed({"algorithm": "reno"}, {"algorithm": "reno", "start": "500 ms"}, duration="60 s")
    # 1448 of each 1500 bytes are payload: 19.3 Mbit/s in all.
    assert sum(goodputs(tables)) == pytest.approx(19.3, abs=0.2)
    assert min(goodputs(tables)) > 0.35 * sum(goodputs(tables))


def test_vegas_loses_to_reno():
    vegas, reno = goodputs(executed({"algorithm": "vegas"}, {"algorithm": "reno"}, duration="30 s"))
    assert vegas < reno / 2


def test_one_flow_counts_as_the_simulator_counts():
    [run] = runs({"algorithm": "reno"}, duration="60 s")
    linux, simulated = engine("kernel").execute(run), engine("sim").execute(run)
    assert goodputs(linux)[0] == pytest.approx(goodputs(simulated)[0], rel=0.01)
    for column, tolerance in {"rtt_p50_ms": 0.05, "rtt_mean_ms": 0.05, "rtt_min_ms": 0.05}.items():
        [[in_linux], [in_simulator]] = linux["flows"][column].to_list(), simulated["flows"][column].to_list()
        assert in_linux == pytest.approx(in_simulator, rel=tolerance), column
    # A sawtooth lasts some seconds, so both lose as often, give or take one.
    [[in_linux], [in_simulator]] = (tables["flows"]["recoveries"].to_list() for tables in (linux, simulated))
    assert abs(in_linux - in_simulator) <= 2


@pytest.mark.parametrize(
    "lossy",
    [
        {"loss": "0.2 %"},
        {"elements": [{"kind": "gilbert_elliott", "p": "0.1 %", "r": "30 %", "loss_bad": "70 %"}]},
        {"reverse": {"loss": "1 %"}},
    ],
)
def test_both_engines_lose_the_same_packets(lossy: dict[str, Any]):
    [run] = runs({"algorithm": "reno"}, path=lossy, seed=5)
    counts = ["dropped_packets", "retransmitted_packets", "recoveries", "timeouts"]
    linux, simulated = (engine(name).execute(run)["flows"] for name in ("kernel", "sim"))
    assert linux.select(counts).to_dicts() == simulated.select(counts).to_dicts()
    # Microseconds of the kernel's timers decide whether the last packets are out at the end.
    assert linux["sent_packets"][0] == pytest.approx(simulated["sent_packets"][0], rel=0.001)


@pytest.mark.parametrize(
    ("path", "flows"),
    [
        pytest.param(
            {"rate": "50 Mbit/s", "rtt": "40 ms"},
            [{"algorithm": "cubic", "count": 5}],
            id="at one instant, in their order",
        ),
        pytest.param(
            {"rate": "10 Mbit/s"},
            [{"algorithm": "cubic", "start": "12.3456 ms"}, {"algorithm": "reno", "start": "1.0479 s"}],
            id="between ticks of the kernel",
        ),
    ],
)
def test_flows_start_at_their_times_and_share_as_in_the_simulator(
    path: dict[str, Any], flows: list[dict[str, Any]]
):
    """Microseconds at the start decide which packets a full queue drops, and thus the shares."""
    [run] = runs(*flows, path=path, duration="10 s", steady={"from": "2 s"})
    linux, simulated = (engine(name).execute(run)["flows"] for name in ("kernel", "sim"))
    in_linux, in_simulator = (each["goodput_bit_per_s"].to_list() for each in (linux, simulated))
    assert in_linux == pytest.approx(in_simulator, rel=0.005)
    assert max(in_simulator) > 1.2 * min(in_simulator)


def test_a_flow_starts_on_time_at_an_instant_at_which_the_others_are_observed():
    """Flows are observed every 100 ms, so also when this one starts."""
    flow, record = {"algorithm": "reno", "start": "1 s"}, {"events": True}
    [run] = runs(flow, duration="3 s", path={"queue": {"limit": "20 packets"}}, record=record)
    first_s = [
        number(engine(name).execute(run)["events"].filter(kind="drop")["time_s"].min())
        for name in ("kernel", "sim")
    ]
    assert first_s[0] == pytest.approx(first_s[1], abs=100e-9)


def test_a_flow_that_stops_before_it_has_a_connection_is_empty_on_both_engines():
    """The answer to a SYN comes after 20 ms."""
    flows = ({"algorithm": "reno", "stop": "5 ms"}, {"algorithm": "cubic", "start": "10 ms"})
    [run] = runs(*flows, duration="2 s")
    for name in ("kernel", "sim"):
        empty, full = engine(name).execute(run)["flows"]["delivered_bytes"]
        assert empty == 0 < full


def test_a_network_of_hundreds_of_devices_carries_the_very_first_packets():
    """Linux activates at most two hundred new devices at once, and the others a second later.

    Fifteen flows with access links at both ends are 154 wires, two for each of 62 links and one for each of
    30 hosts, so 308 devices. 10 kB are seven packets, one window: with the handshake one and a half round
    trips of 24 ms, and then what 15 times 10 kB take at 20 Mbit/s, 60 ms. A lost SYN is retransmitted
    after 1 s.
    """
    access = {"rate": "1 Gbit/s", "delay": "1 ms"}
    flow = {"algorithm": "reno", "count": 15, "bytes": "10 kB", "access": access, "receiver_access": access}
    [run] = runs(flow, path={"queue": {"limit": "1000 packets"}}, duration="2 s", steady={"from": "0 s"})
    linux, simulated = (engine(name).execute(run)["flows"] for name in ("kernel", "sim"))
    took_s = linux["completion_s"]
    assert took_s.null_count() == 0
    assert 0.036 < number(took_s.min()) <= number(took_s.max()) < 0.15
    assert took_s.sort().to_list() == pytest.approx(simulated["completion_s"].sort().to_list(), rel=0.05)


def test_a_hundred_flows_run():
    """A hundred flows need more files than the 1024 that a process may open by default."""
    roomy = {"queue": {"limit": "2000 packets"}}
    tables = executed({"algorithm": "reno", "count": 100}, path=roomy, duration="1 s", steady={"from": "0 s"})
    assert tables["flows"].height == 100
    assert number(tables["flows"]["delivered_bytes"].min()) > 0


def test_westwood_counts_acks_as_linux_while_the_receive_window_grows():
    """An ACK after a loss counts what duplicate ACKs did not count, unless its header was predicted."""
    path = {"rate": "8 Mbit/s", "rtt": "120 ms", "queue": {"limit": "0.1 bdp"}, "loss": "2 %"}
    [run] = runs({"algorithm": "westwood"}, path=path, duration="15 s", seed=1)
    counts = ["sent_packets", "dropped_packets", "retransmitted_packets", "recoveries"]
    linux, simulated = (engine(name).execute(run)["flows"] for name in ("kernel", "sim"))
    assert linux.select(counts).to_dicts() == simulated.select(counts).to_dicts()


def test_the_tables_count_alike():
    tables = executed(
        {"algorithm": "cubic"}, {"algorithm": "reno"}, record={"samples": "100 ms", "events": True}
    )
    flows, links = tables["flows"], bottleneck(tables)
    last = links.row(-1, named=True)
    assert (
        last["arrived_packets"]
        - (last["delivered_packets"] + last["dropped_packets"] + last["backlog_packets"])
        in (0, 1)  # in transmission
    )
    # Only the bottleneck drops.
    assert flows["dropped_packets"].sum() == last["dropped_packets"]
    # Every dropped packet was retransmitted, or is about to be.
    for retransmitted, dropped in flows.select("retransmitted_packets", "dropped_packets").iter_rows():
        assert retransmitted == pytest.approx(dropped, abs=3)
    events = tables["events"].filter(pl.col("kind") == "recovery")
    assert events.height == flows["recoveries"].sum()
    assert tables["samples"].filter(pl.col("time_s") == 10.0).height == 2
    assert 0.9 < number(links.filter(pl.col("time_s") > 5)["utilisation"].mean()) <= 1.0


def test_equal_runs_give_equal_bytes_and_other_seeds_others():
    flows = [{"algorithm": "cubic"}, {"algorithm": "reno"}]
    more = {"duration": "10 s", "start_jitter": "100 ms", "path": {"loss": "0.1 %"}, "repetitions": 2}
    first, second = runs(*flows, **more)
    once, again, other = (engine("kernel").execute(run) for run in (first, first, second))
    for name, table in once.items():
        assert table.equals(again[name]), name
    assert not once["samples"].equals(other["samples"])


def test_a_link_changes_its_rate_and_delay_in_the_middle():
    changes = [{"at": "10 s", "rate": "5 Mbit/s", "rtt": "60 ms"}]
    tables = executed({"algorithm": "reno"}, path={"changes": changes}, record={"samples": "100 ms"})
    delivered = dict(tables["samples"].select("time_s", "delivered_bytes").iter_rows())
    before, after = ((delivered[end] - delivered[end - 4]) * 8 / 4 / MBIT for end in (10.0, 20.0))
    assert before == pytest.approx(19.3, rel=0.03)
    assert after == pytest.approx(19.3 / 4, rel=0.05)
    rtts = tables["samples"].filter(pl.col("time_s") > 12)["srtt_ms"]
    assert number(rtts.min()) > 60
    assert bottleneck(tables).filter(pl.col("time_s") > 12)["utilisation"].mean() == pytest.approx(
        1, abs=0.03
    )


@pytest.mark.parametrize("kind", ["fifo", "codel", "fq_codel", "pie", "fq_pie", "cake", "sfq", "red"])
def test_every_queue_keeps_the_link_busy_and_counts(kind: str):
    settings = {"red": {"min": "8 packets", "max": "24 packets", "limit": "100 packets"}}
    queue = {"kind": kind, **settings.get(kind, {})}
    [run] = runs({"algorithm": "cubic"}, {"algorithm": "cubic"}, path={"queue": queue})
    tables = engine("kernel").execute(run)
    assert sum(goodputs(tables)) > 16
    assert number(bottleneck(tables)["dropped_packets"].max()) > 0


def test_fq_codel_shields_vegas_from_cubic():
    flows = [{"algorithm": "vegas"}, {"algorithm": "cubic"}]
    alone = goodputs(executed(*flows, path={"queue": {"kind": "fifo", "limit": "2 bdp"}}))
    shielded = goodputs(executed(*flows, path={"queue": {"kind": "fq_codel"}}))
    assert alone[0] < alone[1] / 2
    assert shielded[0] == pytest.approx(shielded[1], rel=0.15)


def test_ecn_marks_instead_of_dropping():
    flow = {"algorithm": "cubic", "sender": {"ecn": True}}
    tables = executed(flow, path={"queue": {"kind": "fq_codel"}})
    assert number(bottleneck(tables)["marked_packets"].max()) > 0
    assert tables["flows"]["retransmitted_packets"].to_list() == [0]


def test_a_transfer_of_some_bytes_completes_and_others_go_on():
    tables = executed(
        {"algorithm": "cubic", "bytes": "1 MB"}, {"algorithm": "reno", "start": "10 s", "stop": "15 s"}
    )
    flows = tables["flows"]
    assert flows["delivered_bytes"][0] == 1_000_000
    # 1 MB at 19.3 Mbit/s, and some round trips of slow start.
    assert 0.41 < flows["completion_s"][0] < 1.0
    assert flows["completion_s"][1] is None
    late = tables["samples"].filter((pl.col("flow") == 1) & (pl.col("time_s") > 16))["delivered_bytes"]
    assert late.n_unique() <= 1


def test_applications_write_the_same_at_the_same_times_on_both_engines():
    """The network limits no application: all data but a window have arrived on both engines."""
    written = [
        {"kind": "rate", "rate": "2 Mbit/s"},
        {"kind": "on_off", "rate": "4 Mbit/s", "on": "exponential(1 s)", "off": "exponential(1 s)"},
        {"kind": "chunks", "size": "100 kB", "every": "exponential(1 s)"},
    ]
    [run] = runs(*({"algorithm": "reno", "application": each} for each in written))
    simulated, real = (engine(name).execute(run)["flows"] for name in ("sim", "kernel"))
    for flow in range(3):
        delivered = [table["delivered_bytes"][flow] for table in (simulated, real)]
        assert delivered[0] > 500_000
        assert abs(delivered[0] - delivered[1]) <= 20_000


def test_chunks_have_events_on_both_engines():
    """100 kB are 70 segments of 0.6 ms, in up to four windows of 10, 20, 40…, 20 ms apart."""
    chunks = {"kind": "chunks", "size": "100 kB", "every": "1 s"}
    [run] = runs(
        {"algorithm": "reno", "application": chunks, "bytes": "1 MB"},
        record={"events": True},
        duration="15 s",
    )
    took: list[list[float]] = []
    for name in ("sim", "kernel"):
        events = engine(name).execute(run)["events"]
        asked, answered = (
            events.filter(pl.col("kind") == kind)["time_s"].to_list() for kind in ("request", "response")
        )
        assert asked == [float(second) for second in range(10)]
        took.append([until - since for since, until in zip(asked, answered, strict=True)])
    simulated, real = took
    assert all(0.04 < each < 0.2 for each in simulated + real)
    assert max(abs(one - other) for one, other in zip(simulated, real, strict=True)) < 0.02


def test_a_chain_of_links_is_linux_too():
    """A parking lot of Reno: flows over one link have some ten times as much as the one over all of them."""
    flows = [{}, {"leaves": 1}, {"enters": 2, "leaves": 2}, {"enters": 3}]
    [run] = runs(*({"algorithm": "reno", **flow} for flow in flows), path={"links": [{}, {}]})
    long, *short = goodputs(engine("kernel").execute(run))
    assert sum(short) / 3 > 5 * long
    # 20 Mbit/s of packets are 19.3 of payload.
    for each in short:
        assert 18.3 < long + each < 19.4


def test_a_reverse_flow_has_the_rate_of_the_reverse_path():
    """5 Mbit/s of packets are 4.83 of payload; on the forward path it would have 19.3."""
    [recovered] = goodputs(
        executed({"algorithm": "cubic", "direction": "reverse"}, path={"reverse": {"rate": "5 Mbit/s"}})
    )
    assert 4.3 < recovered < 4.84


def test_a_receive_window_bounds_the_data_in_flight():
    tables = executed({"algorithm": "cubic", "receiver": {"receive_window": "20 kB"}}, duration="5 s")
    # 20 kB each 20 ms and a packet's time are 7 to 8 Mbit/s.
    assert 5.5 < goodputs(tables)[0] < 8
    assert number(tables["samples"]["in_flight_packets"].max()) <= 14


def test_parameters_of_modules_reach_the_kernel():
    gentle, usual = (
        executed({"algorithm": "cubic", "parameters": parameters}) for parameters in ({"beta": 1000}, {})
    )
    # With beta near 1, the window hardly falls: the queue is never empty for long.
    queues = [number(bottleneck(tables)["mean_backlog_packets"].mean()) for tables in (gentle, usual)]
    assert queues[0] > 1.1 * queues[1]


@pytest.mark.parametrize(
    ("flow", "more", "expected"),
    [
        (
            {"algorithm": "reno"},
            {"path": {"queue": {"kind": "dualpi2"}}},
            "queue.kind: Linux 6.1 has no dualpi2",
        ),
        (
            {"algorithm": "reno"},
            {"path": {"queue": {"kind": "threshold", "mark_above": "9 packets"}}},
            "Linux has no",
        ),
        (
            {"algorithm": "reno"},
            {"record": {"samples": "change"}},
            "record.sampling: the kernel engine samples at an",
        ),
        (
            {"algorithm": "reno"},
            {"path": {"elements": [{"kind": "duplicate", "probability": "1 %"}]}},
            "Linux has no duplicate",
        ),
        (
            {"algorithm": "udp", "application": {"kind": "rate", "rate": "1 Mbit/s"}},
            {},
            "flows.0.algorithm: the kernel engine sends no datagrams",
        ),
        (
            {"algorithm": "reno", "application": {"kind": "requests", "size": "1 kB", "think": "1 s"}},
            {},
            "flows.0.application: the kernel engine does not wait for acknowledgements",
        ),
    ],
)
def test_runs_that_linux_cannot_honour_are_refused_by_field(
    flow: dict[str, Any], more: dict[str, Any], expected: str
):
    assert expected in refusal(flow, **more)


def test_parameters_that_differ_between_flows_are_refused():
    flows = [
        {"algorithm": "cubic", "name": "a"},
        {"algorithm": "cubic", "name": "b", "parameters": {"beta": 512}},
    ]
    assert refusal(*flows) == (
        "flows.1.parameters: differ from those of a; in a kernel, all flows of cubic have the same"
    )


def test_an_algorithm_that_the_kernel_lacks_is_named_with_those_it_has():
    [run] = runs({"algorithm": "copa"})
    with pytest.raises(
        TussleError, match="the kernel has no congestion control called copa; it has bbr, bic"
    ):
        engine("kernel").execute(run)


def test_an_algorithm_that_one_of_several_kernels_lacks_is_refused_before_any_run(kernel: Kernel):
    kernels = Variants("kernel", {kernel.name: KernelEngine(UserMode(kernel.name))})
    [run] = runs({"algorithm": "reno"}, {"algorithm": "copa"})
    with pytest.raises(TussleError) as raised:
        kernels.check(kernels.with_variant(run, kernel.name))
    expected = (
        f"flows.1.algorithm: kernel {kernel.name} has no congestion control called copa; it has bbr, bic"
    )
    assert str(raised.value).startswith(expected)


def test_a_guest_that_panics_shows_its_console(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guest, "_BOOT", [*guest._BOOT, "init=/bin/nothing"])
    [run] = runs({"algorithm": "reno"})
    with pytest.raises(TussleError, match="before its results were complete") as raised:
        engine("kernel").execute(run)
    assert "Kernel panic" in raised.value.details


def test_a_guest_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch, temporary: Path):
    monkeypatch.setattr(guest, "_PROCESSOR_S", 0.0)
    monkeypatch.setattr(guest, "_PACKETS_PER_S", 1e9)
    monkeypatch.setattr(guest, "_CONSOLE_S", 0.3)
    [run] = runs({"algorithm": "reno"}, duration="1000 s")
    with pytest.raises(TussleError, match="the guest was stopped after 0 s of processor time"):
        engine("kernel").execute(run)
    # A killed process takes a moment to end.
    wait_until(lambda: not guests(temporary))


def guests(folder: Path) -> list[int]:
    """Return the processes that were started in a folder below this one."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                started_in = (process / "cwd").readlink()
            except OSError:
                continue
            if started_in.is_relative_to(folder) and started_in != folder:
                found.append(int(process.name))
    return found


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that contains those of this test's guests."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def confined(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program instead of a kernel under the launcher's confinement."""
    with subprocess.Popen(
        [agent(), "launch", "--confined", *command],
        cwd=folder,
        env={"TMPDIR": str(folder), "PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as program:
        out, _ = program.stdout.read() if program.stdout else "", program.wait()
    return subprocess.CompletedProcess(command, program.returncode, out)


def test_a_guest_reaches_nothing_but_its_own_folder(tmp_path: Path):
    if confinement().startswith("none"):
        pytest.skip(confinement())
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "secret").write_text("key")
    (folder / "mine").write_text("mine")
    cat, touch = (str(Path(which(name) or name).resolve()) for name in ("cat", "touch"))
    assert confined([cat, "mine"], folder).stdout == "mine"
    assert confined([touch, "made"], folder).returncode == 0
    assert (folder / "made").exists()
    for path in (str(elsewhere / "secret"), "../elsewhere/secret", "/proc/self/cwd/../elsewhere/secret"):
        refused = confined([cat, path], folder)
        assert refused.returncode == 1
        assert "Permission denied" in refused.stdout
    assert confined([touch, str(elsewhere / "made")], folder).returncode == 1
    assert not (elsewhere / "made").exists()
    chmod = str(Path(which("chmod") or "chmod").resolve())
    assert confined([chmod, "777", str(elsewhere / "secret")], folder).returncode == 1
    assert (elsewhere / "secret").stat().st_mode & 0o777 != 0o777


def test_a_guest_killed_in_the_middle_costs_its_run_alone(temporary: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guest, "_CONSOLE_S", 0.3)
    [run] = runs({"algorithm": "reno"}, duration="400 s")

    def kill() -> None:
        while not guests(temporary):
            time.sleep(0.05)
        time.sleep(0.5)
        for process in guests(temporary):
            os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(TussleError, match="the guest ended with status"):
        engine("kernel").execute(run)
    killer.join()
    assert goodputs(executed({"algorithm": "reno"}, duration="2 s"))[0] > 0


def test_the_command_names_the_kernel_and_is_reproducible_to_the_byte(tmp_path: Path, kernel: Kernel):
    scenario = tmp_path / "pair.toml"
    scenario.write_text(
        'duration = "3 s"\npath.rate = "10 Mbit/s"\npath.rtt = "20 ms"\n'
        '[[flows]]\nalgorithm = ["reno", "cubic"]\n'
    )
    digests = []
    for name in ("one", "two"):
        command = [TUSSLE, "run", scenario, "--engine", "kernel", "-o", tmp_path / name]
        subprocess.run(command, check=True, capture_output=True)
        provenance = json.loads((tmp_path / name / "provenance.json").read_text())
        assert provenance["engine"]["release"] == kernel.facts["release"]
        digests.append(provenance["digest"])
    assert digests[0] == digests[1]
    assert kernel.facts["release"] in (tmp_path / "one" / "report.html").read_text()


def test_ctrl_c_leaves_no_process_behind(tmp_path: Path):
    scenario = tmp_path / "long.toml"
    scenario.write_text(
        'duration = "2000 s"\nrepetitions = 2\npath.rate = "100 Mbit/s"\npath.rtt = "20 ms"\n'
        'start_jitter = "1 ms"\n[[flows]]\nalgorithm = "reno"\n'
    )
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    command = [TUSSLE, "run", scenario, "--engine", "kernel", "-o", tmp_path / "out"]
    started = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
        process_group=0,
    )
    wait_until(lambda: guests(temporary))
    os.kill(started.pid, signal.SIGINT)
    _, problems = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "interrupted" in problems
    wait_until(lambda: not guests(temporary))


def wait_until(holds) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    pytest.fail("the condition never became true")


def test_kernel_check_lists_algorithms_and_queues(kernel: Kernel):
    report = check_kernel(kernel)
    assert report["release"] == kernel.facts["release"]
    assert {"reno", "cubic", "bbr"} <= set(report["algorithms"].split())
    assert {"pfifo", "tbf", "netem", "fq_codel", "cake"} <= set(report["queues"].split())
    assert report["goodput"].startswith("9")
    here = host_state_bytes()
    assert report["floating-point state"] == f"{here} bytes on this host; the guest saves {here} bytes"


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Image and modules of Debian's kernel for clouds, unpacked from its package."""
    folder = tmp_path_factory.mktemp("cloud")
    fetch = (
        "set -o pipefail; package=$(apt-cache depends linux-image-cloud-amd64 | grep -o 'linux-image-6.*') &&"
        " apt-get download $package && dpkg-deb --extract *.deb ."
    )
    fetched = subprocess.run(
        ["/bin/bash", "-c", fetch], cwd=folder, capture_output=True, text=True, check=False
    )
    if fetched.returncode:
        skip_or_fail(f"linux-image-cloud-amd64 cannot be fetched with apt-get: {fetched.stderr}")
    [image] = folder.glob("boot/vmlinuz-*")
    return image, folder


def test_an_unmodified_kernel_runs_in_qemu_and_repeats_to_the_byte(cloud: tuple[Path, Path]):
    image, modules = cloud
    machine = Emulated(DistributionKernel(image, modules))
    [run] = runs({"algorithm": "vegas"}, {"algorithm": "bic", "parameters": {"beta": 900}}, duration="3 s")
    once, again = (KernelEngine(machine).execute(run) for _ in range(2))
    assert once["flows"]["algorithm"].to_list() == ["vegas", "bic"]
    assert sum(goodputs(once)) > 15
    for name, table in once.items():
        assert table.equals(again[name]), name
    assert machine.facts()["release"] in image.name


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--kernel", "linux-6.1"], "--kernel: the engine sim has no kernel; add --engine kernel"),
        (
            ["--engine", "kernel", "--kernel", "linux-6.x"],
            'unknown kernel "linux-6.x"; did you mean "linux-6.1"?',
        ),
        (["--engine", "kernel", "--machine", "kvm"], "--machine: unknown machine"),
        (["--engine", "kernel", "--network", "tap"], "--network: unknown network"),
        (["--network", "tun"], "--network: the engine sim has no kernel; add --engine kernel"),
        (
            ["--engine", "kernel", "--machine", "qemu"],
            "--machine qemu: give --kernel and --modules, an image and a folder",
        ),
        (["--engine", "kernel", "--modules", "/"], "--modules: kernels that Tussle built have none"),
        (["--engine", "kernle"], 'unknown engine "kernle"; did you mean "kernel"?'),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(tussle_, options: list[str], expected: str):
    answer = tussle_("run", "one-cubic-flow-fills-the-link", *options)
    assert expected in refused(answer)


def test_a_full_disk_is_named_before_anything_boots(monkeypatch: pytest.MonkeyPatch):
    usage = shutil.disk_usage("/")._replace(free=1 << 20)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    [run] = runs({"algorithm": "reno"})
    with pytest.raises(TussleError, match=r"a guest of this run needs .* make room, or set TMPDIR"):
        engine("kernel").execute(run)


def test_an_algorithm_in_python_is_refused(tmp_path: Path):
    [run] = runs({"algorithm": "reno"})
    run["flows"][0]["algorithm"] = f"{tmp_path}/mine.py:Mine"
    with pytest.raises(TussleError, match="is written in Python, for the simulator"):
        engine("kernel").check(run)
