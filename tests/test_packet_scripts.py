"""Packet scripts pass on the simulator and on Linux, and both report a wrong number."""

import json
import re
import shutil
from pathlib import Path

import pytest

from commandline import refused
from tussle import _core
from tussle.errors import TussleError
from tussle.host_profiles import host_profiles
from tussle.kernel import Kernel, folder_of
from tussle.kernel.guest import UserMode
from tussle.packet_scripts import ENGINES, Verdict, play
from tussle.scenario.hosts import host_in_run

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "crates" / "tussle-core" / "tests" / "scripts").glob("*.toml"))
ONE = SCRIPTS[0].with_name("fast_retransmit_by_sack.toml")
MOST_SKIPPED = 2
NOT_IN_LINUX = re.compile("^hosts = .*(reduction = |(fack|early_retransmit|impatient) = true)", re.MULTILINE)
"""Settings that the kernels of the engine do not have."""
SLOW = {"sim": (), "kernel": pytest.mark.slow}
RANDOM_SCRIPTS = 10
"""Random scripts for each algorithm."""
MOST_OTHER_ENDS = 0.05
"""Largest fraction of random scripts with other ends: the guest's clock has a resolution of microseconds."""


@pytest.fixture(params=[pytest.param(engine, marks=SLOW[engine]) for engine in ENGINES])
def engine(request) -> str:
    if request.param == "kernel":
        request.getfixturevalue("kernel")
    return request.param


def changed(folder: Path, old: str, new: str) -> Path:
    """A script with one word changed."""
    text = ONE.read_text("utf-8")
    assert old in text
    file = folder / "changed.toml"
    file.write_text(text.replace(old, new, 1), "utf-8")
    return file


def test_every_packet_script_passes(engine):
    verdicts = play(SCRIPTS, engine)
    assert [verdict for verdict in verdicts if verdict.outcome == "fails"] == []
    skipped = [
        verdict
        for verdict in verdicts
        if verdict.outcome == "is skipped" and not NOT_IN_LINUX.search(verdict.file.read_text("utf-8"))
    ]
    assert len(skipped) <= MOST_SKIPPED
    assert all(verdict.words for verdict in skipped)


@pytest.mark.usefixtures("kernel")
def test_packet_scripts_are_reproducible_on_linux(tmp_path):
    wrong = changed(tmp_path, "cwnd = 11", "cwnd = 12")
    assert play([wrong, *SCRIPTS[:5]], "kernel") == play([wrong, *SCRIPTS[:5]], "kernel")


def test_a_wrong_number_in_a_script_is_reported_with_its_line(engine, tmp_path, tussle_):
    answer = tussle_("script", ONE, changed(tmp_path, "cwnd = 11", "cwnd = 12"), "--engine", engine)
    assert answer.status == 1
    holds, fails = answer.out.splitlines()
    assert holds.startswith(f"{ONE} holds: Three packets sacked above a hole prove a loss")
    assert fails.endswith("changed.toml fails: step 4 at 0.100300000 s: cwnd is 11, expected 12")


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ('sends = ["10-12"]', "step 1 at 0.100000000 s: the sender sent 10-13, expected 10-12"),
        ("sends = []", "step 1 at 0.100000000 s: the sender sent 10-13, expected nothing"),
        (
            'sends = ["10-13"]\n[[steps]]\nat_ms = 100.05\nsends = ["14"]',
            "step 2 at 0.100050000 s: the sender sent nothing, expected 14",
        ),
    ],
)
def test_extra_and_missing_packets_are_reported(engine, tmp_path, new, words):
    file = changed(tmp_path, 'sends = ["10-13"]', new)
    [verdict] = play([file], engine)
    assert (verdict.outcome, verdict.words) == ("fails", words)


def test_an_unexpected_packet_is_reported_with_its_time(engine, tmp_path):
    """The packet is a TLP, 52 ticks of 4 ms after the last ACK but one at 100 ms."""
    text = SCRIPTS[0].with_name("tail_loss_probe.toml").read_text("utf-8")
    file = tmp_path / "late.toml"
    file.write_text(text.replace("at_ms = 308", "at_ms = 312"), "utf-8")
    [verdict] = play([file], engine)
    assert re.fullmatch(
        r"step 2 at 0\.312000000 s: the sender sent 9 at 0\.30800\d+ s, which no step expects", verdict.words
    )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("# Packet 2", "[[packets]]\n# Packet 2", "unknown field `packets`"),
        ("write = 30", "writes = 30", "unknown field `writes`"),
        ("write = 30", 'write = "all"', 'invalid type: string "all"'),
        ('"10-13"', '"13-10"', 'step 1: "13-10" is not a range of packets; write "4" or "4-6"'),
        ("at_ms = 100.1", "at_ms = 99", "step 2: at_ms is earlier than the previous step"),
        ("write = 30", 'write = 30\ndata = ["1"]', "step 0: `data` and `acks` need role"),
        (
            "# Packet 2",
            "hosts = { initial_cwnd = 0 }\n# Packet 2",
            "hosts.initial_cwnd: 0 packets; give 1 to ",
        ),
        ("# Packet 2", "hosts = { hz = 100 }\n# Packet 2", "hosts.hz: 100; scripts have 250; leave it out"),
        ('state = "disorder"', 'state = "chaos"', "unknown variant `chaos`, expected one of `open`, "),
        ('state = "disorder"', "state = 2024-02-29", "2024-02-29 without quotes is a date or a time"),
        ("# Packet 2", "skip = 5\n# Packet 2", "invalid type: integer `5`, expected a map"),
        ("claim", 'skip = { sim = "x", kernel = "x" }\nclam', "unknown field `clam`"),
    ],
)
def test_an_invalid_script_is_refused_with_a_message(engine, tmp_path, tussle_, old, new, sentence):
    answer = tussle_("script", changed(tmp_path, old, new), "--engine", engine)
    assert refused(answer).startswith(f"{tmp_path / 'changed.toml'}: {sentence}")


RECEIVER = """
claim = "A receiver acknowledges"
source = "RFC 9293"
role = "receiver"
[[steps]]
at_ms = 0
data = ["0"]
acks = ["2"]
[[steps]]
at_ms = 10
data = ["1"]
acks = ["%s"]
"""


@pytest.mark.parametrize("ack", ["", "x", "4 sack", "4 sack 7-6", "4 sack 6 dsack 2", "nothing"])
def test_an_ack_in_no_known_form_is_refused_before_anything_is_played(ack, tmp_path, tussle_):
    """The first step fails, since its only packet is acknowledged by 1."""
    file = tmp_path / "receiver.toml"
    file.write_text(RECEIVER % ack, "utf-8")
    sentence = f'step 1: "{ack}" is not an ACK; write "4" or "4 dsack 2 sack 6-7 9 ece"'
    assert refused(tussle_("script", file)) == f"{file}: {sentence}"


def test_a_script_that_is_not_toml_is_refused_with_the_line(tmp_path, tussle_):
    file = changed(tmp_path, "claim = ", "claim ")
    assert refused(tussle_("script", file)).startswith(f"{file}, line 1, column 7: not valid TOML: ")


@pytest.mark.usefixtures("kernel")
def test_rate_halving_is_refused_on_the_kernel(tmp_path):
    file = changed(tmp_path, "# Packet 2", 'hosts = { reduction = "rate_halving" }\n# Packet 2')
    with pytest.raises(TussleError, match=r"hosts\.reduction: Linux has had no other since 3\.2"):
        play([file], "kernel")


@pytest.mark.usefixtures("kernel")
def test_growth_that_is_corrected_for_delayed_acks_is_refused_on_the_kernel(tmp_path):
    file = changed(tmp_path, "# Packet 2", 'hosts = { growth = "ack_corrected" }\n# Packet 2')
    with pytest.raises(TussleError, match=r"hosts\.growth: Linux of today corrects no ACKs; give"):
        play([file], "kernel")


def test_hosts_are_those_of_the_profile_bare_by_default():
    hosts = json.loads(_core.random_packet_script("reno", 0, "{}"))["hosts"]
    bare = host_in_run(host_profiles()["bare"].values)
    queue = {"qdisc": "none", "txqueuelen": 1000, "limit_output_bytes": 1 << 20}
    unset = dict.fromkeys(("initial_ssthresh", "initial_rwnd", "rmem", "wmem")) | {"clock_offset_ms": 0}
    assert hosts == bare | queue | unset


@pytest.mark.parametrize(
    ("engine", "sentence"),
    [
        ("sim", "no algorithm is called cubik"),
        ("kernel", "the kernel has no congestion control called cubik; it has bbr, bic"),
    ],
)
@pytest.mark.usefixtures("kernel")
def test_an_unknown_algorithm_is_refused(engine, sentence, tmp_path):
    file = changed(tmp_path, "# Packet 2", 'algorithm = "cubik"\n# Packet 2')
    with pytest.raises(TussleError, match=sentence):
        play([file], engine)


def test_a_parameter_applies_to_its_script_only(engine, tmp_path):
    """CUBIC's window keeps doubling without HyStart; the other two scripts leave slow start as usual."""
    usual = SCRIPTS[0].with_name("hystart_exit_by_delay.toml")
    without = tmp_path / "without.toml"
    text = usual.read_text("utf-8").replace('"cubic"', '"cubic"\nparameters = { hystart = 0 }')
    without.write_text(text, "utf-8")
    again = Path(shutil.copy(usual, tmp_path / "again.toml"))
    before, between, after = play([usual, without, again], engine)
    assert [before.outcome, after.outcome] == ["holds", "holds"]
    assert "the sender sent 76-77, expected 76" in between.words


def test_a_skipped_script_is_reported_with_the_reason(engine, tmp_path):
    file = changed(tmp_path, "# Packet 2", f'skip.{engine} = "it cannot"\n# Packet 2')
    [verdict] = play([file], engine)
    assert verdict == Verdict(file, verdict.claim, "is skipped", "it cannot")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--engine", "linux"], 'unknown engine "linux"; there are sim, kernel'),
        (["--kernel", "mine"], "--kernel needs --engine kernel; give both or neither"),
    ],
)
def test_script_arguments_that_cannot_be_used_are_refused(tussle_, arguments, sentence):
    assert refused(tussle_("script", ONE, *arguments)) == sentence


def test_a_kernel_with_another_tick_rate_is_refused(kernel: Kernel, tmp_path, monkeypatch, tussle_):
    monkeypatch.setenv("TUSSLE_CACHE", str(tmp_path))
    folder = folder_of("hasty")
    shutil.copytree(kernel.image.parent, folder)
    facts = (folder / "kernel.json").read_text("utf-8").replace('"hz": "250"', '"hz": "1000"')
    (folder / "kernel.json").write_text(facts, "utf-8")
    answer = tussle_("script", ONE, "--engine", "kernel", "--kernel", "hasty")
    assert refused(answer) == (
        "packet scripts need a kernel with 250 timer ticks a second, and kernel hasty has 1000; build it "
        "with --hz 250"
    )


def test_a_missing_script_is_named(tussle_):
    assert refused(tussle_("script", "nowhere.toml")).startswith("nowhere.toml: ")


HOSTS = [
    {},
    {"sack": False},
    {"recovery": "rfc6675"},
    {"sack": False, "frto": False},
    {"recovery": "rfc6675", "tlp": False, "frto": False, "initial_cwnd": 3},
    {"dsack": False, "slow_start_after_idle": False},
    {"growth": "ack"},
    {"initial_ssthresh": 20},
    {"timestamps": "off"},
    {"timestamps": "off", "sack": False},
    {"offloads": True},
]


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("hosts", HOSTS, ids=lambda hosts: " ".join(hosts) or "bare")
def test_random_scripts_hold_on_linux(hosts: dict[str, object]):
    """Each script has hundreds of ACKs, with losses, reordering, outages and marks."""
    scripts = {
        f"{algorithm} {seed}": json.loads(_core.random_packet_script(algorithm, seed, json.dumps(hosts)))
        for algorithm in ("reno", "cubic")
        for seed in range(RANDOM_SCRIPTS)
    }
    found = UserMode().play(scripts)
    others = [f"{name}: {answer['words']}" for name, answer in found.items() if answer["verdict"] != "holds"]
    assert len(others) <= MOST_OTHER_ENDS * len(scripts), "\n".join(others)
