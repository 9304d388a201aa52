"""`tussle agree`: comparison of the simulator with Linux."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import tussle
from tussle.catalog import groups
from tussle.cli._completion import algorithm_list
from tussle.cli._engines import KernelChoice, KernelNames, engines_of
from tussle.cli._options import (
    RESULTS,
    AsJson,
    ClusterAddress,
    Settings,
    Workers,
    algorithms_of,
    parse_settings,
)
from tussle.cli._sweep import SweepMeans
from tussle.cli._terminal import (
    INTERRUPTED,
    choose_json,
    complain,
    note,
    print_json,
    progress_console,
    say,
)
from tussle.errors import TussleError, unknown
from tussle.scenario import Scenario
from tussle.scenario.axes import written

if TYPE_CHECKING:
    from tussle.agreement import Agreement
    from tussle.answers.documents import Agreed
    from tussle.dataset import Dataset

_BROKEN = 1
"""Exit status: a bound does not hold."""
_ENGINES = ("sim", "kernel")
_SIMULATOR = "simulator"
_LINUX = "Linux"


class _How(NamedTuple):
    """The settings of the sweep, and whether results of another build are accepted."""

    means: SweepMeans
    takes_any_build: bool


def agree(
    *,
    algorithms: Annotated[
        str,
        typer.Option(
            metavar="A,B,…",
            help="Algorithms of Linux, and groups of them (`tussle list groups`).",
            autocompletion=algorithm_list,
        ),
    ] = "linux",
    grid: Annotated[
        str,
        typer.Option(
            metavar="quick|full", help="The grid of cells: quick takes minutes, full about an hour."
        ),
    ] = "quick",
    cells: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Number of cells, instead of the grid's.", show_default="the grid's"
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of the sample of cells.", show_default="the grid's")
    ] = None,
    hosts: Annotated[
        bool,
        typer.Option(
            "--hosts", help="Repeat the grid with each setting of `hosts` that Linux has, one at a time."
        ),
    ] = False,
    settings: Settings = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder of datasets and pages; existing results are kept.",
            show_default="results/agree-GRID",
        ),
    ] = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    kernel: KernelNames = None,
    reuse: Annotated[
        str | None,
        typer.Option(
            metavar="sim|kernel",
            help="Keep existing results of that engine, even if another build made them.",
            show_default="none",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the simulator with Linux: run the same random scenarios on both, and show the differences.

    The scenarios, called cells, are sampled over rate, round-trip time, buffer, loss, flows and algorithms.
    The exit status is 1 when a difference exceeds its bound by more than the randomness between runs
    explains. With several kernels, the simulator is compared with each of them. Each kernel, and with
    `--hosts` each setting, has a folder of datasets and pages. `--set hosts.profile=linux-6.1` compares
    hosts as Linux ships them.
    """
    from tussle.agreement import GRIDS, HOSTS, scenarios

    choose_json(as_json=as_json)
    if grid not in GRIDS:
        raise TussleError(f"--grid: {unknown('grid', grid, GRIDS)}")
    if reuse not in (None, *_ENGINES):
        raise TussleError(f"--reuse: {unknown('engine', str(reuse), _ENGINES)}")
    changed = {key: value for key, value in {"cells": cells, "seed": seed}.items() if value is not None}
    sampled = replace(GRIDS[grid], **changed)
    names = _of_linux(algorithms)
    folder = output or RESULTS / "-".join(["agree", grid, *(f"{key}-{changed[key]}" for key in changed)])
    linux = engines_of("kernel", KernelChoice(kernel=kernel))
    for_all = parse_settings(settings)
    cells_by_name = _with_settings(scenarios(sampled, names), for_all)
    flags = [*(["--hosts"] if hosts else []), *(word for each in settings or [] for word in ("--set", each))]
    command = ["tussle", "agree", *_options(algorithms, grid, changed | _given(kernel)), *flags]
    engines = {**engines_of("sim", KernelChoice()), **linux}
    hows = {
        name: _How(SweepMeans(each, workers, cluster), each.name == reuse) for name, each in engines.items()
    }
    done: list[Agreed] = []
    try:
        for changed_hosts in HOSTS if hosts else ({},):
            place = folder / folder_of(changed_hosts)
            given = {f"hosts.{key}": value for key, value in changed_hosts.items()}
            if given:
                say(", ".join(f"{key} = {written(value)}" for key, value in given.items()))
            chosen = {name: cell.with_settings(given) for name, cell in cells_by_name.items()}
            results = {name: _results(chosen, place / name, how) for name, how in hows.items()}
            done += _compared(results, place, _Asked(shlex.join(command), for_all | given))
    except KeyboardInterrupt as interrupted:
        complain(str(interrupted) or f"interrupted; repeat the same command to go on in {folder}")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        from tussle.answers.documents import agreement_document

        print_json(agreement_document(done).model_dump_json(indent=2))
    if any(each.is_broken for each in done):
        raise typer.Exit(_BROKEN)


def _with_settings(cells: Mapping[str, Scenario], settings: Mapping[str, Any]) -> dict[str, Scenario]:
    for key in settings:
        if any(key in case for cell in cells.values() for case in cell.cases):
            raise TussleError(f"--set {key}: every cell has a value of its own; set another key")
    return {name: cell.with_settings(settings) for name, cell in cells.items()}


def folder_of(settings: Mapping[str, Any]) -> str:
    """Return the name of the folder for results with these settings of hosts, empty without any.

    >>> folder_of({"sack": False}), folder_of({"rmem": "4096 16384 65536", "moderate_rcvbuf": False})
    ('sack-false', 'rmem-4096-16384-65536_moderate_rcvbuf-false')
    >>> folder_of({"bus": "200 Mbit/s"})
    'bus-200-Mbit-s'
    """
    return "_".join(re.sub(r"[ /]", "-", f"{key}-{written(value)}") for key, value in settings.items())


class _Asked(NamedTuple):
    """The command that makes these results, and the values that replace those of the grid, by their keys."""

    command: str
    settings: Mapping[str, Any]


def _compared(
    results: Mapping[str, "Mapping[str, Dataset]"], folder: Path, asked: _Asked
) -> "Iterator[Agreed]":
    """Compare the simulator with each kernel, write and print the differences; yield each agreement."""
    from tussle.agreement import About, Pair, compare, write
    from tussle.answers.documents import agreed

    simulated, *linux = results
    for name in linux:
        called = (_SIMULATOR, _LINUX if name == "kernel" else name.removeprefix("kernel-"))
        cells = results[simulated]
        agreement = compare({cell: Pair(cells[cell], results[name][cell]) for cell in cells})
        about = About(asked.command, datetime.now(UTC).date().isoformat(), called)
        page = write(agreement, folder / name if len(linux) > 1 else folder, about)
        _show(agreement, called)
        say(f"pages: {page}")
        yield agreed(agreement, called, asked.settings, str(page))


def _given(kernel: str | None) -> dict[str, str]:
    return {"kernel": kernel} if kernel else {}


def _of_linux(written: str) -> list[str]:
    known = groups()["linux"].algorithms
    names = algorithms_of(written)
    for name in names:
        if name not in known:
            raise TussleError(f"--algorithms: Linux has no {name}; give some of {', '.join(known)}")
    return names


def _options(algorithms: str, grid: str, changed: Mapping[str, object]) -> list[str]:
    chosen = [] if algorithms == "linux" else ["--algorithms", algorithms]
    more = [word for key, value in changed.items() for word in (f"--{key}", str(value))]
    return [*chosen, "--grid", grid, *more]


def _results(scenarios: Mapping[str, Scenario], folder: Path, how: _How) -> "Mapping[str, Dataset]":
    """Sweep the scenarios without a dataset; raises TussleError if a folder holds another dataset."""
    from tussle.sweep import ProgressBar, sweep

    found: dict[str, Dataset] = {}
    with ProgressBar(progress_console(), note) as bar:
        for name, scenario in scenarios.items():
            place = folder / name
            if place.exists():
                found[name] = tussle.open(place)
                _refuse_others(found[name], scenario, how)
                continue
            folder.mkdir(parents=True, exist_ok=True)
            found[name] = sweep(scenario, place, how.means.settings(bar))
    return found


def _refuse_others(dataset: "Dataset", scenario: Scenario, how: _How) -> None:
    if dataset.scenario != scenario:
        raise TussleError(f"{dataset.folder} holds results of other cells; give another folder (-o)")
    made, now = dataset.provenance["engine"], how.means.engine.about()
    if made != now and not how.takes_any_build:
        names = {**made, **now}
        differs = ", ".join(name for name in names if made.get(name) != now.get(name))
        raise TussleError(
            f"{dataset.folder} is from another build of the engine {made['name']} ({differs} differs); "
            f"remove it to run it again, or keep it with --reuse {made['name']}"
        )


def _show(agreement: "Agreement", called: tuple[str, str]) -> None:
    """Print the bounds, and every cell outside them; `called` are the names of the two engines."""
    from tussle.agreement import amount, number, signed
    from tussle.answers import Cell, Grid, Heading
    from tussle.cli._grids import show_grids

    title = "" if called[1] == _LINUX else " and ".join(called)
    titles = ("cells", "median", "at most", "95th percentile", "at most", "holds")
    headings = [Heading("difference"), *(Heading(each, "number") for each in titles)]
    bounds = []
    for verdict in agreement.verdicts:
        bound = verdict.bound
        sizes = (verdict.found.median, bound.median, verdict.found.p95, bound.p95)
        sizes_in_words = [amount(bound.quantity, size) for size in sizes]
        words = (bound.words, str(verdict.cells), *sizes_in_words, verdict.answer)
        bounds.append([Cell(each) for each in words])
    spread = f"spread of {called[1]}"
    keys = ("outside", "algorithm", "flows", "rate", "rtt", "buffer", "loss")
    names = [*(Heading(each) for each in keys)]
    names += [Heading(each, "number") for each in (*called, spread, "difference")]
    cells = []
    for row in agreement.outside.iter_rows(named=True):
        where = (row[key] for key in ("bound", "algorithm", "arrangement", "rate", "rtt", "buffer", "loss"))
        means = (number(row[key]) for key in ("tested", "reference", "reference_spread"))
        words = (*where, *means, signed(row["quantity"], row["difference"]))
        cells.append([Cell(each) for each in words])
    of_all = f"{agreement.same_cells} of {agreement.cells.height} cells"
    same = f"In {of_all} every run delivers and retransmits the same."
    found = [Grid(title, headings, bounds, same)]
    if cells:
        found.append(Grid("Cells outside the bounds", names, cells, keys=len(keys)))
    show_grids(found)
