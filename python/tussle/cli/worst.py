"""`tussle worst`: searches for the scenario in which an algorithm does worst, or harms others most."""

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tussle import units
from tussle.cli._completion import names_of
from tussle.cli._engines import EngineName, KernelChoice, OneKernel, one_engine_of
from tussle.cli._options import RESULTS, ClusterAddress, Workers, folder_of
from tussle.cli._sweep import SweepMeans
from tussle.cli._terminal import INTERRUPTED, columns, complain, note, progress_console, say, show, show_whole
from tussle.errors import TussleError, shown

if TYPE_CHECKING:
    from tussle.worst import Budget, Objective, Problem, Request, Result

_NS_PER_S = 1e9


def worst(
    *,
    algorithm: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The algorithm, or your own class, such as mine.py:Mine.",
            autocompletion=names_of("algorithms"),
        ),
    ],
    objective: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What makes a scenario bad: harm (to the victim), starvation (a flow without its share), "
            "queue (a long queue), utilisation (an idle link), loss (retransmissions), or unfairness "
            "(unequal goodputs).",
        ),
    ],
    victim: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The algorithm of the flow beside those of --algorithm.",
            show_default="cubic for harm; else the algorithm itself",
        ),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            metavar="N|TIME",
            help='Runs of the search, such as 300, or its time, such as "10 min". With a number of runs, '
            "the search finds the same case on every machine.",
        ),
    ] = "300",
    within: Annotated[
        Path | None,
        typer.Option(
            metavar="SPACE.toml",
            help="Ranges, lists and fixed values by keys of a scenario, in place of the default space's.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the search and its runs.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            parser=folder_of,
            help="Folder of the results; it must not exist yet.",
            show_default="results/worst-X-OBJECTIVE",
        ),
    ] = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    engine: EngineName = "sim",
    kernel: OneKernel = None,
    check: Annotated[
        str | None,
        typer.Option(metavar="ENGINE", help="Repeat the case on this engine, too, such as kernel."),
    ] = None,
) -> None:
    """Search for the scenario in which an algorithm does worst, or harms another most.

    The case is shrunk to the simplest scenario that is still as bad, and compared with Reno and CUBIC.
    """
    from tussle.worst import Request, check_algorithm
    from tussle.worst import objective as objective_of

    check_algorithm("--algorithm", algorithm)
    if victim is not None:
        check_algorithm("--victim", victim)
    goal = objective_of(objective)
    problem = _problem(algorithm, goal, seed, victim=victim, within=within)
    folder = output or RESULTS / f"worst-{Path(algorithm).name.replace(':', '-')}-{objective}"
    on_kernel = KernelChoice(kernel=kernel)
    is_checked = check == "kernel"
    chosen = one_engine_of(engine, KernelChoice() if is_checked and engine != "kernel" else on_kernel)
    checks = () if check is None else (one_engine_of(check, on_kernel if is_checked else KernelChoice()),)
    request = Request(
        problem=problem,
        budget=_budget(budget),
        command=_command(sys.argv),
        checks=checks,
    )
    _carry_out(request, folder, SweepMeans(chosen, workers, cluster))


def _problem(
    algorithm: str, goal: "Objective", seed: int, *, victim: str | None, within: Path | None
) -> "Problem":
    from tussle.worst import Problem, load_space

    beside = victim or goal.victim or (algorithm if goal.two else None)
    return Problem(algorithm, beside, goal, load_space(within, 1 if beside is None else 2), seed)


def _budget(written: str) -> "Budget":
    from tussle.worst import Budget

    text = written.strip()
    if text.isdecimal():
        if int(text) == 0:
            raise TussleError(
                '--budget 0: nothing would be searched; give runs, like 300, or a time, like "10 min"'
            )
        return Budget(int(text), None, f"{int(text)} runs")
    try:
        seconds = units.time(text) / _NS_PER_S
    except units.UnitError:
        what = f'--budget {shown(written)}: give a number of runs, like 300, or a time, like "10 min"'
        raise TussleError(what) from None
    if seconds <= 0:
        raise TussleError(f"--budget {written}: nothing would be searched; give more than 0")
    return Budget(None, seconds, text)


def _command(words: list[str]) -> str:
    """Return the command as typed, without what does not change the result."""
    kept, skip = [], False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in ("--workers", "--cluster", "-o", "--output"):
            skip = True
        elif not word.startswith(("--workers=", "--cluster=", "--output=")):
            kept.append(word)
    return shlex.join(["tussle", *kept])


def _carry_out(request: "Request", folder: Path, means: SweepMeans) -> None:
    from dataclasses import replace

    from tussle.workers.pool import available_cores, processes
    from tussle.worst import PAGE, Execution, partial_of, search

    count = means.workers or available_cores()
    pooled = means.engine.max_parallel_runs is None and means.cluster is None and count > 1
    try:
        with _Bar(request.budget.runs) as bar, processes(count) if pooled else nullcontext() as executor:
            execution = Execution(means.engine, means.workers, means.cluster, executor, bar.advance, bar.note)
            result, timing = search(replace(request, say=bar.say), folder, execution)
    except KeyboardInterrupt:
        partial = partial_of(folder)
        complain(
            f"interrupted; finished runs are kept in {partial}: repeat the same command to go on from there"
            if partial.exists()
            else "interrupted before anything was finished; repeat the same command"
        )
        raise typer.Exit(INTERRUPTED) from None
    show(
        f"{result.search_runs} runs in {timing.search_s:.1f} s, {timing.runs_per_s:.3g} runs/s; the case was "
        f"found after {result.runs_to_find} runs, {timing.to_find_s:.1f} s"
    )
    _show(result)
    say(f"scenario: {folder / 'scenario.toml'}")
    say(f"report: {folder / PAGE}")


def _show(result: "Result") -> None:
    from rich.table import Table

    from tussle.worst import summary

    for sentence in summary(result):
        show(sentence)
    table = Table("key", "plain", "found", "simplest")
    for row in result.rows:
        table.add_row(row.key, row.plain, row.found, row.simplest)
    show_whole(table, columns())


class _Bar:
    """A progress bar: the stage, finished runs, and the time that remains if that is known."""

    def __init__(self, total: int | None) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=progress_console(), transient=True)
        self._task = self._bar.add_task("search", total=total)

    def __enter__(self) -> "_Bar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, stage: str) -> None:
        """Show the stage; those after the search have no known end."""
        if stage != "search":
            self._bar.update(self._task, description=stage, total=None)

    def note(self, text: str) -> None:
        """Print a note on a line of its own."""
        self._bar.stop()
        note(text)
        self._bar.start()

    def advance(self) -> None:
        """Count a run."""
        self._bar.advance(self._task)
