"""Two hundred mutated datasets: every command refuses invalid ones with a message and never crashes."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from commandline import Answer
from mutated import faults_of, mutations, time_limit
from mutated_datasets import Mutation, Target, mutate
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

ALL = mutations(full=200, every=6)
EVERY_COMMAND = os.environ.get("TUSSLE_MUTATIONS") == "all"
CHEAP = [
    ["export", "mutated", "flows", "-o", "new.csv"],
    ["export", "mutated", "flow", "-o", "new.flent.gz"],
    ["export", "mutated", "share", "--summary", "-o", "new.json"],
    ["compare", "mutated", "whole/pairs", "--csv", "new.csv"],
]
DEAR = [
    ["plot", "mutated", "matrix", "-o", "new.svg"],
    ["report", "mutated", "-o", "new.html"],
    ["plot", "mutated", "window", "-o", "new.svg"],
    ["export", "mutated", "packets", "-o", "new.pcapng"],
]
"""Seconds each, where a dataset is not refused."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of two algorithms, and a dataset of other runs."""
    folder = tmp_path_factory.mktemp("whole")
    pairs = {
        "question": "Which of reno, cubic share a bottleneck fairly?",
        "duration": "6s",
        "start_jitter": "20 ms",
        "repetitions": 1,
        "record": {"events": True},
        "path": {"profile": "lan"},
        "flows": [{"algorithm": ["reno", "cubic"]}, {"algorithm": ["reno", "cubic"], "start": "1s"}],
    }
    alone = pairs | {"repetitions": 5, "flows": [{"algorithm": "vegas"}]}
    for name, tables in {"pairs": pairs, "alone": alone}.items():
        sweep(Scenario.from_dict(tables), folder / name, SweepSettings(workers=1))
    return folder


def test_a_mutated_dataset_is_shown_or_refused_with_messages(
    whole: Path, tussle_: Callable[..., Answer], tmp_path: Path
):
    (tmp_path / "whole").symlink_to(whole)
    found: list[str] = []
    for number in ALL:
        shutil.rmtree("mutated", ignore_errors=True)
        shutil.copytree("whole/pairs", "mutated")
        made = mutate(number, Target(Path("mutated"), Path("whole/alone")))
        for words in commands(number, refused=faults_after(made, CHEAP[0], tussle_, found).status == 2):
            faults_after(made, words, tussle_, found)
    assert found == []


def commands(number: int, *, refused: bool) -> list[list[str]]:
    """Return the commands for a dataset that the first command refused, or accepted."""
    return CHEAP[1:] + (DEAR if refused or EVERY_COMMAND else [DEAR[number // 3 % len(DEAR)]])


def faults_after(made: Mutation, words: list[str], call: Callable[..., Answer], found: list[str]) -> Answer:
    """Run a command on the mutated dataset; add the faults of its output to `found`."""
    with time_limit():
        answer = call(*words)
    faults = faults_of(answer)
    if made.wrong and answer.status != 2:
        faults.append("accepted")
    if made.wrong and made.names not in answer.problems:
        faults.append(f"does not name {made.names}: {answer.problems}")
    left = {path.name for path in Path().iterdir()} - {"mutated", "whole"}
    if left != (set() if answer.status == 2 else {words[-1]}):
        faults.append(f"left {left}")
    for name in left:
        Path(name).unlink()
    found += [f"{made.description}, {' '.join(words[:3])}: {fault}" for fault in faults]
    return answer


KEEPING = {
    "suite": (
        "suite rfc9743 --only persistent-loss --algorithm reno -o made",
        "made/runs/persistent-loss/candidate",
        mutations(full=200, every=19),
    ),
    "paper": (
        "paper lan-pairs --quick --part tick --algorithms reno,cubic -o made",
        "made/sim/tick",
        mutations(full=200, every=50),
    ),
    "agree": (
        "agree --cells 1 --algorithms reno -o made",
        "made/kernel/joins-reno",
        mutations(full=40, every=40),
    ),
}
"""Commands that go on with the datasets in their folder, one of these, and the mutations to try."""


@pytest.mark.parametrize(("words", "kept", "numbers"), KEEPING.values(), ids=KEEPING)
def test_a_command_that_goes_on_with_its_datasets_refuses_mutated_ones(
    words: str,
    kept: str,
    numbers: list[int],
    whole: Path,
    tussle_: Callable[..., Answer],
    request: pytest.FixtureRequest,
):
    if "kernel" in kept:
        request.getfixturevalue("kernel")
    assert tussle_(*words.split()).status in (0, 1)
    Path("made").rename("intact")
    found: list[str] = []
    for number in numbers:
        shutil.copytree("intact", "made")
        made = mutate(number, Target(Path(kept), whole / "alone"))
        with time_limit():
            answer = tussle_(*words.split())
        faults = faults_of(answer)
        if made.wrong and answer.status != 2:
            faults.append("accepted")
        found += [f"{made.description}: {fault}" for fault in faults]
        shutil.rmtree("made")
    assert found == []
