"""Write docs/reference from the code, the manual page, and the number of algorithms in the README.

`python tools/reference.py`; `--check` only compares.
"""

import argparse
import ast
import inspect
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import api_reference
import example_pictures
import json_reference
import man_page
import python_types
import rust_types
from commands import Described, commands
from tussle import _core, algorithm, units
from tussle.catalog import catalog
from tussle.dataset import FORMAT, OPTIONAL_TABLES, RUNS_A_PART, TABLES
from tussle.figures import REGISTRY as FIGURES
from tussle.host_profiles import host_profiles
from tussle.metrics import REGISTRY as METRICS
from tussle.profiles import profiles
from tussle.scenario import Scenario, ready_scenarios
from tussle.scenario.application_kinds import APPLICATIONS
from tussle.scenario.element_kinds import ELEMENTS
from tussle.scenario.queue_kinds import QUEUES
from tussle.suites import (
    CaseResult,
    Claim,
    CriterionResult,
    Number,
    Suite,
    SuiteResult,
    limit_words,
    suites,
)

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
IMAGES = ROOT / "docs" / "images" / "reference"
MANUAL = ROOT / "packaging" / "data" / "share" / "man" / "man1" / "tussle.1"
"""The manual page, in the folder that a wheel adds to the environment where it is installed."""
README = ROOT / "README.md"
_WRITTEN_BY_HAND = ("glossary.md",)
_ORIGIN = "<!-- Written by tools/reference.py from the code (`make docs`). Change it there. -->"

Schema = dict[str, Any]

_COLUMNS = ("key", "meaning", "value", "list", "default")
_KINDS = {"queue": QUEUES, "elements": ELEMENTS, "application": APPLICATIONS}
_DESCRIBED_ELSEWHERE = {
    "[path.reverse.queue]": "The settings are those of `[path.queue]`.",
    "[[path.reverse.elements]]": "The settings are those of `[[path.elements]]`.",
    "[path.reverse.arq]": "The settings are those of `[path.arq]`.",
    "[path.reverse.wifi]": "The settings are those of `[path.wifi]`.",
    "[flows.receiver_access]": "The settings are those of `[flows.access]`.",
    "[flows.sender]": "The settings are those of `[hosts]`.",
    "[flows.receiver]": "The settings are those of `[hosts]`.",
}


def pages() -> dict[str, str]:
    """Return every page by its file name."""
    written = {file: page() for file, page in _PAGES.items()}
    by_hand = {file: (FOLDER / file).read_text("utf-8") for file in _WRITTEN_BY_HAND}
    titles = {file: text.splitlines()[0].removeprefix("# ") for file, text in (written | by_hand).items()}
    lines = [f"- [{title}]({file})" for file, title in titles.items()]
    lead = (
        "These pages describe every command, key, column, metric and figure. All but the glossary are "
        "generated from the code."
    )
    index = _page("Reference", lead, "\n".join(lines))
    return {"index.md": index, **written}


def stale() -> list[str]:
    """Return the names of stale pages, of missing pictures, and of superfluous files."""
    files = (file for file in FOLDER.glob("*.md") if file.name not in _WRITTEN_BY_HAND)
    present = {file.name: file.read_text("utf-8") for file in files}
    wanted = pages()
    changed = {name for name in present.keys() | wanted if present.get(name) != wanted.get(name)}
    changed |= {file.name for file, text in _other_files() if not _is_current(file, text)}
    return sorted(changed | (example_pictures.names() ^ {file.name for file in IMAGES.glob("*")}))


def _other_files() -> Iterator[tuple[Path, str]]:
    """Yield the files outside `docs/reference`, with their text."""
    yield MANUAL, man_page.page()
    yield README, _counted(README.read_text("utf-8"), len(catalog().algorithms))


def _is_current(file: Path, text: str) -> bool:
    return file.exists() and file.read_text("utf-8") == text


def _counted(readme: str, algorithms: int) -> str:
    """Write the number of algorithms into the README, which names three of them in its first sentence."""
    more = re.sub(r"\b\d+ more algorithms", f"{algorithms - 3} more algorithms", readme)
    return re.sub(r"\*\*\d+ algorithms\*\*", f"**{algorithms} algorithms**", more)


def _page(title: str, *blocks: str) -> str:
    return "\n\n".join([f"# {title}", _ORIGIN, *blocks]) + "\n"


def _table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    header = list(header)
    lines = [header, ["---"] * len(header), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def _definitions(entries: Iterable[tuple[str, object]]) -> str:
    return "\n".join(f"- {name}: {_cell(value)}" for name, value in entries)


def _cli() -> str:
    blocks = [block for command in commands() for block in _command(command)]
    return _page(
        "The command `tussle`",
        "`man tussle` shows this page where a wheel is installed; in a checkout, "
        "`man packaging/data/share/man/man1/tussle.1`.",
        *blocks,
    )


def _command(command: Described) -> Iterator[str]:
    yield f"## {command.name}"
    yield f"```\n{command.usage}\n```"
    yield command.about
    if command.parameters:
        rows = (
            (f"`{each.spelling}`", each.about, f"`{each.default}`" if each.is_literal else each.default)
            for each in command.parameters
        )
        yield _table(["argument or option", "meaning", "default"], rows)


def _scenario() -> str:
    schema = Scenario.model_json_schema()
    blocks = [block for table in _tables(schema, schema) for block in table]
    return _page(
        "Scenario files",
        "A scenario is a TOML file. Where the column *list* says yes, the value may be a list, which makes "
        "one run for each value; several lists make one run for each combination. A key whose default is "
        "*required* must be given. Unknown keys are refused. "
        "`tussle scenario check FILE` prints the runs that a file describes, `tussle scenario schema` prints "
        "the JSON schema, and [the ready scenarios](scenarios.md) are examples.",
        "## Units",
        _table(["quantity", "example", "units"], _units()),
        *blocks,
    )


def _units() -> Iterator[tuple[str, str, str]]:
    for dimension in (units.RATE, units.TIME, units.SIZE, units.FRACTION, units.BUFFER):
        yield dimension.name, f'`"{dimension.example}"`', f"`{'`, `'.join(dimension.advertised.split(', '))}`"


def _tables(root: Schema, table: Schema, key: str = "") -> Iterator[list[str]]:
    """Yield the blocks of a table of the schema, then those of its subtables; `key` is its TOML header."""
    rows, inner, kinds = [], [], []
    for name, field in table["properties"].items():
        single, is_list = _single(field)
        below = f"{key.strip('[]')}.{name}".lstrip(".")
        header = f"[[{below}]]" if _is_list_of_tables(field) else f"[{below}]"
        if _kinds_of(field):
            kinds.append((header, [_defined(root, each) for each in _kinds_of(field)], field["description"]))
        elif "$ref" in single:
            inner.append((header, _defined(root, single), field["description"]))
        else:
            rows.append(_row(name, field, is_list=is_list, is_required=name in table.get("required", [])))
    heading = f"## `{key}`" if key else "## Top level"
    shown = [_table(_COLUMNS, rows)] if rows else []
    yield [heading, table.get("description", ""), *shown]
    for header, classes, purpose in kinds:
        yield from _kind_tables(header, classes, purpose)
    for header, below, purpose in inner:
        if header in _DESCRIBED_ELSEWHERE:
            yield _elsewhere(header, purpose)
            continue
        # The first sentence on a table used in several places is too general for this one.
        about = _in_place(purpose, below["description"]) if _is_shared(below) else below["description"]
        yield from _tables(root, {**below, "description": about}, header)


def _in_place(purpose: str, description: str) -> str:
    """Return what a table is for in its place, and all but the first sentence of its own description."""
    _, _, further = description.partition(". ")
    return f"{' '.join(purpose.split())} {further}"


def _elsewhere(header: str, purpose: str) -> list[str]:
    return [f"## `{header}`", f"{' '.join(purpose.split())} {_DESCRIBED_ELSEWHERE[header]}"]


def _row(name: str, field: Schema, *, is_list: bool, is_required: bool = False) -> tuple[str, ...]:
    single, _ = _single(field)
    if isinstance(field.get("examples", [None])[0], str):
        single = {**single, "examples": field["examples"]}
    written = "required" if is_required or field.get("x-needed") else _written_default(field)
    return f"`{name}`", field["description"], _values(single), "yes" if is_list else "", written


def _kinds_of(field: Schema) -> list[Schema]:
    """Return the alternative tables of a key, one per kind and one for several; empty if only one fits."""
    first = _alternatives(field)[0]
    tables = [each for each in _alternatives(first.get("items", field)) if "$ref" in each]
    return tables if len(tables) > 1 else []


def _defined(root: Schema, reference: Schema) -> Schema:
    return root["$defs"][reference["$ref"].rpartition("/")[2]]


def _kind_tables(header: str, classes: list[Schema], purpose: str) -> Iterator[list[str]]:
    """Yield the blocks of a table whose settings depend on its kind; the last class is for several kinds."""
    *kinds, of_several = classes
    known = _KINDS[header.strip("[]").rpartition(".")[2]]
    about = _in_place(purpose, inspect.cleandoc(known.base.__doc__ or ""))
    if header in _DESCRIBED_ELSEWHERE:
        yield _elsewhere(header, purpose)
        return
    names = ", ".join(f'`"{kind}"`' for kind in known.by_name)
    common = [("`kind`", of_several["properties"]["kind"]["description"], names, "yes", "")]
    shared = sorted(known.base.common - {"kind"})
    common += [_row(name, of_several["properties"][name], is_list=True) for name in shared]
    yield [f"## `{header}`", about, _table(_COLUMNS, common)]
    for kind, table in zip(known.by_name, kinds, strict=True):
        fields = {name: field for name, field in table["properties"].items() if name not in known.base.common}
        rows = [_row(name, field, is_list=True) for name, field in fields.items()]
        yield [f'### `kind = "{kind}"`', table["description"], _table(_COLUMNS, rows)]


def _is_shared(table: Schema) -> bool:
    return json.dumps(Scenario.model_json_schema()).count(f'"#/$defs/{table["title"]}"') > 1


def _alternatives(field: Schema) -> list[Schema]:
    return [each for each in field.get("anyOf", [field]) if each.get("type") != "null"]


def _is_list_of_tables(field: Schema) -> bool:
    return _alternatives(field)[0].get("type") == "array"


def _single(field: Schema) -> tuple[Schema, bool]:
    """Return the schema of one value, and whether a list of such values is also allowed."""
    alternatives = _alternatives(field)
    if alternatives[0].get("type") == "array":
        return alternatives[0]["items"], False
    is_list = any(each.get("type") == "array" for each in alternatives)
    return alternatives[0], is_list


def _values(single: Schema) -> str:
    if "additionalProperties" in single:
        return "a list of tables" if single["additionalProperties"] is True else "a table of whole numbers"
    if "enum" in single:
        return ", ".join(f'`"{each}"`' for each in single["enum"])
    if "examples" in single:
        return "like " + ", ".join(f'`"{each}"`' for each in single["examples"])
    if single.get("type") == "boolean":
        return "`true`, `false`"
    if single.get("type") == "integer":
        return f"{single['minimum']} to {single['maximum']}"
    return "text"


def _written_default(field: Schema) -> str:
    """Return a default that is a value; the description explains other defaults."""
    default = field.get("default")
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return "" if default in (None, {}) else f'`"{default}"`' if isinstance(default, str) else f"`{default}`"


def _algorithms() -> str:
    blocks = []
    for entry in catalog().algorithms.values():
        facts = [("Source", entry["source"]), ("Agrees with", entry["agrees_with"])]
        if (ROOT / "docs" / "deviations" / f"{entry['name']}.toml").exists():
            facts.append(("Departs", f"see [departures](deviations.md#{entry['name']})"))
        blocks += [f"## {entry['name']}", entry["idea"], _definitions(facts)]
        if entry["parameters"]:
            rows = [
                (f"`{p['name']}`", p["meaning"], p["default"], p["min"], p["max"])
                for p in entry["parameters"]
            ]
            blocks.append(_table(["parameter", "meaning", "default", "smallest", "largest"], rows))
    lead = (
        "These are the values of `algorithm` in a scenario. The key `parameters` sets their parameters, "
        "which are those of Linux where Linux has the algorithm. *Agrees with* names what the "
        "simulator follows."
    )
    return _page("Algorithms", lead, *blocks)


def _own_algorithms() -> str:
    source = ast.parse(Path(algorithm.__file__).read_text("utf-8"))
    base = next(each for each in source.body if isinstance(each, ast.ClassDef))
    stub = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text("utf-8"))
    of_class = list(python_types.members(base))
    blocks = []
    for view in (algorithm.Ack, algorithm.Lost, algorithm.Flow, algorithm.Control):
        shown = _members(python_types.visible(view, stub))
        blocks += [f"## {view.__name__}", inspect.cleandoc(view.__doc__ or ""), shown]
    return _page(
        "Your own algorithms",
        "The module `tussle.algorithm` defines the hooks of an algorithm in Python, and their arguments. "
        "[Your own algorithm](../tutorial/your-own-algorithm.md) is an example.",
        ast.get_docstring(source) or "",
        "## Algorithm",
        ast.get_docstring(base) or "",
        _members(each for each in of_class if each.is_hook),
        _members(each for each in of_class if not each.is_hook),
        "## Causes and states",
        _members(python_types.members(source)),
        *blocks,
    )


def _api() -> str:
    return _page(
        "The Python API",
        "This page describes what `import tussle` offers. "
        "[A notebook](../notebooks/a-first-comparison.ipynb) shows it in use. "
        "Errors name options of the command line, such as `--workers`; the keyword has the same name.",
        *api_reference.blocks(),
    )


def _gym() -> str:
    return _page(
        "Environments for learning",
        "This page describes what `import tussle.gym` offers. "
        "[Train an algorithm](../how-to/train-an-algorithm.md) shows it in use.",
        *api_reference.gym_blocks(),
    )


def _members(members: Iterable[python_types.Member]) -> str:
    rows = ((f"`{each.name}{each.written}`", each.about) for each in members)
    return _table(["name", "meaning"], rows)


def _queues() -> str:
    rows = [(f"`{each['name']}`", each["idea"], each["source"]) for each in catalog().queues.values()]
    lead = "These are the values of `queue.kind` in a scenario."
    return _page("Queues", lead, _table(["queue", "principle", "source"], rows))


def _settings(element: str) -> list[str]:
    return ELEMENTS.settings(element) if element in ELEMENTS.by_name else []


def _elements() -> str:
    rows = [
        (f"`{name}`", each["idea"], ", ".join(f"`{setting}`" for setting in _settings(name)))
        for name, each in catalog().elements.items()
    ]
    return _page(
        "Elements",
        "Elements are the parts of a path. Elements with settings are the values of `kind` in "
        "`[[path.elements]]` of a scenario; the others have keys of their own: `rate` (`link`), `trace`, "
        "`arq`, `wifi`, `hosts.noise` (`processing`), `access.delay` (`delay`) and `loss`. "
        "[Paths](../explanation/paths.md) explains their models.",
        _table(["element", "what it does", "settings"], rows),
    )


def _profiles() -> str:
    blocks = []
    for profile in profiles().values():
        rows = [(f"`{key}`", f"`{value}`") for key, value in _flat(profile.path)]
        blocks += [f"## {profile.name}", profile.about, _table(["key", "value"], rows), profile.source]
    return _page(
        "Profiles",
        "A profile is a named path. Its values apply to settings that a scenario with this `path.profile` "
        "omits.",
        *blocks,
    )


def _host_profiles() -> str:
    blocks = []
    for profile in host_profiles().values():
        rows = [
            (f"`{key}`", f"`{json.dumps(value)}`", profile.sources[key])
            for key, value in profile.values.items()
        ]
        blocks += [f"## {profile.name}", profile.about, _table(["key", "value", "source"], rows)]
    return _page(
        "Host profiles",
        "A host profile is a named set of settings of hosts: the values that `profile` in `[hosts]` gives to "
        "settings that a scenario leaves out.",
        *blocks,
    )


def _flat(table: dict[str, Any], prefix: str = "path.") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _metrics() -> str:
    blocks = []
    for metric in METRICS.values():
        facts = [
            ("Unit", metric.unit),
            ("One value for each", ", ".join(metric.per)),
            ("Better", metric.better),
        ]
        blocks += [f"## {metric.name}", metric.definition, _definitions([*facts, ("Source", metric.source)])]
        blocks.append(
            _picture(
                example_pictures.picture_of_metric(metric.name), f"An example of the metric {metric.name}"
            )
        )
    lead = (
        "A metric is a function from a dataset of any engine to a table of values. Most are computed over "
        "the [steady interval](../explanation/measuring.md#the-steady-interval). The pictures show small "
        "simulations."
    )
    return _page("Metrics", lead, *blocks)


def _figures() -> str:
    blocks = []
    for figure in FIGURES.values():
        tables = ", ".join(f"`{table}`" for table in ("runs", "flows", *figure.needs))
        other = " --beside OTHER" if figure.of == "several datasets" else ""
        command = f"```\ntussle plot DIR {figure.name}{other} -o {figure.name}.svg\n```"
        choice = f" `--metric` chooses what is shown (default: `{figure.metric}`)." if figure.metric else ""
        picture = _picture(f"figure-{figure.name}.png", f"An example of the figure {figure.name}")
        blocks += [
            f"## {figure.name}",
            figure.shows,
            picture,
            command,
            f"Reads the tables {tables}.{choice}",
        ]
    return _page(
        "Figures",
        "`tussle plot` draws these figures as SVG, PNG, PDF or HTML. The pictures show small simulations. "
        "`--from` and `--to` show a part of a time series. An algorithm has one colour in every figure; "
        "dashes and shapes tell lines and points apart on paper. "
        "`--metric` takes the name of a [metric](metrics.md) of flows or runs, or of one of its columns, "
        "such as `rtt_p95_ms`.",
        *blocks,
    )


def _picture(name: str, alternative: str) -> str:
    return f"![{alternative}](../images/reference/{name})"


def _scenarios() -> str:
    blocks = []
    for name, file in ready_scenarios().items():
        blocks += [f"## {name}", f"```toml\n{file.read_text('utf-8').strip()}\n```"]
    lead = (
        "A ready scenario comes with Tussle, and is named by the question that it answers: `tussle run NAME` "
        "runs it. The comment at its top says what theory expects."
    )
    return _page("Ready scenarios", lead, *blocks)


def _dataset() -> str:
    blocks = []
    for table in (TABLES | OPTIONAL_TABLES).values():
        rows = [
            (f"`{each.name}`", each.dtype.__name__, each.meaning, each.nulls or "") for each in table.columns
        ]
        if table.more:
            rows.append(("…", table.more.dtype.__name__, table.more.meaning, "not known"))
        columns = _table(["column", "type", "meaning", "empty where"], rows)
        blocks += [f"## {table.name}", f"`{table.file_name}`: {table.rows}.", columns]
    return _page(
        "Datasets",
        f"A dataset is the folder that `tussle run` and `tussle matrix` write (format {FORMAT}; 1 if no "
        "table is in parts). It has five Parquet tables, and `validity` where real hosts were measured; "
        "`scenario.toml` as it was run, with its recordings in `recordings`; and `provenance.json` with "
        "versions, seed, engine, host, digests of the files, and the command that reproduces them. Column "
        "names contain the units.",
        f"With more than {RUNS_A_PART} runs, each table is a folder of files with {RUNS_A_PART} runs each: "
        "`flows/part-00000.parquet` and so on. The digest of the table is the same as that of one file.",
        *blocks,
    )


def _run() -> str:
    sources = ROOT / "crates" / "tussle-core" / "src"
    files = [
        sources / "run" / "mod.rs",
        *sorted({*sources.glob("run/*.rs")} - {sources / "run" / "mod.rs"}),
        sources / "util" / "distribution.rs",
        *sorted(sources.glob("net/path/*.rs")),
        *sorted(sources.glob("net/queue/*.rs")),
    ]
    blocks = []
    for file in files:
        kind = f'`kind = "{file.stem}"`, in {file.parent.name}/{file.name}'
        for declared in rust_types.serialized(file.read_text("utf-8")):
            rows = [
                (f"`{name}`", f"`{type_}`" if type_ else "", about) for name, type_, about in declared.parts
            ]
            title = f"## {kind}" if declared.name == "Spec" else f"## {declared.name}"
            blocks += [title, declared.about, _table(["field", "type", "meaning"], rows)]
    return _page(
        "Runs",
        "A run is one resolved point of a scenario, as JSON: the input of an engine. This page is for "
        "authors of engines; users write scenarios. Numbers are in SI units; unknown fields are refused.",
        *blocks,
    )


def _suites() -> str:
    blocks = []
    for suite in map(Suite.load, suites()):
        rows = [
            (
                f"`{each.name}`",
                each.section,
                each.strength,
                each.says,
                "; ".join(_limit(claim) for claim in each.claims) or "-",
            )
            for each in suite.criteria
        ]
        header = ["criterion", "section", "strength", "what it asks", "passes with"]
        sources = "\n".join(f"- {source}" for source in (*suite.sources, *suite.differs))
        blocks += [
            f"## {suite.name}",
            f"{suite.title}{'' if suite.title.endswith('?') else '.'} {suite.about}",
            sources,
            _table(header, rows),
        ]
    blocks += [
        "## verdicts.json",
        "`tussle suite` writes this file into the folder of its results, and `--json` prints it. "
        "`tussle compare` reads it.",
    ]
    for record in (SuiteResult, CriterionResult, CaseResult, Number):
        fields = record.model_fields.items()
        about = inspect.cleandoc(record.__doc__ or "")
        rows = [(f"`{name}`", field.description or "") for name, field in fields]
        blocks += [f"### {record.__name__}", about, _table(["key", "meaning"], rows)]
    return _page(
        "Suites",
        "`tussle suite NAME --algorithm X` tests an algorithm against the criteria of a document "
        "([how](../how-to/suites.md)). This page lists all suites and criteria, and describes the results. A "
        "threshold is Tussle's own where the document gives none; the results name the source of each. *That "
        "of a standard algorithm* is the value with the reference, Reno or CUBIC, in the place of the tested "
        "algorithm, and *that of the victim's own kind* the value with the victim's algorithm there. *Its "
        "own value in the test X* is the tested algorithm's value in another test.",
        *blocks,
    )


def _limit(claim: Claim) -> str:
    rivals = {"any": "a standard algorithm", "victim": "the victim's own kind"}
    named = claim.against or rivals.get(claim.reference or "", claim.reference)
    return f"{claim.words} {limit_words(claim, [named] if named else [])}"


def _json() -> str:
    blocks = [
        block
        for title, about, rows in json_reference.sections()
        for block in (title, about, _table(["key", "type", "meaning"], rows))
    ]
    return _page(
        "JSON output",
        "With `--json`, `tussle run`, `tussle matrix`, `tussle compare` and `tussle agree` print one "
        "document to the standard output, and no tables. Notes, progress and errors go to the standard "
        "error. The exit status is that of the command without `--json`.",
        "`format` names the document and its version. A new key does not change the version; a key that is "
        "renamed, removed or means something else does. Names of quantities are columns of "
        "[metrics](metrics.md), and contain the units. `tussle suite --json` prints "
        "[the verdicts](suites.md#verdictsjson), and `tussle list --json` all facts about each name.",
        *blocks,
    )


def _deviations() -> str:
    blocks = []
    for file in sorted((ROOT / "docs" / "deviations").glob("*.toml")):
        rows = [
            (each["what"], each["why"], each["size"])
            for each in tomllib.loads(file.read_text("utf-8"))["departure"]
        ]
        blocks += [f"## {file.stem}", _table(["what", "why", "how much it matters"], rows)]
    return _page(
        "Departures from Linux 6.1",
        "This page lists every known difference between an algorithm, the simulated sender or the kernel "
        "engine and what it follows: Linux 6.1, a draft or a paper. Each has its reason and its size. The "
        "tables come from `docs/deviations`.",
        *blocks,
    )


_PAGES: dict[str, Callable[[], str]] = {
    "cli.md": _cli,
    "api.md": _api,
    "gym.md": _gym,
    "scenario.md": _scenario,
    "scenarios.md": _scenarios,
    "profiles.md": _profiles,
    "host-profiles.md": _host_profiles,
    "algorithms.md": _algorithms,
    "own-algorithms.md": _own_algorithms,
    "queues.md": _queues,
    "elements.md": _elements,
    "deviations.md": _deviations,
    "metrics.md": _metrics,
    "figures.md": _figures,
    "dataset.md": _dataset,
    "json.md": _json,
    "run.md": _run,
    "suites.md": _suites,
}


def main() -> None:
    """Write the pages, or print which are stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is not current")
    if not parser.parse_args().check:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for file in FOLDER.glob("*.md"):
            if file.name not in _WRITTEN_BY_HAND:
                file.unlink()
        for name, text in pages().items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        for file, text in _other_files():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        example_pictures.draw_into(IMAGES)
    elif names := stale():
        sys.exit(f"the reference is not current ({', '.join(names)}): run `make docs`")


if __name__ == "__main__":
    main()
