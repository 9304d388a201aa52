"""Mutations of a dataset's folder, as by faulty disks, other programs or an attacker."""

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from mutated import HOSTILE_TEXTS, at, flip, generator, leaves_of, replace, truncate
from tussle.dataset import TABLES

PROVENANCE = "provenance.json"
SCENARIO = "scenario.toml"
FILES = [SCENARIO, *(table.file_name for table in TABLES.values())]


class Mutation(NamedTuple):
    """A change made to a dataset."""

    description: str
    wrong: bool
    """Whether every command has to refuse it."""
    names: str = ""
    """Text that the error message must contain besides the file, if known."""


class Target(NamedTuple):
    """The folder to mutate, and that of another, intact dataset."""

    folder: Path
    other: Path


def mutate(number: int, target: Target) -> Mutation:
    """Apply the mutation with this number to the folder."""
    kind = KINDS[number % len(KINDS)]
    made = kind(generator("dataset", number), target)
    return made._replace(description=f"{number}: {kind.__name__}: {made.description}")


def digests_match(folder: Path) -> None:
    """Update the stored digests to the current files."""
    facts = json.loads((folder / PROVENANCE).read_text("utf-8"))
    facts["files_sha256"] = {name: sha256(folder / name) for name in facts["files_sha256"]}
    facts["scenario_sha256"] = sha256(folder / SCENARIO)
    (folder / PROVENANCE).write_text(json.dumps(facts), "utf-8")


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def flipped(rng: random.Random, target: Target) -> Mutation:
    return Mutation(flip(rng, target.folder / rng.choice(FILES)), wrong=True)


def truncated(rng: random.Random, target: Target) -> Mutation:
    return Mutation(truncate(rng, target.folder / rng.choice([*FILES, PROVENANCE])), wrong=True)


def truncated_with_digest(rng: random.Random, target: Target) -> Mutation:
    file = target.folder / rng.choice(FILES[1:])
    content = file.read_bytes()
    file.write_bytes(content[: rng.choice([0, 3, rng.randrange(len(content)), len(content) - 1])])
    digests_match(target.folder)
    return Mutation(file.name, wrong=True, names=file.name)


def no_parquet(rng: random.Random, target: Target) -> Mutation:
    file = target.folder / rng.choice(FILES[1:])
    file.write_bytes(rng.choice([b"run,flow\n0,0\n", b"PAR1" * 9, b"PAR1", b"\x00" * 99, b"{}"]))
    digests_match(target.folder)
    return Mutation(file.name, wrong=True, names=file.name)


def swapped(rng: random.Random, target: Target) -> Mutation:
    name = rng.choice(FILES)
    shutil.copy(target.other / name, target.folder / name)
    return Mutation(name, wrong=True)


def swapped_with_digest(rng: random.Random, target: Target) -> Mutation:
    name = rng.choice(FILES[1:])
    shutil.copy(target.other / name, target.folder / name)
    digests_match(target.folder)
    return Mutation(name, wrong=False)


def tables_exchanged(rng: random.Random, target: Target) -> Mutation:
    one, other = rng.sample(FILES[1:], 2)
    content = (target.folder / one).read_bytes()
    shutil.copy(target.folder / other, target.folder / one)
    (target.folder / other).write_bytes(content)
    digests_match(target.folder)
    return Mutation(f"{one} and {other}", wrong=True, names=".parquet")


def replaced(rng: random.Random, target: Target) -> Mutation:
    return Mutation(replace(rng, target.folder / rng.choice([*FILES, PROVENANCE])), wrong=True)


def rewritten(target: Target, name: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    file = target.folder / f"{name}.parquet"
    change(pl.read_parquet(file)).write_parquet(file)


def column_of(rng: random.Random) -> tuple[str, str]:
    table = rng.choice(list(TABLES.values()))
    return table.name, rng.choice(table.columns).name


def column_without_digest(rng: random.Random, target: Target) -> Mutation:
    name, column = column_of(rng)
    rewritten(target, name, lambda frame: frame.with_columns(pl.lit(None).alias(column)))
    return Mutation(f"{name}.{column}", wrong=True)


def column_removed(rng: random.Random, target: Target) -> Mutation:
    name, column = column_of(rng)
    rewritten(target, name, lambda frame: frame.drop(column))
    digests_match(target.folder)
    return Mutation(f"{name}.{column}", wrong=True, names=column)


def column_renamed(rng: random.Random, target: Target) -> Mutation:
    name, column = column_of(rng)
    new = rng.choice([f"{column}x", "", "RUN", *HOSTILE_TEXTS])
    rewritten(target, name, lambda frame: frame.rename({column: new}))
    digests_match(target.folder)
    return Mutation(f"{name}.{column} to {new[:20]!r}", wrong=True, names=column)


def column_retyped(rng: random.Random, target: Target) -> Mutation:
    name, column = column_of(rng)
    kind = rng.choice([pl.Int8, pl.List(pl.String), pl.Date, pl.Binary, pl.Struct({"a": pl.Int8}), pl.Null])
    rewritten(target, name, lambda frame: frame.with_columns(pl.lit(None).cast(kind).alias(column)))
    digests_match(target.folder)
    return Mutation(f"{name}.{column} as {kind}", wrong=True, names=column)


def column_added(rng: random.Random, target: Target) -> Mutation:
    name = rng.choice(["flows", "links", "events"])
    new = rng.choice(["x", *HOSTILE_TEXTS])
    rewritten(target, name, lambda frame: frame.with_columns(pl.lit(1.5).alias(new)))
    digests_match(target.folder)
    return Mutation(f"{name}.{new[:20]!r}", wrong=True, names=f"{name}.parquet")


def more_columns(rng: random.Random, target: Target) -> Mutation:
    """Add a column: valid as an axis or an internal of any name if its type fits."""
    name = rng.choice(["runs", "samples"])
    new, value = rng.choice(["x", *HOSTILE_TEXTS]), rng.choice([1.5, "[/red]\x1b[2J"])
    rewritten(target, name, lambda frame: frame.with_columns(pl.lit(value).alias(new)))
    digests_match(target.folder)
    return Mutation(f"{name}.{new[:20]!r}", wrong=isinstance(value, str) == (name == "samples"))


def cells(rng: random.Random, target: Target) -> Mutation:
    """Write values of the declared type that are not plausible."""
    name, column = column_of(rng)
    value = rng.choice([None, 0, float("nan"), float("inf"), -1.0, 1e308, 2**31])
    frame = pl.read_parquet(target.folder / f"{name}.parquet")
    if frame.schema[column] == pl.String:
        value = rng.choice([None, *HOSTILE_TEXTS])
    elif frame.schema[column] in (pl.UInt32, pl.UInt64):
        value = rng.choice([None, 0, 1, 99, 2**31, 2**32 - 1])
    where = rng.choice([pl.lit(value=True), pl.int_range(pl.len()) == 0])
    changed = pl.when(where).then(pl.lit(value)).otherwise(pl.col(column))
    rewritten(
        target, name, lambda frame: frame.with_columns(changed.cast(frame.schema[column]).alias(column))
    )
    digests_match(target.folder)
    declared = next(each for each in TABLES[name].columns if each.name == column)
    empty = value is None and declared.nulls is None and frame.height > 0
    return Mutation(f"{name}.{column} = {value!r:.30}", wrong=empty, names=column if empty else "")


def rows(rng: random.Random, target: Target) -> Mutation:
    name = rng.choice(list(TABLES))
    change = rng.choice(["none", "one", "tripled", "reversed", "last"])
    changes: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
        "none": lambda frame: frame.clear(),
        "one": lambda frame: frame.head(1),
        "tripled": lambda frame: pl.concat([frame] * 3),
        "reversed": lambda frame: frame.reverse(),
        "last": lambda frame: frame.tail(1),
    }
    rewritten(target, name, changes[change])
    digests_match(target.folder)
    wrong = name == "runs" or (name == "flows" and change != "reversed")
    return Mutation(f"{name}: {change}", wrong, names=f"{name}.parquet" if name == "flows" and wrong else "")


def provenance(rng: random.Random, target: Target) -> Mutation:
    facts = json.loads((target.folder / PROVENANCE).read_text("utf-8"))
    path = rng.choice(leaves_of(facts) + [(key,) for key in facts])
    values: list[Any] = [None, 0, -1, 1e308, True, [], {}, [[]], {"a": {}}, 10**400, *HOSTILE_TEXTS]
    value = rng.choice(values)
    at(facts, path[:-1])[path[-1]] = value
    (target.folder / PROVENANCE).write_text(json.dumps(facts), "utf-8")
    must_refuse = path[0] in ("format", "scenario_sha256", "files_sha256")
    return Mutation(f"{path} = {str(value)[:20]!r}", wrong=must_refuse and value != 1)


def provenance_key(rng: random.Random, target: Target) -> Mutation:
    facts = json.loads((target.folder / PROVENANCE).read_text("utf-8"))
    path = rng.choice(leaves_of(facts) + [(key,) for key in facts])
    value = at(facts, path[:-1]).pop(path[-1])
    new = rng.choice([None, None, f"{path[-1]}x", "flows/part-00001.parquet", *HOSTILE_TEXTS])
    if new is not None:
        at(facts, path[:-1])[new] = value
    (target.folder / PROVENANCE).write_text(json.dumps(facts), "utf-8")
    must_refuse = path[0] not in ("seed", "host", "own_algorithms_sha256")
    more = path[1:2] in (("version",), ("build",))
    return Mutation(f"{path} to {new and new[:20]!r}", wrong=must_refuse and not more)


def scenario(rng: random.Random, target: Target) -> Mutation:
    """Replace the scenario by another than the one that was run, or remove it."""
    file = target.folder / SCENARIO
    text = file.read_text("utf-8")
    changes = [
        ('duration = "6s"', 'duration = "-6 s"'),
        ('duration = "6s"', 'duration = "60 h"'),
        ('"reno"', '"\\u001b[2J"'),
        ('"reno"', '"nowhere.py:Mine"'),
        ("question =", "name ="),
        ("question =", 'question = "[/red]<script>\\u001b[2J"\n#'),
        ("[[flows]]", "[[cases]]"),
        ('profile = "lan"', 'profile = "dsl"'),
        ('profile = "lan"', 'trace = "/dev/zero"'),
        ("repetitions = 1", "repetitions = 7"),
        (text, ""),
        (text, "\x00"),
    ]
    old, new = rng.choice([(old, new) for old, new in changes if old in text])
    file.write_text(text.replace(old, new), "utf-8")
    digests_match(target.folder)
    harmless = ("60 h", "[/red]", "dsl", "nowhere", "= 7")
    return Mutation(f"{old[:20]!r} to {new!r}", wrong=not any(each in new for each in harmless))


def names(rng: random.Random, target: Target) -> Mutation:
    name, column = rng.choice(
        [("flows", "name"), ("flows", "algorithm"), ("links", "link"), ("events", "kind"), ("flows", "path")]
    )
    text = rng.choice(HOSTILE_TEXTS)
    rewritten(target, name, lambda frame: frame.with_columns(pl.lit(text).alias(column)))
    digests_match(target.folder)
    return Mutation(f"{name}.{column} = {text[:20]!r}", wrong=False)


KINDS: list[Callable[[random.Random, Target], Mutation]] = [
    flipped,
    truncated,
    truncated_with_digest,
    no_parquet,
    swapped,
    swapped_with_digest,
    tables_exchanged,
    replaced,
    column_without_digest,
    column_removed,
    column_renamed,
    column_retyped,
    column_added,
    more_columns,
    cells,
    rows,
    provenance,
    provenance_key,
    scenario,
    names,
]
