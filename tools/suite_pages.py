"""Write the page of a suite in docs/suites: its verdicts on every algorithm of an engine.

`python tools/suite_pages.py SUITE DIR`: the suite, and the folder of its results. Finished runs are kept.
With `--engine kernel` the page has Linux's algorithms, and says where the simulator's verdicts differ.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import tussle
from tussle.catalog import catalog, groups
from tussle.suites import Suite, SuiteResult, read_result

PAGES = Path(__file__).resolve().parent.parent / "docs" / "suites"
ENGINES = {"sim": ("", "simulator"), "kernel": ("-linux", "Linux 6.1 in virtual time")}
"""The end of the page's name, and the engine in words."""
MARKS = {"pass": "✓", "look": "?", "fail": "✗"}
COMMAND = "import sys; sys.argv[0] = 'tussle'; from tussle.cli import main; main()"


def main() -> None:
    """Run the suite on each algorithm, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", default=None, help="number of parallel runs")
    parser.add_argument("--write", action="store_true", help="write the page only")
    parser.add_argument("--engine", choices=ENGINES, default="sim")
    given = parser.parse_args()
    suite = Suite.load(given.suite)
    own = [*suite.references]
    able = groups()["linux"].algorithms if given.engine == "kernel" else list(catalog().algorithms)
    names = own + [name for name in able if name not in own]
    for name in [] if given.write else names:
        share_references(suite, name, given.folder)
        run(suite, name, given)
    results = [
        read_result(given.folder / name) for name in names if (given.folder / name / "verdicts.json").exists()
    ]
    PAGES.mkdir(exist_ok=True)
    page = PAGES / f"{suite.name}{ENGINES[given.engine][0]}.md"
    page.write_text("\n".join(lines(suite, results, given.engine)) + "\n", "utf-8")
    print(page)


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


def lines(suite: Suite, results: Sequence[SuiteResult], engine: str) -> Iterator[str]:
    """Yield the lines of the page."""
    on_linux = " On Linux" if engine == "kernel" else ""
    yield f"# {suite.title}{on_linux}"
    yield ""
    yield f"<!-- Written by tools/suite_pages.py (`make suites`); files of the suite: {suite.digest()}. -->"
    yield ""
    yield suite.about
    yield ""
    forms = sorted({result.size for result in results})
    yield (
        f"{len(results)} algorithms, Tussle {tussle.__version__}, {ENGINES[engine][1]}, "
        f"{' and '.join(forms)} form. "
        "✓ pass, ? look (the interval crosses the threshold), ✗ fail. `tussle suite "
        f"{suite.name} --algorithm X` writes the page of one algorithm, with the evidence. "
        "[How to read and to use it](../how-to/suites.md)."
    )
    yield ""
    yield "| criterion | section | strength | " + " | ".join(result.algorithm for result in results) + " |"
    yield "| --- | --- | --- | " + " | ".join(":-:" for _ in results) + " |"
    verdicts = {result.algorithm: {each.name: each.verdict for each in result.criteria} for result in results}
    tested = [each for each in suite.criteria if each.claims]
    for each in tested:
        marks = [MARKS.get(verdicts[result.algorithm][each.name], "-") for result in results]
        yield f"| {each.name} | {each.section} | {each.strength} | " + " | ".join(marks) + " |"
    if engine == "kernel":
        yield from differences(suite, verdicts)
        yield from failures(results)
        return
    yield ""
    yield "## The criteria"
    yield ""
    for each in suite.criteria:
        without = each.not_applicable or each.not_testable
        note = f" *Not tested:* {without.rstrip('.')}." if without else ""
        yield f"- **{each.name}** ({each.section}, {each.strength}): {each.says}{note}"
    yield from failures(results)


def differences(suite: Suite, verdicts: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield how many verdicts equal those on the simulator's page, and list those that do not."""
    simulated = verdicts_of_page(PAGES / f"{suite.name}.md")
    names = {mark: name for name, mark in MARKS.items()}
    compared, lines = 0, []
    for algorithm, found in verdicts.items():
        for criterion, verdict in found.items():
            mark = simulated.get(criterion, {}).get(algorithm)
            if verdict in MARKS and mark in names:
                compared += 1
                if mark != MARKS[verdict]:
                    lines.append(
                        f"- {algorithm}, {criterion}: {names[mark]} on the simulator, {verdict} on Linux"
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


def verdicts_of_page(page: Path) -> dict[str, dict[str, str]]:
    """Return the marks of a page's table, by criterion and algorithm."""
    rows = [
        line.strip("| ").split(" | ")
        for line in page.read_text("utf-8").splitlines()
        if line.startswith("| ")
    ]
    head, _, *body = rows
    return {row[0]: dict(zip(head[3:], row[3:], strict=True)) for row in body}


def failures(results: Sequence[SuiteResult]) -> Iterator[str]:
    """Yield what fails, algorithm by algorithm."""
    yield ""
    yield "## What fails, and by how much"
    yield ""
    yield "Each line gives the number of cases that fail, and the one furthest from its limit."
    for result in results:
        failed = [each for each in result.criteria if each.verdict == "fail"]
        yield ""
        yield f"### {result.algorithm}"
        yield ""
        counts = [f"{count} {name}" for name in ("pass", "look", "fail") if (count := result.count(name))]
        yield ", ".join(counts) + "."
        if failed:
            yield ""
            yield from (f"- {each.name}: {each.why}" for each in failed)


if __name__ == "__main__":
    main()
