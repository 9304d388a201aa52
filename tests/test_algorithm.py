"""Users' own algorithms, in Python."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tussle import _core
from tussle.algorithm import Ack, Algorithm, Control, Flow, Lost
from tussle.cli import main
from tussle.dataset import Dataset
from tussle.engines import COSTS, engine
from tussle.errors import TussleError
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

HOOKS = [
    "on_start",
    "on_tx_start",
    "on_cwnd_restart",
    "on_pkts_acked",
    "on_ack",
    "on_congestion",
    "on_lost",
    "on_cwr_complete",
    "on_state",
    "on_undo",
    "internals",
]

RENO = """
from tussle.algorithm import Algorithm

class Reno(Algorithm):
    name = "my-reno"

    def on_start(self, flow, control):
        super().on_start(flow, control)

    def on_tx_start(self, flow, control):
        super().on_tx_start(flow, control)

    def on_cwnd_restart(self, flow, control):
        super().on_cwnd_restart(flow, control)

    def on_pkts_acked(self, ack, flow, control):
        super().on_pkts_acked(ack, flow, control)

    def on_ack(self, ack, flow, control):
        super().on_ack(ack, flow, control)

    def on_congestion(self, cause, flow, control):
        return super().on_congestion(cause, flow, control)

    def on_lost(self, lost, flow, control):
        super().on_lost(lost, flow, control)

    def on_cwr_complete(self, flow, control):
        super().on_cwr_complete(flow, control)

    def on_state(self, state, flow, control):
        super().on_state(state, flow, control)

    def on_undo(self, flow, control):
        return super().on_undo(flow, control)

    def internals(self):
        return super().internals()

class Silent:
    pass
"""

LOSSY = {
    "duration": "10 s",
    "record": {"samples": "change", "events": True},
    "path": {"rate": "10 Mbit/s", "rtt": "40 ms", "loss": "0.5 %"},
    "flows": [{"algorithm": "reno"}, {"algorithm": "cubic", "sender": {"ecn": True}}],
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def a_run(algorithm: str, **changes: Any) -> dict[str, Any]:
    settings = {"flows.0.algorithm": algorithm, **{key.replace("__", "."): changes[key] for key in changes}}
    return Scenario.from_dict(LOSSY).with_settings(settings).runs()[0].run


def execute(algorithm: str, **changes: Any) -> dict[str, pl.DataFrame]:
    return engine("sim").execute(a_run(algorithm, **changes))


def refusal(source: str, algorithm: str = "mine.py:Mine", **changes: Any) -> TussleError:
    """Return the error about an algorithm before the run."""
    Path("mine.py").write_text(source)
    with pytest.raises(TussleError) as refused:
        engine("sim").check(a_run(algorithm, **changes))
    return refused.value


def failure(body: str) -> TussleError:
    """Return the error during the run of an algorithm whose class has this body."""
    Path("mine.py").write_text(f"class Mine:\n    {body}\n")
    engine("sim").check(a_run("mine.py:Mine"))
    with pytest.raises(TussleError) as failed:
        execute("mine.py:Mine")
    return failed.value


@pytest.mark.parametrize("class_name", ["Reno", "Silent"])
def test_reno_in_python_is_reno_to_the_byte(here: Path, class_name: str) -> None:
    (here / "reno.py").write_text(RENO)
    built_in, own = execute("reno"), execute(f"reno.py:{class_name}")
    assert built_in["flows"].select(pl.sum("recoveries")).item() > 10
    for table in ("samples", "links", "events"):
        assert own[table].equals(built_in[table])
    assert own["flows"].drop("algorithm").equals(built_in["flows"].drop("algorithm"))
    name = {"Reno": "my-reno", "Silent": "reno.py:Silent"}[class_name]
    assert own["flows"]["algorithm"].to_list() == [name, "cubic"]


def test_the_base_class_has_every_hook() -> None:
    methods = [name for name, value in vars(Algorithm).items() if callable(value)]
    assert methods == HOOKS


def test_every_hook_is_called_with_its_arguments(here: Path) -> None:
    (here / "mine.py").write_text(
        """
from pathlib import Path
from tussle.algorithm import Algorithm

def note(text):
    with Path("calls").open("a") as calls:
        calls.write(text + "\\n")

class Mine(Algorithm):
    def on_start(self, flow, control): note(f"on_start {flow.state} {control.cwnd} {control.has_ssthresh}")
    def on_tx_start(self, flow, control): note("on_tx_start")
    def on_pkts_acked(self, ack, flow, control): note(
        f"on_pkts_acked {ack.lost} {(ack.rtt_us or 40_000) >= 40_000}"
    )
    def on_ack(self, ack, flow, control): note("on_ack"); super().on_ack(ack, flow, control)
    def on_congestion(self, cause, flow, control): note(f"on_congestion {cause}"); return 7
    def on_lost(self, lost, flow, control): note(
        f"on_lost {lost.number >= flow.una} {lost.in_flight > 0} {lost.lost > 0} {lost.application_limited}"
    )
    def on_cwr_complete(self, flow, control): note(
        f"on_cwr_complete {control.cwnd} {control.ssthresh} {control.in_slow_start}"
    )
    def on_state(self, state, flow, control): note(f"on_state {flow.state} to {state}")
    def on_undo(self, flow, control): note("on_undo"); return super().on_undo(flow, control)
    def internals(self): return {"answer_packets": 42, "unknown_ms": None}
"""
    )
    samples = execute("mine.py:Mine", path__loss="2 %")["samples"].filter(pl.col("flow") == 0)
    calls = Path("calls").read_text().splitlines()
    assert calls[0] == "on_start open 10 False"
    unique = set(calls)
    assert {
        "on_ack",
        "on_pkts_acked 0 True",
        "on_congestion loss",
        "on_state disorder to recovery",
    } <= unique
    assert "on_cwr_complete 7 7 False" in unique
    assert "on_lost True True True False" in unique
    first_loss = calls.index("on_lost True True True False")
    assert first_loss < calls.index("on_congestion loss")
    assert samples["mine.py:Mine.answer_packets"].drop_nulls().unique().to_list() == [42.0]
    assert samples["mine.py:Mine.unknown_ms"].null_count() == samples.height
    assert samples["ssthresh_packets"].drop_nulls().unique().to_list() == [7]


def test_a_restart_after_idle_time_is_reported_before_the_window_falls(here: Path) -> None:
    """The application pauses for a second, which is several RTOs of about 240 ms."""
    (here / "mine.py").write_text(
        """
from pathlib import Path
from tussle.algorithm import Algorithm

class Mine(Algorithm):
    def note(self, hook, flow, control):
        idle_ms = (flow.now_us - flow.last_sent_us) // 1000
        with Path("calls").open("a") as calls:
            calls.write(f"{hook} {control.cwnd} {idle_ms > 240}\\n")

    def on_tx_start(self, flow, control): self.note("on_tx_start", flow, control)
    def on_cwnd_restart(self, flow, control): self.note("on_cwnd_restart", flow, control)
"""
    )
    chunks = {"kind": "chunks", "size": "300 kB", "every": "2 s"}
    execute("mine.py:Mine", path__loss="0 %", flows__0__application=chunks)
    calls = Path("calls").read_text().splitlines()
    first = next(index for index, call in enumerate(calls) if call.startswith("on_cwnd_restart"))
    _, before, was_idle = calls[first].split()
    hook, after, _ = calls[first + 1].split()
    assert (hook, was_idle) == ("on_tx_start", "True")
    assert 10 <= int(after) < int(before)


@pytest.mark.parametrize(
    "body",
    [
        "def on_lost(self, lost, flow, control): lost.number = 3",
        "def on_lost(self, lost, flow, control): return 3",
    ],
)
@pytest.mark.usefixtures("here")
def test_a_lost_packet_is_read_only_and_its_hook_returns_nothing(body: str) -> None:
    assert str(failure(body)).startswith("mine.py:Mine, on_lost of flow-0 at ")


def test_internals_are_read_once_the_flow_has_started(here: Path) -> None:
    (here / "mine.py").write_text(
        """
class Mine:
    def on_start(self, flow, control):
        self.started_s = flow.now_us / 1e6

    def internals(self):
        return {"started_s": self.started_s}
"""
    )
    samples = execute("mine.py:Mine", flows__0__start="1 s")["samples"].filter(pl.col("flow") == 0)
    started_s = samples["mine.py:Mine.started_s"]
    assert started_s[0] is None
    # Opening the connection takes a round trip.
    assert 1.04 < started_s.drop_nulls().unique().item() < 1.05


def test_changes_of_control_take_effect(here: Path) -> None:
    (here / "mine.py").write_text(
        """
class Mine:
    pacing = True
    recovery = "own"

    def on_start(self, flow, control):
        control.cwnd = 20

    def on_ack(self, ack, flow, control):
        control.ssthresh = 15
        control.pacing_bit_per_s = 9e6

    def on_congestion(self, cause, flow, control):
        return control.ssthresh
"""
    )
    samples = execute("mine.py:Mine", path__loss="0 %")["samples"].filter(
        pl.col("flow") == 0, pl.col("time_s") > 1
    )
    assert samples["cwnd_packets"].unique().to_list() == [20]
    assert samples["ssthresh_packets"].unique().to_list() == [15]
    assert samples["pacing_bit_per_s"].unique().to_list() == [9e6]


@pytest.mark.parametrize("recovery", ["prr", "own"])
def test_the_simulator_survives_any_algorithm(here: Path, recovery: str) -> None:
    (here / "mine.py").write_text(
        f"""
from random import Random

class Mine:
    recovery = "{recovery}"
    pacing = True

    def on_start(self, flow, control):
        self.random = Random(flow.seed)

    def on_pkts_acked(self, ack, flow, control):
        control.cwnd = self.random.choice([1, 2, 10, 100, 2**21])
        control.ssthresh = self.random.choice([2, 20, 2**31 - 1])
        control.pacing_bit_per_s = self.random.choice([None, 1, 1e6, 1e15])
        control.additive(self.random.choice([1, 5, 2**30]), self.random.choice([0, 1, 2**21]))
        if self.random.random() < 0.1:
            control.request_reduction()

    def on_ack(self, ack, flow, control):
        control.slow_start(self.random.choice([0, 1, 2**21]))

    def on_congestion(self, cause, flow, control):
        return self.random.choice([2, 50, 2**31 - 1])

    def on_undo(self, flow, control):
        return self.random.choice([1, 50, 2**21])
"""
    )
    for loss in ("0 %", "1 %", "20 %"):
        flows = execute("mine.py:Mine", path__loss=loss, record__samples="off")["flows"]
        assert flows["delivered_bytes"][0] > 0


def test_slow_start_returns_the_packets_that_it_does_not_use(here: Path) -> None:
    (here / "mine.py").write_text(
        """
class Mine:
    def on_start(self, flow, control):
        control.ssthresh = 12
        assert (control.slow_start(5), control.cwnd) == (3, 12)
        assert (control.slow_start(5), control.cwnd) == (5, 12)
        control.cwnd = 20
        assert (control.slow_start(5), control.cwnd) == (5, 20)
"""
    )
    assert execute("mine.py:Mine")["flows"].height == 2


def test_an_algorithm_can_request_a_reduction(here: Path) -> None:
    (here / "mine.py").write_text(
        """
from tussle.algorithm import Algorithm

class Mine(Algorithm):
    def on_pkts_acked(self, ack, flow, control):
        if control.cwnd > 30 and flow.state == "open":
            control.request_reduction()
"""
    )
    tables = execute("mine.py:Mine", path__loss="0 %")
    windows = tables["samples"].filter(pl.col("flow") == 0)["cwnd_packets"]
    # Found at 31 packets at the earliest, when one more ACK may have been for two packets of slow start.
    assert windows.filter(windows > 36).is_empty()
    assert "reduction" in tables["events"]["kind"]


def test_seeds_differ_between_flows_and_are_reproducible(here: Path) -> None:
    (here / "mine.py").write_text(
        """
class Mine:
    def on_start(self, flow, control):
        self.seed = flow.seed

    def internals(self):
        return {"seed": self.seed % 2**50}
"""
    )
    scenario = Scenario.from_dict(LOSSY | {"repetitions": 2}).set("flows.0.algorithm", "mine.py:Mine")
    seeds = [
        engine("sim").execute(run.run)["samples"]["mine.py:Mine.seed"].max()
        for _ in range(2)
        for run in scenario.set("flows.1.algorithm", "mine.py:Mine").runs()
    ]
    assert seeds[:2] == seeds[2:]
    assert seeds[0] != seeds[1]


def test_parameters_are_arguments(here: Path) -> None:
    (here / "mine.py").write_text(
        """
class Mine:
    def __init__(self, kept_percent=50):
        self.kept_percent = kept_percent

    def on_congestion(self, cause, flow, control):
        return max(control.cwnd * self.kept_percent // 100, 2)
"""
    )
    gentle = execute("mine.py:Mine", flows__0__parameters={"kept_percent": 90})["flows"]
    assert gentle["steady_delivered_bytes"][0] > execute("mine.py:Mine")["flows"]["steady_delivered_bytes"][0]
    source = (here / "mine.py").read_text()
    refused = refusal(source, flows__0__parameters={"kept": 90})
    assert str(refused) == (
        "algorithm mine.py:Mine cannot be made with kept = 90: got an unexpected keyword argument 'kept'"
    )


def test_an_exception_is_shown_with_its_traceback_and_the_simulated_time(here: Path) -> None:
    (here / "mine.py").write_text(
        """
class Mine:
    def on_congestion(self, cause, flow, control):
        return self.halved(control)

    def halved(self, control):
        return control.cwnd / (cause_of_failure := 0)
"""
    )
    with pytest.raises(TussleError) as failed:
        execute("mine.py:Mine")
    assert re.fullmatch(
        r"mine\.py:Mine, on_congestion of flow-0 at \d\.\d{9} s: ZeroDivisionError: division by zero",
        str(failed.value),
    )
    lines = failed.value.details.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1:3] == ['  File "mine.py", line 4, in on_congestion', "    return self.halved(control)"]
    assert "ZeroDivisionError: division by zero" in lines
    assert re.fullmatch(r"in on_congestion of flow-0 at \d\.\d{9} s of simulated time", lines[-1])
    assert str(here) not in failed.value.details


def test_the_command_shows_the_traceback_and_exits_with_2(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.py").write_text("class Mine:\n    def on_start(self, flow, control):\n        flow.cwnd\n")
    (here / "one.toml").write_text(Scenario.from_dict(LOSSY).to_toml())
    monkeypatch.setattr(sys, "argv", ["tussle", "run", "one.toml", "--algorithm", "mine.py:Mine"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    shown = capsys.readouterr().err.splitlines()
    assert shown[1] == '  File "mine.py", line 3, in on_start'
    assert shown[-1].startswith("tussle: run 0 (point 0, seed ")
    assert "AttributeError: 'tussle.algorithm.Flow' object has no attribute 'cwnd'" in shown[-1]
    assert not any(line.startswith("tussle: ") for line in shown[:-1])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "def on_congestion(self, cause, flow, control): return 25 / 2",
            "the returned ssthresh is 12.5; give a whole number of packets from 2 to 2147483647",
        ),
        ("def on_congestion(self, cause, flow, control): return 1", "is 1; give a whole number"),
        ("def on_congestion(self, cause, flow, control): return -5", "is -5; give a whole number"),
        ("def on_congestion(self, cause, flow, control): pass", "is None; give a whole number"),
        ("def on_congestion(self, cause, flow, control): control.cwnd = 3", "read-only"),
        ("def on_start(self, flow, control): control.cwnd = 0", "cwnd is 0; give a whole number of packets"),
        (
            "def on_start(self, flow, control): control.cwnd = 2**40",
            "give a whole number of packets from 1 to",
        ),
        ("def on_start(self, flow, control): control.cwnd = '9'", "cwnd is '9'"),
        ("def on_start(self, flow, control): control.ssthresh = 1", "ssthresh is 1"),
        ("def on_start(self, flow, control): control.pacing_bit_per_s = -1", "pacing_bit_per_s is -1"),
        ("def on_start(self, flow, control): control.additive(0, 1)", "per is 0"),
        ("def on_start(self, flow, control): control.slow_start(-1)", "delivered is -1"),
        ("def on_start(self, flow, control): control.window = 3", "window"),
        ("def on_start(self, flow, control): flow.una = 3", "una"),
        ("def on_ack(self, ack, flow, control): return 3", "returned 3; on_ack returns nothing"),
        ("def internals(self): return [3]", "s: returned [3]; return a dict of numbers by their names"),
        ("def internals(self): return {'a': 'b'}", "a is 'b'; give a number"),
        ("def internals(self): return {1: 2}", "1 is not a name"),
        ("def on_ack(self, ack, flow, control): raise GeneratorExit('odd')", "s: GeneratorExit: odd"),
        ("def on_ack(self, ack, flow, control): exit(0)", "s: called exit(); it must not end the process"),
        (
            "def on_start(self, flow, control): import os; os._exit(0)",
            "s: called exit(); it must not end the process",
        ),
        (
            "def on_start(self, flow, control): import os; os.execlp('true', 'true')",
            "s: RuntimeError: an algorithm must not replace the process; start a program with subprocess",
        ),
    ],
)
@pytest.mark.usefixtures("here")
def test_an_error_in_a_hook_names_the_hook(body: str, words: str) -> None:
    failed = failure(body)
    hook = body.split()[1].partition("(")[0]
    assert str(failed).startswith(f"mine.py:Mine, {hook} of flow-0 at ")
    assert words in str(failed)
    assert "\n" not in str(failed)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("class Mine:\n  def on_akc(self): pass", 'unknown hook "on_akc"; did you mean "on_ack"?'),
        (
            "class Mine:\n  def on_ack(self, ack): pass",
            "on_ack takes (self, ack); write it with (self, ack, flow, control)",
        ),
        ("class Mine:\n  on_ack = 3", "on_ack is 3; write a method"),
        ("class Mime: pass", 'unknown class "Mine"; did you mean "Mime"?'),
        ("from tussle.algorithm import Algorithm", "mine.py defines no class; write one"),
        ("def Mine(): pass", "Mine is a function; name a class"),
        ("class Mine:\n  def __init__(self, gain): pass", "without parameters: missing a required argument"),
        ("class Mine:\n  def __init__(self): 1 / 0", "making it raised ZeroDivisionError: division by zero"),
        (
            "class Mine:\n  def __init__(self): raise SystemExit(0)",
            "making it called exit(); it must not end",
        ),
        ("import sys; sys.exit(0)", "loading it called exit(); it must not end the process"),
        ("import os; os._exit(0)", "loading it called exit(); it must not end the process"),
        (
            "import os; os.execve('/bin/true', ['true'], {})",
            "loading it raised RuntimeError: an algorithm must",
        ),
        ("class Mine:\n  def __init__(self): raise GeneratorExit", "making it raised GeneratorExit"),
        ("class Mine:\n  @property\n  def on_ack(self): 1 / 0", "reading the class raised ZeroDivisionError"),
        ("class Mine:\n  on_ack = property(exit)", "reading the class called exit(); it must not end"),
        (
            "class Odd(Exception):\n def __str__(self): exit(0)\nclass Mine:\n def __init__(self): raise Odd",
            "making it raised Odd",
        ),
        ("import nowhere_at_all", "loading it raised ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("class Mine", "loading it raised SyntaxError"),
        ("class Mine:\n  name = 'two words'", 'its `name` is "two words"; give up to 64 letters'),
        ("class Mine:\n  name = 'reno'", "its `name` is reno, which is an algorithm of Tussle"),
        ("class Mine:\n  pacing = 'yes'", 'its `pacing` is "yes"; give True or False'),
        ("class Mine:\n  recovery = None", 'its `recovery` is "None"; give one of "prr", "own"'),
    ],
)
@pytest.mark.usefixtures("here")
def test_an_invalid_class_is_refused_before_the_run(source: str, words: str) -> None:
    refused = refusal(source)
    assert words in str(refused)
    assert "mine.py:Mine" in str(refused)
    assert "\n" not in str(refused)
    assert bool(refused.details) == ("raised" in words or "called" in words)


def test_threads_and_processes_of_an_algorithm_still_end_and_execute_programs() -> None:
    script = """
import os, threading
from tussle.own_algorithms import process_must_live

with process_must_live():
    child = os.fork()
    if child == 0:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert os.spawnlp(os.P_WAIT, "false", "false") == 1
    threading.Thread(target=os._exit, args=[3]).start()
    threading.Event().wait()
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 3


@pytest.mark.usefixtures("here")
def test_an_error_in_the_file_is_shown_with_its_line() -> None:
    assert '  File "mine.py", line 2, in <module>\n' in refusal("\nimport nowhere_at_all").details
    assert '  File "mine.py", line 1\n' in refusal("class Mine").details


@pytest.mark.usefixtures("here")
def test_a_missing_file_is_named() -> None:
    with pytest.raises(TussleError, match=r"algorithm gone\.py:Mine: there is no such file"):
        engine("sim").check(a_run("gone.py:Mine"))
    with pytest.raises(TussleError, match=r'"gone\.py" names no class; add the class'):
        a_run("gone.py")


def test_two_algorithms_with_one_name_are_refused(here: Path) -> None:
    (here / "mine.py").write_text("class A:\n  name = 'x'\nclass B:\n  name = 'x'")
    with pytest.raises(TussleError, match=r"mine\.py:A and mine\.py:B are both called x"):
        engine("sim").check(a_run("mine.py:A", flows__1__algorithm="mine.py:B"))


def test_the_file_is_searched_beside_the_scenario_then_in_the_current_folder(here: Path) -> None:
    folder = here / "study"
    folder.mkdir()
    flows = [{"algorithm": ["mine.py:Mine", "reno"]}, {"algorithm": "here.py:Mine"}]
    (folder / "pair.toml").write_text(Scenario.from_dict(LOSSY | {"flows": flows}).to_toml())
    (folder / "mine.py").write_text("class Mine: pass")
    (here / "here.py").write_text("class Mine: pass")
    scenario = Scenario.load("study/pair.toml")
    assert scenario.flows[0].algorithm == ("study/mine.py:Mine", "reno")
    assert scenario.flows[1].algorithm == "here.py:Mine"
    flows = engine("sim").execute(scenario.runs()[0].run)["flows"]
    assert flows["algorithm"].to_list() == ["mine.py:Mine", "here.py:Mine"]


def test_module_state_does_not_carry_over_to_the_next_run(here: Path) -> None:
    (here / "mine.py").write_text(
        "made = []\nclass Mine:\n  def __init__(self): made.append(self)\n"
        "  def internals(self): return {'made': len(made)}"
    )
    for _ in range(2):
        assert execute("mine.py:Mine")["samples"]["mine.py:Mine.made"].max() == 1


def test_the_file_may_import_modules_of_its_folder(here: Path) -> None:
    (here / "below").mkdir()
    (here / "below" / "shared_by_mine.py").write_text("KEPT = 3")
    (here / "below" / "mine.py").write_text("from shared_by_mine import KEPT\nclass Mine: pass")
    before = list(sys.path)
    assert execute("below/mine.py:Mine")["flows"]["algorithm"][0] == "mine.py:Mine"
    assert sys.path == before


def matrix(names: list[str]) -> Scenario:
    flows = [{"algorithm": names}, {"algorithm": names, "start": "1 s"}]
    return Scenario.from_dict(LOSSY | {"flows": flows})


def test_a_matrix_is_the_same_with_any_number_of_workers(here: Path) -> None:
    (here / "reno.py").write_text(RENO)
    scenario = matrix(["reno", "reno.py:Reno"])
    one = sweep(scenario, here / "one", SweepSettings(workers=1))
    two = sweep(scenario, here / "two", SweepSettings(workers=2))
    assert one.provenance["digest"] == two.provenance["digest"]
    algorithms = one.flows.select("algorithm").unique().collect()["algorithm"].to_list()
    assert set(algorithms) == {"reno", "my-reno"}
    assert list(one.provenance["own_algorithms_sha256"]) == ["reno.py"]


def test_a_dataset_is_read_without_the_file(here: Path) -> None:
    (here / "reno.py").write_text(RENO)
    sweep(matrix(["reno.py:Reno"]), here / "out", SweepSettings(workers=1))
    (here / "reno.py").unlink()
    assert Dataset.open(here / "out").scenario == matrix(["reno.py:Reno"])


def test_finished_runs_are_not_mixed_with_those_of_a_changed_file(here: Path) -> None:
    fails = "class Mine:\n  def on_start(self, flow, control):\n    assert flow.seed % 2 == {}\n"
    scenario = Scenario.from_dict(LOSSY | {"repetitions": 8}).set("flows.0.algorithm", "mine.py:Mine")
    first = scenario.runs()[0].run
    (here / "mine.py").write_text(fails.format(0))
    odd = not runs_through(first)
    (here / "mine.py").write_text(fails.format(int(odd)))
    with pytest.raises(TussleError, match=r"AssertionError; finished runs: \d"):
        sweep(scenario, here / "out", SweepSettings(workers=1))
    (here / "mine.py").write_text("class Mine: pass")
    with pytest.raises(TussleError, match=r"another sweep \(own algorithms differs\)"):
        sweep(scenario, here / "out", SweepSettings(workers=1))


def runs_through(run: dict[str, Any]) -> bool:
    try:
        engine("sim").execute(run)
    except TussleError:
        return False
    return True


def test_a_file_that_changes_during_the_sweep_is_noticed(here: Path) -> None:
    (here / "mine.py").write_text(
        "from pathlib import Path\nclass Mine:\n  def on_start(self, flow, control):\n"
        "    Path('mine.py').write_text('class Mine: pass')"
    )
    scenario = Scenario.from_dict(LOSSY).set("flows.0.algorithm", "mine.py:Mine")
    with pytest.raises(TussleError, match=r"mine\.py changed during the sweep"):
        sweep(scenario, here / "out", SweepSettings(workers=1))


def test_the_cost_of_an_ack_is_measured_and_stays_out_of_datasets(here: Path) -> None:
    (here / "reno.py").write_text(RENO)
    costs = execute("reno.py:Reno")[COSTS]
    assert costs["algorithm"].to_list() == ["my-reno"]
    assert costs["acks"][0] > 1000
    assert 0 < costs["in_hooks_s"][0] / costs["acks"][0] < 1e-3
    assert COSTS not in execute("reno")


@pytest.mark.slow
def test_the_command_prints_the_cost_of_an_ack(here: Path) -> None:
    (here / "reno.py").write_text(RENO)
    command = [str(Path(sys.executable).with_name("tussle")), "matrix", "--algorithms", "cubic,reno.py:Reno"]
    command += ["--profile", "lan", "--duration", "12 s", "--workers", "2", "-o", "out"]
    result = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert re.search(r"^python algorithm my-reno: \d+(\.\d+)? µs per ACK$", result.stderr, re.MULTILINE)
    assert "my-reno" in (here / "out" / "report.html").read_text()


def test_a_hook_can_be_interrupted(here: Path) -> None:
    (here / "mine.py").write_text("class Mine:\n  def on_ack(self, *_): raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        execute("mine.py:Mine")


def test_the_bridge_raises_with_the_exception_as_its_cause(here: Path) -> None:
    (here / "mine.py").write_text("class Mine:\n  def on_start(self, flow, control): raise LookupError")
    with pytest.raises(TussleError) as failed:
        execute("mine.py:Mine")
    raised = failed.value.__cause__
    assert isinstance(raised, _core.HookError)
    assert isinstance(raised.__cause__, LookupError)
    assert str(raised).endswith(": LookupError")


@pytest.mark.parametrize("view", [Ack, Lost, Flow, Control], ids=lambda view: view.__name__)
def test_every_member_of_the_views_has_a_description_and_a_type(view: type) -> None:
    members = {name: value for name, value in vars(view).items() if not name.startswith("_")}
    assert [name for name, value in members.items() if not value.__doc__] == []
    stub = (Path(_core.__file__).parent / "_core.pyi").read_text("utf-8")
    body = stub.partition(f"class {view.__name__}:")[2].partition("@final")[0]
    assert set(re.findall(r"^    (?:def )?(\w+)[(:]", body, re.MULTILINE)) == set(members)


def test_views_cannot_be_made_by_hand() -> None:
    with pytest.raises(TypeError):
        Control()


def test_a_run_with_an_own_algorithm_needs_the_loaded_class() -> None:
    with pytest.raises(ValueError, match=r"no algorithm is called mine\.py:Mine"):
        _core.check(json.dumps(a_run("mine.py:Mine")))
