"""`tussle paper`: runs a published study again, and writes its page."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import tussle
from tussle.cli._completion import algorithm_list, names_of
from tussle.cli._engines import KernelChoice, KernelNames, engines_of
from tussle.cli._options import RESULTS, ClusterAddress, Workers, algorithms_of
from tussle.cli._sweep import SweepMeans
from tussle.cli._terminal import INTERRUPTED, columns, complain, note, progress_console, say, show_whole
from tussle.errors import TussleError, unknown
from tussle.scenario import Scenario

if TYPE_CHECKING:
    from tussle.dataset import Dataset
    from tussle.papers import Setting, Study
    from tussle.scenario import PlannedRun

_ENGINES = ("sim", "kernel")
_MINUTE_S = 60


class _Work(NamedTuple):
    """A part of the study to be run."""

    part: str
    scenario: Scenario
    place: Path
    means: SweepMeans


def paper(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="The study, from `tussle list papers`.",
            autocompletion=names_of("papers"),
        ),
    ],
    *,
    part: Annotated[
        str,
        typer.Option(metavar="A,B,…", help="Run only these parts of the study.", show_default="all parts"),
    ] = "",
    engine: Annotated[
        str, typer.Option(metavar="sim|kernel", help="The engine; the page shows the results of both.")
    ] = "sim",
    quick: Annotated[
        bool,
        typer.Option(
            "--quick/--full", help="Run fewer points and shorter runs; --full runs the whole study."
        ),
    ] = False,
    algorithms: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Algorithms in place of the study's.",
            autocompletion=algorithm_list,
            show_default="the study's",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A path in place of the study's, from `tussle list profiles`; parts that vary the path are "
            "left out.",
            autocompletion=names_of("profiles"),
            show_default="the study's",
        ),
    ] = None,
    study_hosts: Annotated[
        bool,
        typer.Option(
            "--study-hosts/--today",
            help="Use the settings of the study's hosts; --today uses those of Linux 6.1.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder of datasets and the page; existing results are kept.",
            show_default="results/paper-STUDY, with the options that change it",
        ),
    ] = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    kernel: KernelNames = None,
) -> None:
    """Run a published study again, and write a page with its numbers beside the new ones.

    The page compares number by number, checks the study's conclusions, and shows what the agreement depends
    on. It has the results of all engines and kernels in the folder.
    """
    from tussle.papers import STUDY_HOSTS, Setting, Study, chosen_parts, planned

    chosen = Study.load(study)
    if engine not in _ENGINES:
        raise TussleError(f"--engine: {unknown('engine', engine, _ENGINES)}")
    names = tuple(algorithms_of(algorithms)) if algorithms else ()
    setting = Setting("quick" if quick else "full", names, profile, study_hosts)
    parts = chosen_parts(chosen, [name.strip() for name in part.split(",") if name.strip()], setting)
    folder = output or RESULTS / "-".join(["paper", study, *_changes(setting)])
    work = [
        _Work(
            name,
            planned(chosen, name, setting),
            folder / (label + STUDY_HOSTS * study_hosts) / name,
            SweepMeans(each, workers, cluster),
        )
        for label, each in engines_of(engine, KernelChoice(kernel=kernel)).items()
        for name in parts
    ]
    able = _without_what_cannot_run(work, named=bool(part))
    try:
        _carry_out(able)
    except KeyboardInterrupt as interrupted:
        complain(str(interrupted) or f"interrupted; repeat the same command to go on in {folder}")
        raise typer.Exit(INTERRUPTED) from None
    _publish(chosen, folder, shlex.join(["tussle", "paper", study, *_options(part, engine, kernel, setting)]))


def _changes(setting: "Setting") -> list[str]:
    quick = [setting.size] if setting.size == "quick" else []
    algorithms = [Path(name).name for name in setting.algorithms]
    return [*quick, *([setting.profile] if setting.profile else []), *algorithms]


def _options(part: str, engine: str, kernel: str | None, setting: "Setting") -> list[str]:
    """Return the options that make these results."""
    given = {"part": part, "algorithms": ",".join(setting.algorithms), "profile": setting.profile}
    given |= {"engine": engine if engine != "sim" else "", "kernel": kernel}
    size = ["--quick"] if setting.size == "quick" else []
    size += ["--study-hosts"] if setting.study_hosts else []
    return [*size, *(word for key, value in given.items() if value for word in (f"--{key}", value))]


def _without_what_cannot_run(work: Sequence[_Work], *, named: bool) -> list[_Work]:
    """Return the parts that the engine can honour, and say which others are left out.

    Raises TussleError, before anything runs, if there are none, or if an unsuitable part was named.
    """
    reasons: dict[str, str] = {}
    for part, scenario, _, means in work:
        try:
            for run in {planned.point: planned.run for planned in scenario.runs()}.values():
                means.engine.check(run)
        except TussleError as error:
            reasons[part] = str(error)
    able = [each for each in work if each.part not in reasons]
    if reasons and (named or not able):
        name, reason = next(iter(reasons.items()))
        parts = ",".join(dict.fromkeys(each.part for each in able))
        advice = f"give --part {parts}" if parts else "give --engine sim"
        which, engine = ", ".join(reasons), work[0].means.engine.name
        raise TussleError(f"--engine {engine} cannot run {which} ({name}: {reason}); {advice}")
    for name, reason in reasons.items():
        note(f"left out: {name} ({reason})")
    return able


def _carry_out(work: Sequence[_Work]) -> None:
    """Sweep the parts without a dataset; raises TussleError if a folder holds another dataset."""
    from tussle.sweep import ProgressBar, sweep

    for each in work:
        if each.place.exists():
            _refuse_others(each)
    todo = [each for each in work if not each.place.exists()]
    if todo:
        say(_estimate(todo))
    for part, scenario, place, means in todo:
        place.parent.mkdir(parents=True, exist_ok=True)
        with ProgressBar(progress_console(), note) as bar:
            sweep(scenario, place, means.settings(bar))
        say(f"{_called(part, place)}: done")


def _refuse_others(work: _Work) -> None:
    """Raise TussleError when the existing dataset has other settings, or another kernel."""
    found = tussle.open(work.place)
    if found.scenario != work.scenario:
        raise TussleError(f"{work.place} holds results of other settings; give another folder (-o)")
    made, now = (engine.get("kernel") for engine in (found.provenance["engine"], work.means.engine.about()))
    if made != now:
        raise TussleError(f"{work.place} holds results of the kernel {made}; give another folder (-o)")


def _called(part: str, place: Path) -> str:
    """Name a part, and the kernel where there are several."""
    engine = place.parent.name.removesuffix("-study-hosts")
    return part if engine in _ENGINES else f"{part} on {engine.removeprefix('kernel-')}"


def _estimate(todo: Sequence[_Work]) -> str:
    from tussle.papers import estimate_s
    from tussle.workers.pool import available_cores

    plans = {_called(each.part, each.place): each.scenario.runs() for each in todo}
    left = [_unfinished(plan, each.place) for plan, each in zip(plans.values(), todo, strict=True)]
    sent = [_sent_on_the_simulator(each) for each in todo]
    means = todo[0].means
    # The size of a cluster changes during the sweep.
    workers = 1 if means.cluster else means.workers or available_cores()
    of_parts = zip(left, sent, strict=True)
    took_s = sum(estimate_s(plan, means.engine.name, known) for plan, known in of_parts) / workers
    runs = ", ".join(
        f"{part} {len(of_part)}" + f" of {len(plan)}" * (len(of_part) < len(plan))
        for (part, plan), of_part in zip(plans.items(), left, strict=True)
    )
    words = f"{took_s / _MINUTE_S:.0f} min" if took_s > 2 * _MINUTE_S else f"{took_s:.0f} s"
    unless = ", or less if links are not full" if None in sent else ""
    return f"runs: {runs}; about {words} with {workers} at a time{unless}"


def _unfinished(plan: "Iterable[PlannedRun]", place: Path) -> "list[PlannedRun]":
    """Return the runs of a part but for those that an interrupted command has finished."""
    from tussle.sweep import finished_runs

    finished = finished_runs(place)
    return [planned for planned in plan if planned.index not in finished]


def _sent_on_the_simulator(work: _Work) -> dict[int, int] | None:
    """Return the packets that each run of a part sent, if the folder has the simulator's results of them."""
    import polars as pl

    from tussle.papers import STUDY_HOSTS

    engine = "sim" + STUDY_HOSTS * work.place.parent.name.endswith(STUDY_HOSTS)
    simulated = work.place.parents[1] / engine / work.part
    if not simulated.exists() or (found := tussle.open(simulated)).scenario != work.scenario:
        return None
    flows = found.flows.group_by("run").agg(pl.col("sent_packets").sum()).collect()
    return dict(flows.iter_rows())


def _publish(study: "Study", folder: Path, command: str) -> None:
    """Write the page of all results in the folder, and print a summary."""
    from tussle.papers import About, content, results_in, save, write

    results = results_in(study, folder)
    about = About(command, datetime.now(UTC).date().isoformat(), tussle.__version__)
    page = save(write(content(study, results, about)), folder, "index.html")
    _show(study, results)
    say(f"page: {page}")


def _show(study: "Study", results: "Mapping[str, Mapping[str, Dataset]]") -> None:
    """Print the agreement of each table, and the result for each conclusion."""
    from rich.table import Table

    from tussle.papers import check, on_printed_numbers, ranks_words, rows, score, two_digits, verdicts_words

    header = (
        "table",
        "engine",
        "cells",
        "rank correlation",
        "median difference",
        "verdicts agree",
        "Cohen's κ",
    )
    tables = Table(*header)
    for table in study.tables:
        compared = rows(study, table, results)
        for engine in results:
            found = score(table, compared, engine)
            if found.cells:
                ranks = ", ".join(ranks_words(found, column) for column in found.spearman)
                agree, kappa = (
                    verdicts_words(found.verdicts),
                    two_digits(found.verdicts and found.verdicts.kappa),
                )
                apart = "-" if found.median_difference is None else f"{100 * found.median_difference:.0f} %"
                tables.add_row(table.name, engine, str(found.cells), ranks, apart, agree, kappa)
    conclusions = Table("conclusion", *([] if study.follows else ["on printed numbers"]), *results)
    for statement in study.statements:
        printed = on_printed_numbers(study, statement).words.replace("not run", "-")
        answers = [check(statement, each).words for each in results.values()]
        conclusions.add_row(statement.says, *([] if study.follows else [printed]), *answers)
    for table in (tables, conclusions):
        if table.row_count:
            show_whole(table, columns())
