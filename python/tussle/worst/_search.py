"""A whole search: find, choose, shrink, repeat, compare, check; and its folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from filelock import FileLock, Timeout

import tussle
from tussle.dataset import Dataset
from tussle.dataset.files import explained, make_folder, refuse_existing, write_whole
from tussle.engines import Engine
from tussle.errors import TussleError
from tussle.own_algorithms import files_sha256, is_own
from tussle.scenario import Scenario
from tussle.statistics import estimate
from tussle.sweep import sweep
from tussle.worst._evaluate import Evaluator, Execution, badness_by_pair, refuse_engine
from tussle.worst._journal import JOURNAL, repair_journal
from tussle.worst._optimiser import Optimiser, Trial, worst_of
from tussle.worst._page import write_page
from tussle.worst._problem import Pair, Problem, short
from tussle.worst._result import CASE, Checked, Compared, Rarity, Result, Row, trials_csv
from tussle.worst._shrink import least, shrunk
from tussle.worst._space import Range, Settings

SCENARIO, FOUND, RESULT, TRIALS, TIMING = (
    "scenario.toml",
    "found.toml",
    "result.json",
    "search.csv",
    "timing.json",
)
_RESULTS = "results"
"""The folder of the results, until all of them are there."""
_IDENTITY = "search.json"
_LOCK = "lock"
_FINALISTS = 5
"""Worst scenarios of the search that are repeated with other seeds, so that luck does not choose."""
_REPETITIONS = 10
_REPETITIONS_OF_CHECK = 3
_DEFAULTS = {"baseline": False, "cases": [], "record": {"samples": "100 ms", "events": False}}
_FLOW_DEFAULTS = {"count": 1, "start": "0 s"}
_STANDARDS = ("reno", "cubic")


@dataclass(frozen=True)
class Budget:
    """The budget of the search itself, in runs or in seconds; what follows the search is not part of it."""

    runs: int | None
    seconds: float | None
    written: str

    def spent(self, evaluator: Evaluator) -> float:
        """Return the part that is spent."""
        if self.runs is not None:
            return evaluator.runs / self.runs
        return evaluator.took_s / (self.seconds or 1.0)

    def room(self, evaluator: Evaluator) -> int:
        """Return how many runs may follow; in a budget of time, any number until it is spent."""
        if self.runs is not None:
            return max(self.runs - evaluator.runs, 0)
        return 0 if self.spent(evaluator) >= 1 else 10**9


@dataclass(frozen=True)
class Request:
    """A problem, the budget for it, and what follows the search."""

    problem: Problem
    budget: Budget
    command: str
    checks: tuple[Engine, ...] = ()
    """Further engines that execute the case."""
    say: Callable[[str], None] = lambda _: None
    """Receives a sentence at the beginning of each stage."""


@dataclass(frozen=True)
class Timing:
    """Times by the wall clock, apart from the results, which are the same on every machine."""

    search_s: float
    to_find_s: float
    runs_per_s: float


def partial_of(folder: Path) -> Path:
    """Return the folder that holds an unfinished search."""
    return folder.with_name(f"{folder.name}.partial")


def search(request: Request, folder: Path, execution: Execution) -> tuple[Result, Timing]:
    """Search, and write the results into `folder`, which must not exist.

    What is finished is kept in `<folder>.partial` until the end: a search that was interrupted, even killed,
    resumes when it is called again, and ends with the same bytes. Raises TussleError for a space, an
    algorithm or an engine that do not fit, and KeyboardInterrupt when interrupted.
    """
    refuse_existing(folder)
    request.problem.check()
    for chosen in (execution.engine, *request.checks):
        refuse_engine(request.problem, chosen)
    with _opened(partial_of(folder), _identity(request, execution)) as partial:
        evaluator = Evaluator(request.problem, execution, partial)
        result, timing = _searched(request, evaluator, partial)
        _write(partial / _RESULTS, result, timing)
        with explained(folder):
            (partial / _RESULTS).rename(folder)
    shutil.rmtree(partial_of(folder), ignore_errors=True)
    return result, timing


def _searched(request: Request, evaluator: Evaluator, partial: Path) -> tuple[Result, Timing]:
    problem, budget = request.problem, request.budget
    request.say("search")
    times: list[float] = []

    def evaluate(each: Sequence[Settings]) -> list[float]:
        found = evaluator.once(each, problem.seed)
        times.extend([evaluator.took_s] * len(each))
        return found

    trials = Optimiser(
        space=problem.space,
        seed=problem.seed,
        evaluate=evaluate,
        spent=lambda: budget.spent(evaluator),
        room=lambda: budget.room(evaluator),
        count=lambda: evaluator.runs,
        cost=len(problem.pairs),
    ).search()
    search_runs, search_s = evaluator.runs, evaluator.took_s
    request.say("finalists")
    finalists = worst_of(trials, _FINALISTS)
    if not finalists:
        raise TussleError("no scenario of the search could be measured; give longer runs or another space")
    repeated = evaluator.reliable([each.settings for each in finalists], problem.seed + 1)
    found_badness, at = max((value, -index) for index, value in enumerate(repeated))
    chosen = finalists[-at]
    request.say("shrinking")
    simplest = shrunk(
        problem.space,
        chosen.settings,
        least(found_badness),
        lambda each: evaluator.reliable(each, problem.seed + 1),
    )
    request.say("repetitions and comparison")
    compared, scenario = _compared(problem, simplest, evaluator.execution, partial)
    request.say("checks")
    checked = tuple(
        _checked(problem, scenario, evaluator.execution, engine=each, folder=partial)
        for each in request.checks
    )
    result = Result(
        problem=problem,
        budget=budget.written,
        engine=evaluator.execution.engine.name,
        search_runs=search_runs,
        runs_to_find=chosen.runs,
        runs_after=evaluator.runs - search_runs + sum(each.badness.count for each in compared),
        trials=tuple(trials),
        found_badness=found_badness,
        rows=_rows(problem, chosen, simplest),
        compared=compared,
        rarity=_rarity(trials, least(compared[0].badness.median)),
        checked=checked,
        scenario_toml=_toml(scenario, _comment(problem)),
        found_toml=_toml(_tidy(problem, chosen.settings), _comment(problem)),
        command=request.command,
    )
    to_find_s = times[trials.index(chosen)]
    return result, Timing(search_s, to_find_s, search_runs / max(search_s, 1e-9))


def _tidy(problem: Problem, values: Settings) -> Scenario:
    """Return the scenario for readers, with seeds that the search did not use."""
    tables = problem.tables(values, problem.pairs[0], tidy=True)
    again = {"question": problem.question, "seed": problem.seed + 2, "repetitions": _REPETITIONS}
    return problem.checked(again | tables)


def _compared(
    problem: Problem, values: Settings, execution: Execution, folder: Path
) -> tuple[tuple[Compared, ...], Scenario]:
    """Run the case with the tested algorithm and with the standard ones; its results go below `folder`."""
    scenario = _tidy(problem, values)
    pairs = list(dict.fromkeys([*problem.pairs, *(_like(problem, name) for name in _STANDARDS)]))
    case = _with_pairs(problem, scenario, pairs)
    dataset = _swept(case, folder / _RESULTS / CASE, execution, execution.engine)
    found = []
    for index, badness in enumerate(badness_by_pair(problem, dataset, pairs)[0]):
        known = [value for value in badness.values() if value is not None]
        if known:
            named = tuple(each for each in pairs[index] if each)
            found.append(Compared(_label(pairs[index]), named, estimate(known), index))
        elif index == 0:
            raise TussleError(
                "the case could not be measured with other seeds; give longer runs or another space"
            )
    return tuple(found), scenario


def _like(problem: Problem, name: str) -> Pair:
    """Return the pair with another algorithm in place of the tested one, wherever that one stands."""
    if problem.beside is None:
        return name, None
    return name, name if problem.beside == problem.algorithm else problem.beside


def _with_pairs(problem: Problem, scenario: Scenario, pairs: Sequence[Pair]) -> Scenario:
    cases = [
        {f"flows.{index}.algorithm": name for index, name in enumerate(pair) if name is not None}
        for pair in pairs
    ]
    return problem.checked({**scenario.to_dict(), "cases": cases})


def _swept(scenario: Scenario, place: Path, execution: Execution, engine: Engine) -> Dataset:
    return tussle.open(place) if place.exists() else sweep(scenario, place, execution.sweep(engine))


def _label(pair: Pair) -> str:
    first, second = short(pair[0]), short(pair[1]) if pair[1] else ""
    return f"{first} beside {second}" if second else first


def _checked(
    problem: Problem, scenario: Scenario, execution: Execution, *, engine: Engine, folder: Path
) -> Checked:
    """Run the case on another engine; its results go below `folder`."""
    tables = {**scenario.to_dict(), "repetitions": _REPETITIONS_OF_CHECK}
    case = _with_pairs(problem, problem.checked(tables), problem.pairs)
    try:
        dataset = _swept(case, folder / _RESULTS / f"{CASE}-{engine.name}", execution, engine)
    except TussleError as error:
        return Checked(engine.name, (), str(error).splitlines()[0])
    found = badness_by_pair(problem, dataset, problem.pairs)[0][0]
    return Checked(engine.name, tuple(value for value in found.values() if value is not None))


def _rarity(trials: Sequence[Trial], enough: float) -> Rarity:
    from scipy.stats import binomtest

    sampled = [each.badness for each in trials if each.stage == "random"]
    as_bad = sum(value >= enough for value in sampled)
    interval = binomtest(as_bad, len(sampled)).proportion_ci(0.95, method="exact")
    return Rarity(as_bad, len(sampled), float(interval.low), float(interval.high))


def _rows(problem: Problem, chosen: Trial, simplest: Settings) -> tuple[Row, ...]:
    space, plain = problem.space, problem.space.plain()
    return tuple(
        Row(
            key=each.key,
            space=each.words(),
            plain=space.shown(each.key, plain),
            found=space.shown(each.key, chosen.settings),
            simplest=space.shown(each.key, simplest),
            matters=simplest[each.key] != plain[each.key],
        )
        for each in space.dimensions
    )


def _comment(problem: Problem) -> str:
    return f"# Found by `tussle worst`, objective {problem.objective.name}: {problem.says}.\n\n"


def _toml(scenario: Scenario, comment: str) -> str:
    """Return the text of a file, without settings that are the default."""
    tables = scenario.to_dict()
    for key, default in _DEFAULTS.items():
        if tables.get(key) == default:
            del tables[key]
    for flow in tables["flows"]:
        for key, default in _FLOW_DEFAULTS.items():
            if flow.get(key) == default:
                del flow[key]
    return comment + tomlkit.dumps(tables)


def _write(folder: Path, result: Result, timing: Timing) -> None:
    texts = {
        SCENARIO: result.scenario_toml,
        FOUND: result.found_toml,
        RESULT: result.to_json(),
        TRIALS: trials_csv(result.trials),
        TIMING: json.dumps(timing.__dict__, indent=2) + "\n",
    }
    with explained(folder):
        make_folder(folder)
        for name, text in texts.items():
            write_whole(folder / name, text.encode())
    write_page(result, folder)


def _identity(request: Request, execution: Execution) -> Mapping[str, Any]:
    """Return the facts that decide the result; a search can only resume with the same ones."""
    problem = request.problem
    names = filter(is_own, filter(None, [problem.algorithm, problem.beside]))
    return {
        "algorithm": problem.algorithm,
        "victim": problem.beside,
        "objective": problem.objective.name,
        "space": [problem.space.fixed, [_dimension(each) for each in problem.space.dimensions]],
        "seed": problem.seed,
        "budget": request.budget.written,
        "checks": [dict(each.about()) for each in request.checks],
        "engine": dict(execution.engine.about()),
        "own algorithms": dict(files_sha256(list(names))),
        "tussle version": tussle.__version__,
    }


def _dimension(dimension: Any) -> str:
    scale = f", {dimension.scale}" if isinstance(dimension, Range) else ""
    return f"{dimension.key}: {dimension.words()}{scale}, plain {dimension.plain}"


@contextmanager
def _opened(folder: Path, identity: Mapping[str, Any]) -> Iterator[Path]:
    """Open the folder of an unfinished search; raises TussleError when it belongs to another one."""
    with explained(folder):
        make_folder(folder)
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise TussleError(f"{folder}: another search writes there; give another output folder (-o)") from None
    try:
        text = json.dumps(identity, indent=2, sort_keys=True) + "\n"
        place = folder / _IDENTITY
        stored = _stored(place)
        if stored is not None:
            differing = [key for key, value in json.loads(text).items() if stored.get(key) != value]
            if differing:
                raise TussleError(
                    f"{folder} holds a search with another {', '.join(differing)}; repeat that command, "
                    "remove the folder, or give another output folder (-o)"
                )
        else:
            with explained(folder):
                # Without an identity, a journal is of no use.
                (folder / JOURNAL).unlink(missing_ok=True)
                write_whole(place, text.encode())
        repair_journal(folder)
        yield folder
    finally:
        lock.release()


def _stored(identity: Path) -> dict[str, Any] | None:
    """Return what a file with an identity says; `None` when there is none, or it is damaged."""
    try:
        stored = json.loads(identity.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    return stored if isinstance(stored, dict) else None
