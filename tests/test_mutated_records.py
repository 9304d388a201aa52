"""Mutated records of `tussle serve` and results of `tussle suite`: used or refused, and nothing crashes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commandline import Answer
from joined import finished, sending, serving
from mutated import HOSTILE_TEXTS, at, damage, faults_of, generator, leaves_of, mutations, time_limit

PARTIAL = "out.partial"


@pytest.fixture(scope="module")
def received(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that a server wrote about two clients before it was killed."""
    folder = tmp_path_factory.mktemp("received")
    with serving(None, folder / "out", clients=2) as server:
        for _ in range(2):
            finished(sending(None, server, for_s=1))
        server.wait()
    return folder / PARTIAL


def test_mutated_records_of_a_server_are_finished_or_refused_with_messages(
    received: Path, tussle_: Callable[..., Answer]
):
    found: list[str] = []
    for number in mutations(full=200, every=20):
        shutil.copytree(received, PARTIAL)
        made = record_mutation(number, Path(PARTIAL))
        with time_limit():
            answer = tussle_("serve", "--finish", "-o", "out")
        faults = faults_of(answer)
        if Path("out").exists() == (answer.status == 2):
            faults.append(f"status {answer.status}, and out exists: {Path('out').exists()}")
        found += [f"{number}: {made}: {fault}" for fault in faults]
        for folder in (PARTIAL, "out"):
            shutil.rmtree(folder, ignore_errors=True)
    assert "\n".join(found) == ""


def record_mutation(number: int, folder: Path) -> str:
    """Apply the mutation with this number to a server's files, and describe it."""
    rng = generator("record", number)
    file = rng.choice(sorted(folder.glob("*.arrow")))
    if number % 2:
        return damage(rng, file)
    table = pl.read_ipc_stream(file)
    column = rng.choice(table.columns)
    kind = table.schema[column]
    values: list[Any] = HOSTILE_TEXTS if kind in (pl.String, pl.Categorical) else [0, 1, -1, 2**31, 1e308]
    value = rng.choice([None, float("nan"), *values])
    changes: dict[str, Callable[[], pl.DataFrame]] = {
        "removed": lambda: table.drop(column),
        "renamed": lambda: table.rename({column: rng.choice([f"{column}x", *HOSTILE_TEXTS[:8]])}),
        "retyped": lambda: table.with_columns(pl.lit(None, pl.List(pl.Int8)).alias(column)),
        "added": lambda: table.with_columns(pl.lit(1.5).alias(rng.choice(["x", *HOSTILE_TEXTS]))),
        "tripled": lambda: pl.concat([table] * 3),
        "emptied": table.clear,
        "last": lambda: table.tail(1),
        "set": lambda: table.with_columns(pl.lit(value).cast(kind, strict=False).alias(column)),
    }
    change = rng.choice([*changes, "set", "set"])
    changes[change]().write_ipc_stream(file)
    return f"{file.name}: {column} {change} {str(value)[:20]!r}"


def test_a_mutated_result_of_a_suite_is_compared_or_refused_with_messages(tussle_: Callable[..., Answer]):
    suite = "suite rfc9743 --only persistent-loss --algorithm reno --workers 1 -o whole"
    assert tussle_(*suite.split()).status in (0, 1)
    result = Path("whole/verdicts.json").read_text("utf-8")
    found: list[str] = []
    for number in mutations(full=400, every=8):
        Path("mutated").mkdir()
        made = result_mutation(number, result, Path("mutated/verdicts.json"))
        for words in (["mutated", "whole"], ["whole", "mutated", "--json"]):
            with time_limit():
                answer = tussle_("compare", *words)
            faults = faults_of(answer)
            found += [f"{number}: {made}, {words[0]}: {fault}" for fault in faults]
        shutil.rmtree("mutated")
    assert "\n".join(found) == ""


def result_mutation(number: int, result: str, file: Path) -> str:
    """Write the mutation with this number of a suite's result, and describe it."""
    rng = generator("result", number)
    if number % 5 == 0:
        file.write_text(result, "utf-8")
        return damage(rng, file)
    facts = json.loads(result)
    path = rng.choice(leaves_of(facts) + [(key,) for key in facts])
    table, key = at(facts, path[:-1]), path[-1]
    values: list[Any] = [None, 0, -1, 1e308, True, [], {}, [[]], 10**400, *HOSTILE_TEXTS]
    value = rng.choice(values)
    match rng.choice(["set", "set", "removed", "renamed"]):
        case "removed":
            del table[key]
        case "renamed" if isinstance(table, dict):
            table[f"{key}x"] = table.pop(key)
        case _:
            table[key] = value
    file.write_text(json.dumps(facts), "utf-8")
    return f"{path} = {str(value)[:20]!r}"


@pytest.mark.parametrize("time_s", [float("nan"), -1.0, 1e12])
def test_a_flow_with_an_impossible_time_is_left_out(
    received: Path, tussle_: Callable[..., Answer], time_s: float
):
    shutil.copytree(received, PARTIAL)
    file = Path(PARTIAL) / "flows.arrow"
    flows = pl.read_ipc_stream(file)
    wrong = pl.when(pl.col("flow") == 0).then(time_s).otherwise("complete_s").alias("complete_s")
    flows.with_columns(wrong).write_ipc_stream(file)
    answer = tussle_("serve", "--finish", "-o", "out")
    assert answer.status == 0
    assert f"is left out: complete_s cannot be {time_s:g}" in answer.out
