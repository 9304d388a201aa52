"""The engine netns: this host's kernel, in namespaces and in real time."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats

import tussle
from commandline import refused
from namespaces import namespace, require_root_and
from tussle.engines import engine
from tussle.engines.netns import NamespacesEngine
from tussle.errors import TussleError
from tussle.kernel import Kernel
from tussle.scenario import Scenario

PATH = {"rate": "10 Mbit/s", "rtt": "20 ms", "queue": {"limit": "1 bdp"}}
TUSSLE = Path(sys.executable).with_name("tussle")
REPETITIONS = 3
FLOOR = {"goodput_bit_per_s": 0.03, "rtt_mean_ms": 0.1}
"""What a machine with other work adds to the noise of repetitions, relative; RTTs are smoothed ones here."""


@pytest.fixture(autouse=True)
def _root():
    require_root_and("ip", "tc", "nsenter", "unshare")


def runs(*flows: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    settings = {"duration": "2 s", "repetitions": 1, "path": PATH, "flows": list(flows), **more}
    return [planned.run for planned in Scenario.from_dict(settings).runs()]


def scenario(folder: Path, *, duration: str = "2 s") -> Path:
    file = folder / "scenario.toml"
    file.write_text(
        f'duration = "{duration}"\n[path]\nrate = "10 Mbit/s"\nrtt = "20 ms"\n'
        '[[flows]]\nalgorithm = "reno"\n[[flows]]\nalgorithm = "cubic"\n',
        "utf-8",
    )
    return file


def agents() -> list[str]:
    """Return the process numbers of this engine's agents."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"\0netns\0" in (entry / "cmdline").read_bytes():
                found.append(entry.name)
        except OSError:
            continue  # it has ended meanwhile
    return found


@pytest.mark.parametrize("algorithm", ["reno", "cubic"])
def test_real_and_virtual_time_agree_within_the_noise(kernel: Kernel, algorithm: str):
    assert kernel
    planned = runs({"algorithm": algorithm}, duration="3 s", start_jitter="20 ms", repetitions=REPETITIONS)
    real, virtual = (
        pl.concat([engine(name).execute(run)["flows"] for run in planned]) for name in ("netns", "kernel")
    )
    for column, floor in FLOOR.items():
        differences = [ours - theirs for ours, theirs in zip(real[column], virtual[column], strict=True)]
        mean = sum(differences) / REPETITIONS
        half = stats.t.ppf(0.975, REPETITIONS - 1) * stats.sem(differences)
        assert abs(mean) <= half + floor * virtual[column].mean(), (column, differences)  # pyright: ignore[reportOperatorIssue] (a mean of numbers)


def test_every_table_is_filled_and_the_kernel_is_recorded(tussle_, tmp_path: Path):
    answer = tussle_("run", scenario(tmp_path), "--engine", "netns", "-o", "out")
    assert answer.status == 0
    dataset = tussle.open(tmp_path / "out")
    [first, second] = dataset.table("validity").collect().to_dicts()
    assert (first["algorithm"], second["algorithm"]) == ("reno", "cubic")
    assert (first["host"], first["kernel"]) == (os.uname().nodename, os.uname().release)
    assert (first["interface"], first["path_mtu_bytes"]) == ("net", 1500)
    assert first["kept_up"] == (first["shortfall"] is None)
    assert first["busy_s"] == pytest.approx(2, abs=0.3)
    # The output marks a run whose hosts did not keep up, and only such runs.
    assert ("a host did not keep up" in answer.problems) == (not first["kept_up"] or not second["kept_up"])
    recorded = dataset.provenance["engine"]
    assert (recorded["name"], recorded["host_kernel"]) == ("netns", os.uname().release)
    links = dataset.links.filter(pl.col("link") == "bottleneck").collect()
    # 10 Mbit/s for 2 s are 1667 packets of 1500 bytes, and two flows fill it most of the time.
    assert 1300 < links["delivered_packets"][-1] <= 1670
    flows = dataset.flows.collect()
    assert flows["dropped_packets"].sum() > 0
    assert (flows["sent_packets"] > flows["retransmitted_packets"]).all()


def test_auto_chooses_disciplines_where_the_kernel_has_them_and_elements_otherwise():
    run = json.dumps(runs({"algorithm": "reno"})[0])
    with namespace() as somewhere:
        netem = somewhere.command("tc", "qdisc", "add", "dev", "lo", "root", "netem")
        made = subprocess.run(netem, check=False, capture_output=True)
    command = [str(Path(tussle.__file__).parent / "_agent"), "netns", "check", "mixed"]
    chosen = subprocess.run(command, input=run, capture_output=True, text=True, check=True).stdout.strip()
    assert chosen == ("mixed" if made.returncode == 0 else "tun")


def test_options_that_the_host_cannot_execute_are_refused(tussle_, tmp_path: Path):
    file = scenario(tmp_path)
    for options, message in [
        (["--algorithm", "nosuch"], "unknown algorithm"),
        (["--algorithm", "ledbat"], "but not ledbat; if it has the module, `modprobe tcp_ledbat` loads it"),
        (["--workers", "2"], "the engine netns executes 1 run at a time"),
        (["--network", "veth"], 'unknown network "veth"'),
        (["--network", "driver"], "--network driver: only kernels that Tussle built have the driver"),
        (["--hosts", "hosts.toml"], "--hosts is only for the engine hosts"),
    ]:
        assert message in refused(tussle_("run", file, "--engine", "netns", *options))
    [run] = runs({"algorithm": "cubic", "parameters": {"beta": 512}})
    with pytest.raises(TussleError, match=r"flows\.0\.parameters: .* hold for all flows; give none"):
        engine("netns").check(run)


def test_a_run_without_root_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(TussleError, match="needs root: sudo tussle"):
        NamespacesEngine().check(runs({"algorithm": "reno"})[0])


def test_a_killed_run_leaves_no_process_and_no_namespace(tmp_path: Path):
    command = [
        TUSSLE,
        "run",
        scenario(tmp_path, duration="60 s"),
        "--engine",
        "netns",
        "-o",
        tmp_path / "out",
    ]
    with subprocess.Popen(command, start_new_session=True) as run:
        while not (mine := [each for each in agents() if _below(run.pid, int(each))]):
            assert run.poll() is None
            time.sleep(0.05)
        os.kill(run.pid, signal.SIGKILL)
    while set(mine) & set(agents()):
        time.sleep(0.05)
    # A sender's namespace, and its wire.
    assert not Path("/run/netns/s0").exists()
    assert not Path("/sys/class/net/h-s0").exists()


def _below(ancestor: int, pid: int) -> bool:
    """Return whether one process is a descendant of the other."""
    while pid > 1 and pid != ancestor:
        try:
            status = Path(f"/proc/{pid}/stat").read_text("utf-8")
        except OSError:
            return False
        pid = int(status.rpartition(")")[2].split()[1])
    return pid == ancestor
