"""`tussle suite`: runs an evaluation suite on an algorithm, and writes its verdicts."""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import tussle
from tussle.cli._completion import names_of
from tussle.cli._engines import EngineName, KernelChoice, OneKernel, one_engine_of
from tussle.cli._options import RESULTS, ClusterAddress, Workers, parse_settings
from tussle.cli._sweep import SweepMeans
from tussle.cli._terminal import (
    INTERRUPTED,
    choose_json,
    columns,
    complain,
    note,
    print_json,
    progress_console,
    say,
    show_whole,
)
from tussle.errors import TussleError, unknown

if TYPE_CHECKING:
    from tussle.dataset import Dataset
    from tussle.suites import Candidate, Suite, SuiteResult, Task

_FAILED = 1
"""Exit status: a criterion fails."""
_STYLES = {"pass": "green", "look": "yellow", "fail": "red"}


class _Request(NamedTuple):
    """A suite to run, and its options."""

    suite: "Suite"
    candidate: "Candidate"
    size: Any
    queue: str | None
    folder: Path
    means: SweepMeans
    command: str


def suite(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The suite, from `tussle list suites`.", autocompletion=names_of("suites")
        ),
    ],
    *,
    algorithm: Annotated[
        str,
        typer.Option(
            metavar="X",
            help="The algorithm, from `tussle list algorithms`, or the Python file and class of your own.",
            autocompletion=names_of("algorithms"),
        ),
    ],
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="NAME=VALUE",
            help="A parameter of the algorithm, such as hystart=0. Repeatable.",
        ),
    ] = None,
    engine: EngineName = "sim",
    quick: Annotated[
        bool,
        typer.Option("--quick/--full", help="Run fewer points of each test; --full runs all of them."),
    ] = True,
    only: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Test only these criteria.", show_default="all of the suite"),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="The queue discipline to test, for suites that test one.",
            autocompletion=names_of("queues"),
            show_default="the suite's",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the verdicts as JSON instead of a table.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder of the page, the verdicts and the runs; finished runs are kept.",
            show_default="results/suite-NAME-X",
        ),
    ] = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    kernel: OneKernel = None,
) -> None:
    """Test an algorithm against the criteria of a document, and give a verdict on each.

    The exit status is 1 when a criterion fails, 2 for bad input, else 0: the verdict look is no failure.
    """
    from tussle.catalog import catalog
    from tussle.suites import Suite, candidate_of

    choose_json(as_json=as_json)
    chosen = Suite.load(name)
    if only is not None:
        chosen = chosen.only([each.strip() for each in only.split(",") if each.strip()])
        if not chosen.criteria:
            known = ", ".join(each.name for each in Suite.load(name).criteria)
            raise TussleError(f"--only names no criterion; give some of {known}")
    if queue is not None and not chosen.queues:
        raise TussleError(f"--queue: {name} brings its own queues; leave the option out")
    if queue is not None and queue not in catalog().queues:
        raise TussleError(f"--queue: {unknown('queue', queue, catalog().queues)}")
    candidate = candidate_of(algorithm, _parameters(parameters))
    size = "quick" if quick else "full"
    folder = output or RESULTS / "-".join(["suite", name, Path(algorithm).name, *([queue] if queue else [])])
    given = {
        "algorithm": algorithm,
        "engine": engine if engine != "sim" else None,
        "only": only,
        "queue": queue,
    }
    words = [
        word for key, value in {**given, "kernel": kernel}.items() if value for word in (f"--{key}", value)
    ]
    words += [word for each in parameters or [] for word in ("--parameter", each)]
    command = shlex.join(["tussle", "suite", name, *words, f"--{size}", "-o", str(folder)])
    means = SweepMeans(one_engine_of(engine, KernelChoice(kernel=kernel)), workers, cluster)
    request = _Request(chosen, candidate, size, queue, folder, means, command)
    try:
        result = _carried_out(request)
    except KeyboardInterrupt as interrupted:
        complain(str(interrupted) or f"interrupted; repeat the same command to go on in {folder}")
        raise typer.Exit(INTERRUPTED) from None
    print_json(result.model_dump_json(indent=1))
    _show(result, folder)
    if result.verdict == "fail":
        raise typer.Exit(_FAILED)


def _parameters(written: list[str] | None) -> dict[str, int]:
    found = parse_settings(written)
    for key, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise TussleError(f"--parameter {key}: give a whole number, like {key}=1")
    return found


def _carried_out(request: _Request) -> "SuiteResult":
    """Run what is not finished, and write the page and the verdicts."""
    from tussle.suites import SuiteResult, decide, graphs, tasks, write_page, write_result

    planned = tasks(request.suite, request.candidate, request.size, request.queue)
    refused = _refused(planned, request)
    todo = [task for task in planned if task.test not in refused]
    datasets = _datasets(todo, request)
    plain = request.candidate.algorithm if not request.candidate.parameters else None
    alias = plain if plain in request.suite.references else None
    criteria = tuple(decide(request.suite, datasets, refused, alias))
    verdicts = {criterion.verdict for criterion in criteria}
    result = SuiteResult(
        suite=request.suite.name,
        document=request.suite.document,
        algorithm=request.candidate.label,
        engine=request.means.engine.name,
        size=request.size,
        queue=request.queue,
        tussle=tussle.__version__,
        command=request.command,
        verdict="fail" if "fail" in verdicts else "look" if "look" in verdicts else "pass",
        criteria=criteria,
    )
    scenarios = {task.test: task.scenario for task in todo if task.contender == "candidate"}
    drawn = graphs(request.suite, datasets, request.queue)
    write_page(request.suite, result, scenarios, request.folder, drawn)
    write_result(result, request.folder)
    return result


def _refused(planned: Sequence["Task"], request: _Request) -> dict[str, str]:
    """Return the tests that the engine cannot run, with its reasons; raises TussleError if it runs none."""
    reasons: dict[str, str] = {}
    for task in planned:
        try:
            for run in {each.point: each.run for each in task.scenario.runs()}.values():
                request.means.engine.check(run)
        except TussleError as error:
            reasons.setdefault(task.test, str(error))
    if reasons and reasons.keys() == request.suite.tests.keys():
        reason = next(iter(reasons.values()))
        raise TussleError(
            f"--engine {request.means.engine.name} cannot run {request.candidate.label}: {reason}"
        )
    return reasons


def _datasets(todo: Sequence["Task"], request: _Request) -> "Mapping[str, Mapping[str, Dataset]]":
    """Run each test with each contender, unless its dataset exists already."""
    from tussle.sweep import ProgressBar, SweepSettings, sweep
    from tussle.workers.pool import available_cores, processes

    engine, workers, cluster = request.means.engine, request.means.workers, request.means.cluster
    found: dict[str, dict[str, Dataset]] = {}
    with ExitStack() as stack:
        executor = None
        count = workers or engine.max_parallel_runs or available_cores()
        if cluster is None and engine.max_parallel_runs is None and count > 1:
            # The tests are short: one pool of workers serves all of them.
            executor = stack.enter_context(processes(count))
        for number, task in enumerate(todo, 1):
            place = task.folder(request.folder)
            if place.exists():
                found.setdefault(task.test, {})[task.contender] = _existing(task, place, request)
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            note(f"{number} of {len(todo)}: {task.test}, {task.contender}")
            with ProgressBar(progress_console(), note) as bar:
                settings = SweepSettings(
                    workers=workers, engine=engine, cluster=cluster, executor=executor, progress=bar
                )
                found.setdefault(task.test, {})[task.contender] = sweep(task.scenario, place, settings)
    return found


def _existing(task: "Task", place: Path, request: _Request) -> "Dataset":
    """Open a dataset of an earlier call; raises TussleError when it is of other settings."""
    from tussle.own_algorithms import files_sha256, is_own

    found = tussle.open(place)
    engine = dict(request.means.engine.about())
    own = filter(
        is_own, {flow["algorithm"] for each in task.scenario.runs()[:1] for flow in each.run["flows"]}
    )
    is_same = (
        found.scenario == task.scenario
        and found.provenance["engine"] == engine
        and found.provenance.get("tussle") == tussle.__version__
        and set(files_sha256(own).values()) <= set(found.provenance.get("own_algorithms_sha256", {}).values())
    )
    if not is_same:
        raise TussleError(f"{place} holds results of other settings; give another folder (-o)")
    return found


def _show(result: "SuiteResult", folder: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("section", "strength", "criterion", "verdict", "why", box=None, pad_edge=False)
    for each in result.criteria:
        verdict = Text(each.verdict, style=_STYLES.get(each.verdict, ""))
        table.add_row(each.section, each.strength, each.name, verdict, each.why)
    show_whole(table, columns())
    counts = ", ".join(
        f"{count} {verdict}"
        for verdict in ("pass", "look", "fail", "not applicable", "not testable here")
        if (count := result.count(verdict))
    )
    say(f"{result.algorithm}, {result.suite}: {counts}")
    say(f"page: {folder / 'index.html'}")
