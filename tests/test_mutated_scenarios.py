"""A thousand mutated scenarios: invalid ones are refused with a message, and nothing crashes."""

import os
import re
import shutil
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest
import tomlkit

from commandline import Answer, refused
from mutated import faults_of, mutations, time_limit
from mutated_scenarios import KINDS, Mutation, bases, long_list, mutation, short_bases, shortened

CHECKED = mutations(full=1000, every=3)
RUN = mutations(full=1000, every=13)


def faults(made: Mutation, call: Callable[..., Answer], *words: str) -> list[str]:
    """Write the mutation, run a command on it, and return the faults of its output."""
    file = Path("mutated.toml")
    file.write_bytes(made.content)
    with time_limit():
        answer = call(*words, file)
    found = faults_of(answer)
    if made.wrong and answer.status != 2:
        found.append("accepted")
    if answer.status == 2 and not re.search(r"scenario|algorithm|mutated\.toml", answer.problems):
        found.append(f"the sentence does not say where: {answer.problems}")
    return [f"{made.description}: {fault}" for fault in found]


def test_a_mutated_scenario_is_valid_or_refused_with_messages(tussle_: Callable[..., Answer]):
    found = [faults(mutation(number, bases()), tussle_, "scenario", "check") for number in CHECKED]
    assert list(chain.from_iterable(found)) == []


def test_a_mutated_scenario_runs_completely_or_leaves_no_files(
    tussle_: Callable[..., Answer], tmp_path: Path
):
    found: list[str] = []
    for number in RUN:
        if KINDS[number % len(KINDS)] is long_list:
            continue  # many points, each of which is nothing new
        made = mutation(number, short_bases())
        found += faults(made, tussle_, "run", "--workers", "1", "-o", "out")
        left = {path.name for path in tmp_path.iterdir()} - {"mutated.toml"}
        if left not in (set(), {"out"}) or (left and not (tmp_path / "out" / "report.html").is_file()):
            found.append(f"{made.description}: left {left}")
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    assert found == []


@pytest.mark.parametrize("words", [["scenario", "check"], ["run", "-o", "out"]], ids=" ".join)
@pytest.mark.parametrize("name", ["\x00", "x" * 300, "gone", "folder", "fifo", "zero"])
@pytest.mark.parametrize("key", ["flows.0.algorithm", "path.trace"])
def test_an_unreadable_algorithm_or_trace_file_is_refused_with_its_key(
    tussle_: Callable[..., Answer], tmp_path: Path, words: list[str], name: str, key: str
):
    file = f"{name}.py"
    if name == "folder":
        (tmp_path / file).mkdir()
    if name == "fifo":
        os.mkfifo(tmp_path / file)
    if name == "zero":
        (tmp_path / file).symlink_to("/dev/zero")
    tables = shortened(bases()["one-cubic-flow-fills-the-link"])
    if key == "path.trace":
        tables["path"]["trace"] = file
        del tables["path"]["rate"]
    else:
        tables["flows"][0]["algorithm"] = f"{file}:Mine"
    (tmp_path / "mutated.toml").write_text(tomlkit.dumps(tables))
    with time_limit():
        sentence = refused(tussle_(*words, "mutated.toml"))
    assert ("path.trace" in sentence) if key == "path.trace" else sentence.startswith("algorithm ")
    assert {path.name for path in tmp_path.iterdir()} <= {"mutated.toml", file}
