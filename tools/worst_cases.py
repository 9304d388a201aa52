"""Write docs/explanation/worst-cases.md and docs/worst-cases: `python tools/worst_cases.py RESULTS`.

It executes the searches of `worst_cases.toml` and two searches for each algorithm of Linux, and writes their
results into the folder RESULTS. A search whose results exist is not repeated. `--only A,B` executes only
these searches. `--kernel` also repeats the cases on Linux in virtual time. The page has all results in
RESULTS.
"""

import argparse
import fnmatch
import json
import shlex
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomlkit

from tussle.catalog import groups
from tussle.dataset import Dataset
from tussle.engines import engine
from tussle.errors import TussleError
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep
from tussle.worst import objective

ROOT = Path(__file__).resolve().parent.parent
SEARCHES = ROOT / "tools" / "worst_cases.toml"
PAGE = ROOT / "docs" / "explanation" / "worst-cases.md"
SCENARIOS = ROOT / "docs" / "worst-cases"
ALGORITHMS = groups()["linux"].algorithms
OF_EACH = {"harm": "harm to CUBIC", "starvation": "starvation beside its own kind"}
"""Objectives of the table of Linux's algorithms."""
BUDGET_OF_EACH = {"harm": 600, "starvation": 300}
"""Runs of a search, which are 300 scenarios: for the harm, each scenario takes two runs."""
_MARGIN = 0.1
"""Difference from another algorithm in the same case below which they do equally badly."""

Search = Mapping[str, Any]


def searches() -> list[dict[str, Any]]:
    """Return every search: the known cases first, then those of Linux's algorithms."""
    content = tomllib.loads(SEARCHES.read_text("utf-8"))
    known = [
        {"budget": content["budget"], "within": content["space"][each["space"]], **each}
        for each in content["known"]
    ]
    of_each = [
        {"name": f"{name}-{goal}", "algorithm": name, "objective": goal, "budget": BUDGET_OF_EACH[goal]}
        # Compared with itself, CUBIC does no harm.
        | ({"victim": "reno"} if (name, goal) == ("cubic", "harm") else {})
        for name in ALGORITHMS
        for goal in OF_EACH
    ]
    return [*known, *of_each]


def command(search: Search, folder: Path) -> list[str]:
    """Return the command of a search, with its space in a file of the folder."""
    words = ["worst", "--algorithm", search["algorithm"], "--objective", search["objective"]]
    if "victim" in search:
        words += ["--victim", search["victim"]]
    if "within" in search:
        words += ["--within", str(space_file(search, folder))]
    return [*words, "--budget", str(search["budget"])]


def space_file(search: Search, folder: Path) -> Path:
    """Return the file of a search's space."""
    return folder / f"{search['space']}.toml"


def execute(search: Search, folder: Path) -> None:
    """Execute a search, unless its results exist."""
    place = folder / search["name"]
    if place.exists():
        return
    if "within" in search:
        space_file(search, folder).write_text(tomlkit.dumps(search["within"]), "utf-8")
    code = "from tussle.cli import main; main()"
    words = [*command(search, folder), "-o", str(place)]
    print(shlex.join(["tussle", *words]), flush=True)
    subprocess.run([sys.executable, "-c", code, *words], check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def contrast(search: Search, folder: Path) -> float | None:
    """Return the median value of the case with the settings of its contrast, if it has one."""
    if "contrast" not in search:
        return None
    place = folder / f"{search['name']}-contrast"
    if not place.exists():
        sweep(case_of(search, folder).with_settings(search["contrast"]), place, SweepSettings(workers=2))
    return statistics.median(values(search, place))


def repeat_on_linux(search: Search, folder: Path) -> None:
    """Execute a case on Linux in virtual time, unless its dataset exists, or Linux lacks the algorithm."""
    place = folder / f"{search['name']}-kernel"
    if place.exists() or search["algorithm"] not in ALGORITHMS or not (folder / search["name"]).exists():
        return
    print(f"{search['name']}: on Linux", flush=True)
    scenario = Scenario.from_dict(
        case_of(search, folder).to_dict() | {"repetitions": 1, "cases": cases(search)}
    )
    sweep(scenario, place, SweepSettings(workers=2, engine=engine("kernel")))


def on_linux(search: Search, folder: Path) -> str:
    """Return the value of a case on Linux; a dash if it was not repeated there."""
    place = folder / f"{search['name']}-kernel"
    return f"{statistics.median(values(search, place)):.2f}" if place.exists() else "-"


def case_of(search: Search, folder: Path) -> Scenario:
    """Return the found scenario."""
    return Scenario.load(folder / search["name"] / "scenario.toml")


def cases(search: Search) -> list[dict[str, str]]:
    """Return the algorithms of the case, and those with which a relative value compares it."""
    goal = objective(search["objective"])
    if not goal.relative:
        return []
    victim = search.get("victim", goal.victim)
    pairs = [(search["algorithm"], victim), (victim, victim)]
    return [{f"flows.{at}.algorithm": name for at, name in enumerate(pair)} for pair in pairs]


def values(search: Search, place: Path) -> list[float]:
    """Return the values of a dataset of a case, one for each repetition."""
    dataset, goal = Dataset.open(place), objective(search["objective"])
    runs = dataset.runs.select("run", "point", "repetition").collect()
    found = runs.join(goal.compute(dataset), on="run").sort("point", "repetition")
    first, *compared = (part["value"].to_list() for part in found.partition_by("point", maintain_order=True))
    if not goal.relative:
        return first
    return [1 - value / whole for value, whole in zip(first, compared[0], strict=True)]


def row(facts: Mapping[str, Any], at: int = 0) -> str:
    """Return the value of an algorithm in a case, with its interval."""
    found = facts["compared"][at]["badness"]
    return f"{found['median']:.2f} ({found['low']:.2f} to {found['high']:.2f})"


def needed(facts: Mapping[str, Any]) -> str:
    """Return what a case needs."""
    found = [f"`{each['key']} = {each['simplest']}`" for each in facts["dimensions"] if each["matters"]]
    return ", ".join(found) or "nothing unusual"


def others(facts: Mapping[str, Any]) -> str:
    """Return the values of the other algorithms in a case."""
    return ", ".join(f"{each['label']} {each['badness']['median']:.2f}" for each in facts["compared"][1:])


def rare(facts: Mapping[str, Any]) -> str:
    """Return how rare a case is."""
    found = facts["rarity"]
    percents = " to ".join(f"{100 * found[end]:.1f}" for end in ("low", "high"))
    return f"{found['as_bad']} of {found['of']} ({percents} %)"


def verdict(search: Search, facts: Mapping[str, Any], other: float | None) -> tuple[bool, str]:
    """Return whether a known case was found, and why not."""
    value = facts["compared"][0]["badness"]["median"]
    if value < search["least"]:
        return False, f"the worst value is {value:.2f}, and the claim needs {search['least']:g}"
    keys = [each["key"] for each in facts["dimensions"] if each["matters"]]
    if not any(fnmatch.fnmatchcase(key, wanted) for key in keys for wanted in search["needs"]):
        return False, f"the worst case does not need {' or '.join(search['needs'])}"
    if search.get("beyond") == "contrast":
        beyond, name = other, "the contrast"
    else:
        named = {each["algorithms"][0]: each["badness"]["median"] for each in facts["compared"][1:]}
        name = search.get("beyond", "")
        beyond = named.get(name)
    if beyond is not None and value < beyond + _MARGIN:
        return False, f"{name} does as badly in the same case: {beyond:.2f}"
    return True, ""


def of_known(search: Search, folder: Path) -> Iterator[str]:
    """Yield the paragraphs of a known case."""
    facts, timing = results(search, folder)
    other = contrast(search, folder)
    found, reason = verdict(search, facts, other)
    yield f"### {search['claim']}\n"
    yield f"{search['source']}.\n"
    yield f"**{'Found' if found else f'Not found: {reason}'}.** {search.get('note', '')}".rstrip() + "\n"
    quantity = objective(facts["objective"]).quantity
    lines = [
        f"- {quantity}, median of ten seeds and its 95 % interval: {row(facts)}",
        f"- needs: {needed(facts)}",
        f"- random scenarios that are as bad: {rare(facts)}",
        f"- in the same case: {others(facts)}",
    ]
    if other is not None:
        settings = ", ".join(f"`{key} = {json.dumps(value)}`" for key, value in search["contrast"].items())
        lines.append(f"- the same case with {settings}: {other:.2f}")
    if (linux := on_linux(search, folder)) != "-":
        lines.append(f"- one run on Linux: {linux}")
    lines.append(
        f"- {facts['search_runs']} runs in {timing['search_s']:.0f} s, {timing['runs_per_s']:.0f} runs a "
        f"second; found after {facts['runs_to_find']} runs, {timing['to_find_s']:.0f} s"
    )
    space = f"[the space](../worst-cases/space-{search['space']}.toml)"
    lines.append(f"- [the scenario](../worst-cases/{search['name']}.toml), {space}")
    yield "\n".join(lines) + "\n"
    shown = command({**search, "within": None}, Path("docs/worst-cases"))
    shown = [word.replace(f"/{search['space']}.toml", f"/space-{search['space']}.toml") for word in shown]
    yield f"```sh\n{shlex.join(['tussle', *shown])}\n```\n"


def of_algorithms(folder: Path) -> Iterator[str]:
    """Yield the tables of Linux's algorithms, worst first."""
    for goal, title in OF_EACH.items():
        each = [one for one in searches() if one["name"].endswith(f"-{goal}") and "claim" not in one]
        found = [(one, *results(one, folder)) for one in each if (folder / one["name"]).exists()]
        found.sort(key=lambda one: -one[1]["compared"][0]["badness"]["median"])
        yield f"### {title[0].upper()}{title[1:]}\n"
        yield "| algorithm | value | on Linux | needs | random scenarios as bad | in the same case |"
        yield "|---|---|---|---|---|---|"
        for one, facts, _ in found:
            link = f"[{one['algorithm']}](../worst-cases/{one['name']}.toml)"
            cells = (link, row(facts), on_linux(one, folder), needed(facts), rare(facts), others(facts))
            yield f"| {' | '.join(cells)} |"
        search_s = sum(timing["search_s"] for _, _, timing in found)
        runs = sum(facts["search_runs"] for _, facts, _ in found)
        after = sum(facts["runs_after_the_search"] for _, facts, _ in found)
        yield (
            f"\n{len(found)} searches with {runs} runs in {search_s:.0f} s, and {after} runs to confirm, "
            "simplify and compare the cases.\n"
        )


def results(search: Search, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facts of a search, and its times."""
    place = folder / search["name"]
    return tuple(json.loads((place / name).read_text("utf-8")) for name in ("result.json", "timing.json"))


def publish(folder: Path) -> None:
    """Write the page and the scenarios of all existing results."""
    SCENARIOS.mkdir(exist_ok=True)
    found = [each for each in searches() if (folder / each["name"]).exists()]
    known = [each for each in found if "claim" in each]
    for each in found:
        scenario = (folder / each["name"] / "scenario.toml").read_text("utf-8")
        (SCENARIOS / f"{each['name']}.toml").write_text(scenario, "utf-8")
    for each in known:
        text = space_file(each, folder).read_text("utf-8")
        (SCENARIOS / f"space-{each['space']}.toml").write_text(text, "utf-8")
    parts = {
        "known": "\n".join(part for each in known for part in of_known(each, folder)),
        "algorithms": "\n".join(of_algorithms(folder)),
    }
    text = PAGE.read_text("utf-8")
    for name, content in parts.items():
        begin, end = f"<!-- measured: {name} -->\n", "<!-- end -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}{content}{end}{after}"
    PAGE.write_text(text, "utf-8")


def main() -> None:
    """Execute the searches and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("results", type=Path)
    arguments.add_argument("--only", default="", help="names of searches, separated by commas")
    arguments.add_argument("--kernel", action="store_true", help="repeat the cases on Linux, too")
    given = arguments.parse_args()
    wanted = [name for name in given.only.split(",") if name]
    given.results.mkdir(parents=True, exist_ok=True)
    chosen = [each for each in searches() if not wanted or each["name"] in wanted]
    for each in chosen:
        execute(each, given.results)
    for each in chosen if given.kernel else []:
        repeat_on_linux(each, given.results)
    publish(given.results)


if __name__ == "__main__":
    try:
        main()
    except TussleError as error:
        sys.exit(f"tools/worst_cases.py: {error}")
