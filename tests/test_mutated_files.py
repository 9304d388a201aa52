"""Mutated packet scripts and search spaces: invalid ones are refused with a message, and nothing crashes."""

import copy
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commandline import Answer, refused
from mutated import faults_of, generator, mutations, time_limit
from mutated_scenarios import ANY_TABLES, QUANTITIES, Mutation

SCRIPTS = Path(__file__).parent.parent / "crates" / "tussle-core" / "tests" / "scripts"
SPACE = {
    "duration": "1 s",
    "start_jitter": "1 ms",
    "path": {
        "rate": {"from": "1 Mbit/s", "to": "3 Mbit/s", "scale": "log"},
        "rtt": {"from": "10 ms", "to": "90 ms", "plain": "50 ms"},
        "queue": {"kind": ["fifo", "codel"], "limit": "20 packets"},
        "loss": "1 %",
        "changes": [],
        "reverse": {"elements": []},
    },
    "flows": {"0": {"count": 1, "access": {"jitter": "1 ms"}}},
}
SEARCH = "worst --algorithm reno --objective utilisation --budget 2 --workers 1 --within mutated.toml -o out"

SPACE_NEEDS = ("from", "to")
"""Keys without which a space is invalid; others have defaults."""
SCRIPT_NEEDS = ("claim", "source", "at_ms")
"""Keys without which a script is invalid."""
SCRIPT_TEXTS = ("claim", "source", "sim", "kernel")
"""Keys of a script that take any text; the last two give the reasons for skipping it."""


@pytest.fixture(scope="module")
def scripts() -> list[dict[str, Any]]:
    return [tomllib.loads(file.read_text("utf-8")) for file in sorted(SCRIPTS.glob("*.toml"))]


def test_a_mutated_packet_script_is_played_or_refused_with_messages(
    scripts: list[dict[str, Any]], tussle_: Callable[..., Answer]
):
    found: list[str] = []
    for number in mutations(full=400, every=4):
        made = mutation(number, scripts[number % len(scripts)], ANY_TABLES)
        made = decided(made, needs=SCRIPT_NEEDS, texts=SCRIPT_TEXTS)
        found += faults_after(made, tussle_, "script mutated.toml")
    assert "\n".join(found) == ""


def test_a_mutated_space_is_searched_or_refused_with_messages(tussle_: Callable[..., Answer], tmp_path: Path):
    found: list[str] = []
    for number in mutations(full=200, every=20):
        made = decided(mutation(number, SPACE, [*ANY_TABLES, *QUANTITIES]), needs=SPACE_NEEDS)
        found += faults_after(made, tussle_, SEARCH)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        left = {path.name for path in tmp_path.iterdir()} - {"mutated.toml"}
        found += [f"{made.description}: left {left}"] if left else []
    assert "\n".join(found) == ""


@pytest.mark.parametrize("words", ["script mutated.toml", SEARCH], ids=["script", "worst"])
@pytest.mark.parametrize("target", ["nowhere", "/dev/zero", "/dev", "mutated.toml"])
def test_an_unreadable_script_or_space_is_refused(
    words: str, target: str, tussle_: Callable[..., Answer], tmp_path: Path
):
    (tmp_path / "mutated.toml").symlink_to(target)
    with time_limit():
        assert "mutated.toml" in refused(tussle_(*words.split()))


def mutation(number: int, tables: dict[str, Any], kinds: list[Callable[..., Mutation]]) -> Mutation:
    """Return the mutation of a file's tables with this number."""
    kind = kinds[number % len(kinds)]
    made = kind(generator("file", number), copy.deepcopy(tables))
    return made._replace(description=f"{number}: {kind.__name__}: {made.description}")


def decided(made: Mutation, needs: tuple[str, ...], texts: tuple[str, ...] = ()) -> Mutation:
    """Decide whether a removed key or a hostile text is a mistake in this kind of file."""
    if not made.key:
        return made
    is_removed = made.description.endswith(" removed")
    return made._replace(wrong=made.key[-1] in needs if is_removed else made.key[-1] not in texts)


def faults_after(made: Mutation, call: Callable[..., Answer], words: str) -> list[str]:
    """Write the mutation, run a command on it, and return the faults of its output."""
    Path("mutated.toml").write_bytes(made.content)
    with time_limit():
        answer = call(*words.split())
    found = faults_of(answer)
    if made.wrong and answer.status != 2:
        found.append("accepted")
    if answer.status == 2 and "mutated.toml" not in answer.problems:
        found.append(f"the sentence does not say where: {answer.problems}")
    return [f"{made.description}: {fault}" for fault in found]
