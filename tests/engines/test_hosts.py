"""The engine hosts: machines that `ssh` reaches, which are namespaces here, each with its sshd."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from commandline import refused
from namespaces import PROGRAMS, Namespace, namespace, require_root_and, ssh_config, wire
from tussle.dataset import Dataset
from tussle.engines.hosts import HostsEngine
from tussle.errors import TussleError
from tussle.hosts import read_hosts
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

TUSSLE = Path(sys.executable).with_name("tussle")
PATH = {"rate": "10 Mbit/s", "rtt": "20 ms"}
SERVER = "10.77.0.1"
HOSTS = """\
[hosts.left]
ssh = "left"
role = "sender"
ssh_config = "ssh_config"

[hosts.middle]
ssh = "middle"
role = "sender"
ssh_config = "ssh_config"

[hosts.right]
ssh = "right"
role = "receiver"
address = "10.77.0.1"
ssh_config = "ssh_config"
"""


STRANGER = """
import socket, time
while True:
    try:
        connection = socket.create_connection(("10.77.0.1", 5301))
        break
    except OSError:
        time.sleep(0.01)
try:
    while True:
        connection.sendall(b"x" * 100_000)
except OSError:
    pass  # nobody wants to hear it
"""


class Network(NamedTuple):
    """Two senders, each connected to the receiver at 10 Mbit/s."""

    left: Namespace
    middle: Namespace
    right: Namespace
    hosts: Path


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    require_root_and(*PROGRAMS)
    with namespace() as left, namespace() as middle, namespace() as right:
        right.run("ip", "address", "add", f"{SERVER}/32", "dev", "lo")
        for number, sender in enumerate((left, middle), 1):
            wire((sender, "eth0", f"10.77.{number}.1"), (right, f"eth{number}", f"10.77.{number}.2"))
            sender.run("ip", "route", "add", SERVER, "via", f"10.77.{number}.2")
            shape = ["tbf", "rate", "10mbit", "burst", "5kb", "limit", "40kb"]
            sender.run("tc", "qdisc", "add", "dev", "eth0", "root", *shape)
        ssh_config(tmp_path, {"left": left, "middle": middle, "right": right})
        (tmp_path / "hosts.toml").write_text(HOSTS, "utf-8")
        yield Network(left, middle, right, tmp_path / "hosts.toml")


def scenario(duration: str = "3 s", **more: Any) -> Scenario:
    flows = [{"algorithm": "reno"}, {"algorithm": "cubic"}]
    return Scenario.from_dict({"duration": duration, "path": PATH, "flows": flows, **more})


def measured(network: Network, folder: Path, asked: Scenario) -> Dataset:
    return sweep(asked, folder, SweepSettings(engine=HostsEngine(network.hosts)))


def command_line(network: Network, asked: Scenario) -> list[str | Path]:
    file = network.hosts.with_name("scenario.toml")
    file.write_text(asked.to_toml(), "utf-8")
    out = network.hosts.with_name("out")
    return [TUSSLE, "run", file, "--engine", "hosts", "--hosts", network.hosts, "-o", out]


def sent_bytes(sender: Namespace) -> int:
    """Return the number of bytes sent to the receiver."""
    counters = [line.split() for line in sender.run("ip", "-s", "link", "show", "eth0").splitlines()]
    return int(counters[-1][0])


def wait_until(true: Callable[[], bool]) -> None:
    while not true():
        time.sleep(0.05)


def test_a_scenario_runs_over_ssh_and_fills_every_table(network: Network, tmp_path: Path):
    events = {"samples": "100 ms", "events": True}
    dataset = measured(network, tmp_path / "out", scenario(record=events))
    flows = dataset.flows.collect()
    assert flows["algorithm"].to_list() == ["reno", "cubic"]
    # Each has 10 Mbit/s to itself, of which 1448 of 1514 bytes are payload: Ethernet counts at this queue.
    assert flows["goodput_bit_per_s"].to_list() == pytest.approx([9.56e6] * 2, rel=0.05)
    assert (flows["dropped_packets"] > 0).all()
    # A queue of 40 kB takes 32 ms.
    assert flows["rtt_p95_ms"].is_between(10, 40).all()
    samples = dataset.samples.collect()
    # Each 100 ms from 0 to 3 s.
    assert samples.group_by("flow").len()["len"].to_list() == [31, 31]
    assert (
        samples.filter(pl.col("time_s") == 3)["delivered_bytes"].to_list()
        == flows["delivered_bytes"].to_list()
    )
    assert {"start", "recovery"} <= set(dataset.events.collect()["kind"])
    validity = dataset.table("validity").collect()
    assert validity["host"].to_list() == ["left", "middle"]
    assert validity["receiver_host"].unique().to_list() == ["right"]
    assert validity["interface"].to_list() == ["eth0", "eth0"]
    assert validity["qdisc"].to_list() == ["tbf", "tbf"]
    assert validity["algorithm"].to_list() == ["reno", "cubic"]
    # They have one clock, which the estimate must not rule out.
    assert (validity["clock_offset_s"].abs() <= validity["clock_offset_error_s"]).all()
    assert dataset.provenance["engine"]["path"].startswith("the real one")
    dataset.verify()


def test_no_process_or_file_remains_on_the_hosts(network: Network, tmp_path: Path):
    measured(network, tmp_path / "out", scenario("1 s"))
    for netns in (network.left, network.middle, network.right):
        wait_until(lambda netns=netns: not netns.processes())
    assert list(tmp_path.glob("tussle-*")) == []


def test_ctrl_c_ends_all_processes_on_all_hosts(network: Network):
    with subprocess.Popen(command_line(network, scenario("60 s")), stderr=subprocess.PIPE, text=True) as run:
        wait_until(lambda: sent_bytes(network.left) > 100_000)
        run.send_signal(signal.SIGINT)
        _, message = run.communicate()
    assert run.returncode == 130
    assert message == "tussle: interrupted; no run was finished\n"
    for netns in (network.left, network.middle, network.right):
        wait_until(lambda netns=netns: not netns.processes())


def test_a_lost_machine_affects_its_own_flow_only(network: Network, tmp_path: Path):
    with ThreadPoolExecutor(1) as thread:
        going_on = thread.submit(measured, network, tmp_path / "out", scenario("4 s"))
        wait_until(lambda: sent_bytes(network.left) > 500_000 or going_on.done())
        for process in network.left.processes():
            with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
                os.kill(process, signal.SIGKILL)
        dataset = going_on.result()
    died, lived = dataset.flows.collect().to_dicts()
    # The receiver has counted what came of it.
    assert 400_000 < died["delivered_bytes"] < lived["delivered_bytes"]
    assert died["sent_packets"] is None
    assert lived["goodput_bit_per_s"] == pytest.approx(9.56e6, rel=0.05)
    first, second = dataset.table("validity").collect().to_dicts()
    assert not first["kept_up"]
    assert first["shortfall"].startswith("host left (left) is lost: ")
    assert "is lost" not in (second["shortfall"] or "")


def test_a_connection_without_the_token_of_the_flow_is_ignored(network: Network):
    """A connection to the port of a flow that does not send its token is not part of the flow."""
    network.hosts.write_text(HOSTS.replace("[hosts.right]", "[hosts.right]\nport = 5301"), "utf-8")
    asked = scenario("2 s", flows=[{"algorithm": "reno", "start": "1 s", "bytes": "100 kB"}])
    with subprocess.Popen(network.middle.command(sys.executable, "-c", STRANGER)) as other:
        tables = HostsEngine(network.hosts)
        try:
            [planned] = asked.runs()
            tables.check(planned.run)
            flows = tables.execute(planned.run)["flows"]
        finally:
            tables.close()
        assert other.wait() == 0
    assert flows["delivered_bytes"].to_list() == [100_000]


def test_settings_that_a_real_path_cannot_have_are_refused(network: Network):
    engine = HostsEngine(network.hosts)

    def refusal(**more: Any) -> str:
        for planned in scenario(**more).runs():
            try:
                engine.check(planned.run)
            except TussleError as error:
                return str(error)
        return "it was not refused"

    try:
        assert "loss: the engine hosts measures over the existing path" in refusal(
            path=PATH | {"loss": "1 %"}
        )
        assert "the path differs between runs" in refusal(path=PATH | {"rate": ["10 Mbit/s", "20 Mbit/s"]})
        message = refusal(hosts={"timestamps": "synchronised"})
        assert message.startswith(
            "hosts.timestamps: the engine hosts leaves the settings of its machines as they"
        )
        message = refusal(flows=[{"algorithm": "ledbat"}])
        assert message.startswith("flows.0.algorithm: host left: this kernel has")
        assert "modprobe tcp_ledbat" in message
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[hosts.a]\nssh = 'a'\nrole = 'sendr'",
            'hosts.a.role: unknown role "sendr"; did you mean "sender"?',
        ),
        (
            "[hosts.a]\nssh = 'a'\nrole = 'receiver'",
            "hosts.a has no address; write the address that senders connect to",
        ),
        ("[hosts.a]\nssh = 'a'\nrole = 'sender'", 'has 0 machines with role = "receiver"; there must be one'),
        (
            "[hosts.a]\nssh = '-oProxyCommand=x'\nrole = 'sender'",
            "is not a destination; write what you type after",
        ),
        ("[hosts.a]\nssh = 'a'\nrole = 'sender'\nport = 1", "hosts.a.port: a sender has no port"),
        ("[hosts.a]\nssh = 1", "hosts.a.ssh: 1 is not a text in quotes"),
        ("[host.a]", 'unknown table "host"; did you mean "hosts"?'),
        ("hosts = 1", "write a table for each machine, like [hosts.laptop]"),
        ("[hosts", "hosts.toml, last line: not valid TOML: "),
        (
            HOSTS.replace('address = "10.77.0.1"', 'address = "no such name"'),
            "is neither an IP address nor a known name",
        ),
    ],
)
def test_a_wrong_hosts_toml_is_refused_by_its_key(tussle_, tmp_path: Path, text: str, message: str):
    (tmp_path / "hosts.toml").write_text(text, "utf-8")
    (tmp_path / "scenario.toml").write_text(scenario().to_toml(), "utf-8")
    answer = tussle_("run", "scenario.toml", "--engine", "hosts", "--hosts", "hosts.toml")
    assert message in refused(answer)


def test_flows_without_a_host_are_assigned_round_robin(tmp_path: Path):
    file = tmp_path / "hosts.toml"
    file.write_text(HOSTS, "utf-8")
    names = [host.name for host in read_hosts(file).sender_of(["a", "b", "c"])]
    assert names == ["left", "middle", "left"]
    file.write_text(HOSTS.replace("[hosts.left]", "[hosts.left]\nflows = ['b']"), "utf-8")
    hosts = read_hosts(file)
    assert [host.name for host in hosts.sender_of(["a", "b", "c"])] == ["middle", "left", "middle"]
    with pytest.raises(TussleError, match=r"hosts\.left\.flows: unknown flow"):
        hosts.sender_of(["a", "c"])


def test_an_unreachable_machine_is_named(tussle_, tmp_path: Path):
    require_root_and("ssh")
    (tmp_path / "ssh_config").write_text("Host *\n  ProxyCommand false\n", "utf-8")
    (tmp_path / "hosts.toml").write_text(HOSTS, "utf-8")
    (tmp_path / "scenario.toml").write_text(scenario().to_toml(), "utf-8")
    message = refused(tussle_("run", "scenario.toml", "--engine", "hosts", "--hosts", "hosts.toml"))
    assert "host right (right) is lost: " in message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"hosts.bus": "1 Gbit/s"},
            "flows.0: flow-0-sender-bus: the engine hosts leaves its machines as they",
        ),
        ({"hosts.noise": "20 us"}, "flows.0: flow-0-sender-noise: the engine hosts leaves its machines as"),
        ({"hosts.clock_offset": "1 s"}, "hosts.clock_offset: the engine hosts leaves the settings of its"),
    ],
)
def test_machines_keep_their_bus_and_their_clocks(
    tussle_, tmp_path: Path, settings: dict[str, str], message: str
):
    (tmp_path / "hosts.toml").write_text(HOSTS, "utf-8")
    (tmp_path / "scenario.toml").write_text(scenario().with_settings(settings).to_toml(), "utf-8")
    answer = tussle_("run", "scenario.toml", "--engine", "hosts", "--hosts", "hosts.toml")
    assert message in refused(answer)


def test_only_the_engine_hosts_has_the_option_hosts_and_needs_it(tussle_, tmp_path: Path):
    (tmp_path / "scenario.toml").write_text(scenario().to_toml(), "utf-8")
    assert "give --hosts hosts.toml" in refused(tussle_("run", "scenario.toml", "--engine", "hosts"))
    assert "--hosts is only for the engine hosts" in refused(
        tussle_("run", "scenario.toml", "--hosts", "x.toml")
    )
