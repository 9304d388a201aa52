"""Write the page of a suite in docs/suites: its verdicts on every algorithm of an engine.

`python tools/suite_pages.py SUITE DIR`: the suite, and the folder of its results. Finished runs are kept.
`--only A,B` runs these algorithms only; the others keep their columns of the page, if it is of the same files
of the suite and the same version. The page names the algorithms without a column as not measured yet. With
`--engine kernel` the page has Linux's algorithms, and says where the simulator's verdicts differ.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tussle
from tussle.catalog import catalog, groups
from tussle.suites import Suite, SuiteResult, Verdict, read_result

PAGES = Path(__file__).resolve().parent.parent / "docs" / "suites"
MARKS: dict[Verdict, str] = {"pass": "✓", "look": "?", "fail": "✗"}
NOT_MEASURED = "Not measured yet: "
COMMAND = "import sys; sys.argv[0] = 'tussle'; from tussle.cli import main; main()"


@dataclass(frozen=True)
class EnginePage:
    """What differs between the pages of two engines."""

    suffix: str
    """The end of the page's name."""
    words: str
    """The engine in words."""
    command: str
    """The command that writes the page."""
    option: str
    """The option of `tussle suite` that chooses the engine."""


ENGINES = {
    "sim": EnginePage("", "simulator", "make suites", ""),
    "kernel": EnginePage("-linux", "Linux 6.1 in virtual time", "make suites-on-linux", " --engine kernel"),
}


@dataclass(frozen=True)
class Column:
    """The results of an algorithm on a page."""

    algorithm: str
    marks: dict[str, str]
    """The mark of each tested criterion, by its name."""
    failures: tuple[str, ...]
    """The lines about what fails."""


def main() -> None:
    """Run the suite on each algorithm, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", default=None, help="number of parallel runs")
    parser.add_argument("--write", action="store_true", help="write the page only")
    parser.add_argument("--only", default="", help="the algorithms to run, separated by commas")
    parser.add_argument("--engine", choices=ENGINES, default="sim")
    given = parser.parse_args()
    suite = Suite.load(given.suite)
    own = [*suite.references]
    able = groups()["linux"].algorithms if given.engine == "kernel" else list(catalog().algorithms)
    names = own + [name for name in able if name not in own]
    only = [name for name in given.only.split(",") if name]
    if unknown := set(only) - set(names):
        sys.exit(f"--only: there is no algorithm {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    page = PAGES / f"{suite.name}{ENGINES[given.engine].suffix}.md"
    kept = columns_of_page(suite, page)
    outdated = (
        f"{page} is of other files of the suite, or of another version; run `make suites` without ALGORITHMS"
    )
    if only and page.exists() and not kept:
        sys.exit(outdated)
    for name in [] if given.write else only or names:
        share_references(suite, name, given.folder)
        run(suite, name, given)
    found = kept | columns_of_results(suite, given.folder, names)
    if given.write and page.exists() and not found:
        print(outdated)
        return
    columns = [found[name] for name in names if name in found]
    missing = [name for name in names if name not in found]
    PAGES.mkdir(exist_ok=True)
    page.write_text("\n".join(lines(suite, columns, missing, given.engine)) + "\n", "utf-8")
    print(page)


def columns_of_results(suite: Suite, folder: Path, names: Sequence[str]) -> dict[str, Column]:
    """Return the columns of the algorithms with results in a folder."""
    measured = [name for name in names if (folder / name / "verdicts.json").exists()]
    return {name: column_of(suite, read_result(folder / name)) for name in measured}


def column_of(suite: Suite, result: SuiteResult) -> Column:
    """Return the column of a result."""
    verdicts: dict[str, Verdict] = {each.name: each.verdict for each in result.criteria}
    marks = {each.name: MARKS.get(verdicts[each.name], "-") for each in suite.criteria if each.claims}
    counts = [f"{count} {name}" for name in MARKS if (count := result.count(name))]
    failed = [f"- {each.name}: {each.why}" for each in result.criteria if each.verdict == "fail"]
    return Column(result.algorithm, marks, (", ".join(counts) + ".", *(["", *failed] if failed else [])))


def columns_of_page(suite: Suite, page: Path) -> dict[str, Column]:
    """Return the columns of an existing page; none if the suite or Tussle changed since."""
    text = page.read_text("utf-8") if page.exists() else ""
    if not all(same in text for same in (digest_words(suite), version_words())):
        return {}
    marks = marks_of_page(text)
    algorithms = next(iter(marks.values()))
    sections = dict(re.findall(r"^### (\S+)\n\n(.*?)\n(?=\n### |\Z)", text, re.MULTILINE | re.DOTALL))
    return {
        name: Column(
            name,
            {criterion: row[name] for criterion, row in marks.items()},
            tuple(sections[name].split("\n")),
        )
        for name in algorithms
    }


def share_references(suite: Suite, name: str, folder: Path) -> None:
    """Link the runs of the references into the folder of an algorithm: all algorithms share them."""
    for reference in suite.references:
        for test in suite.tests:
            made, wanted = (
                folder / reference / "runs" / test / "candidate",
                folder / name / "runs" / test / reference,
            )
            if reference != name and made.exists() and not wanted.exists():
                shutil.copytree(made, wanted, copy_function=os.link)


def run(suite: Suite, name: str, given: argparse.Namespace) -> None:
    """Run the suite on an algorithm; exit status 1, a failed criterion, is a result, not an error."""
    words = ["suite", suite.name, "--algorithm", name, "-o", str(given.folder / name)]
    words += ["--engine", given.engine]
    words += ["--workers", given.workers] if given.workers else []
    ended = subprocess.run([sys.executable, "-c", COMMAND, *words], check=False)  # noqa: S603 (this interpreter, with names of the catalog)
    if ended.returncode not in (0, 1):
        sys.exit(f"{name}: exit status {ended.returncode}")


def digest_words(suite: Suite) -> str:
    """Return the words that say of which files of the suite a page is."""
    return f"files of the suite: {suite.digest()}."


def version_words() -> str:
    """Return the version of Tussle as a page says it."""
    return f" Tussle {tussle.__version__}, "


def lines(suite: Suite, columns: Sequence[Column], missing: Sequence[str], engine: str) -> Iterator[str]:
    """Yield the lines of the page."""
    of_engine = ENGINES[engine]
    on_linux = " On Linux" if engine == "kernel" else ""
    yield f"# {suite.title}{on_linux}"
    yield ""
    yield f"<!-- Written by tools/suite_pages.py (`{of_engine.command}`); {digest_words(suite)} -->"
    yield ""
    yield suite.about
    yield ""
    yield (
        f"{len(columns)} algorithms,{version_words()}{of_engine.words}, quick form. "
        "✓ pass, ? look (the interval crosses the threshold), ✗ fail. `tussle suite "
        f"{suite.name} --algorithm X{of_engine.option}` writes the page of one algorithm, with the evidence. "
        "[How to read and to use it](../how-to/suites.md)."
    )
    yield ""
    if missing:
        yield f"{NOT_MEASURED}{', '.join(missing)}."
        yield ""
    yield "| criterion | section | strength | " + " | ".join(each.algorithm for each in columns) + " |"
    yield "| --- | --- | --- | " + " | ".join(":-:" for _ in columns) + " |"
    tested = [each for each in suite.criteria if each.claims]
    for each in tested:
        marks = [column.marks[each.name] for column in columns]
        yield f"| {each.name} | {each.section} | {each.strength} | " + " | ".join(marks) + " |"
    if engine == "kernel":
        yield from differences(suite, columns)
        yield from failures(columns)
        return
    yield ""
    yield "## The criteria"
    yield ""
    for each in suite.criteria:
        without = each.not_applicable or each.not_testable
        note = f" *Not tested:* {without.rstrip('.')}." if without else ""
        yield f"- **{each.name}** ({each.section}, {each.strength}): {each.says}{note}"
    yield from failures(columns)


def differences(suite: Suite, columns: Sequence[Column]) -> Iterator[str]:
    """Yield how many verdicts equal those on the simulator's page, and list those that do not."""
    simulated = marks_of_page((PAGES / f"{suite.name}.md").read_text("utf-8"))
    names = {mark: name for name, mark in MARKS.items()}
    compared, lines = 0, []
    for column in columns:
        for criterion, mark in column.marks.items():
            other = simulated.get(criterion, {}).get(column.algorithm)
            if mark in names and other in names:
                compared += 1
                if mark != other:
                    lines.append(
                        f"- {column.algorithm}, {criterion}: {names[other]} on the simulator, "
                        f"{names[mark]} on Linux"
                    )
    opposite = sum("look" not in line for line in lines)
    yield ""
    yield "## What differs from the simulator"
    yield ""
    yield (
        f"{compared - len(lines)} of {compared} verdicts are those of [the simulator]({suite.name}.md); "
        f"{len(lines) - opposite} are clear on one engine only, and {opposite} are opposite."
    )
    yield ""
    yield from lines


def marks_of_page(text: str) -> dict[str, dict[str, str]]:
    """Return the marks of a page's table, by criterion and algorithm."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    head, _, *body = rows
    return {row[0]: dict(zip(head[3:], row[3:], strict=True)) for row in body}


def failures(columns: Sequence[Column]) -> Iterator[str]:
    """Yield what fails, algorithm by algorithm."""
    yield ""
    yield "## What fails, and by how much"
    yield ""
    yield "Each line gives the number of cases that fail, and the one furthest from its limit."
    for column in columns:
        yield ""
        yield f"### {column.algorithm}"
        yield ""
        yield from column.failures


if __name__ == "__main__":
    main()
