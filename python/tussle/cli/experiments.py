"""`tussle run` and `tussle matrix`: from a scenario to a dataset with its report."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

import tussle
from tussle.catalog import algorithm_names, without_groups
from tussle.cli.durations import chosen_duration
from tussle.cli.engines import (
    EngineName,
    HostsFile,
    KernelChoice,
    KernelName,
    MachineName,
    Modules,
    NetworkName,
    engine_of,
)
from tussle.cli.folders import folder as folder_of
from tussle.cli.pages import write_report
from tussle.cli.terminal import complain, progress_console, show_whole
from tussle.errors import TussleError, shown, unknown
from tussle.own_algorithms import is_own
from tussle.scenario import Scenario, ready_scenario, value_of_text

if TYPE_CHECKING:
    from tussle.dataset import Dataset
    from tussle.engines import Engine
    from tussle.sweep import Order, SweepProgress, SweepSettings

INTERRUPTED = 130
"""Exit status: 128 + SIGINT, as shells have it."""
RESULTS = Path("results")
_TO_BE_CHOSEN = "2 h"
"""Stands for the duration while it is not known: later than any start that makes sense."""
REPETITIONS_OF_PAIRS = 6
"""The least number of runs that gives a 95 % interval of a median."""

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help='Another value, such as path.rate="50 Mbit/s". Repeatable.'
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        parser=folder_of,
        help="Folder of the results, or an address like s3://bucket/folder; it must not exist yet.",
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Runs at a time; never changes results.", show_default="one a core")
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Execute the runs on a Dask cluster: its scheduler's address, like tcp://host:8786, or the file "
        "of its --scheduler-file. Never changes results.",
    ),
]
Seed = Annotated[int | None, typer.Option(help="Decides every random draw.", show_default="the scenario's")]
Repetitions = Annotated[
    int | None,
    typer.Option(
        help="Runs of each point, with different draws.",
        show_default="the scenario's, else 10 if it throws dice",
    ),
]
RepetitionsOfPairs = Annotated[
    int,
    typer.Option(
        help="Runs of each pair, each with other random numbers; verdicts need 6 for their interval."
    ),
]
RunOrder = Annotated[
    str,
    typer.Option(
        "--order",
        metavar="points|round-robin|random",
        help="Which runs come first: all repetitions of a point, each point in turn, or so but shuffled.",
    ),
]


def run(
    scenarios: Annotated[
        list[str],
        typer.Argument(metavar="SCENARIO…", help="Scenario files, and names of ready ones."),
    ],
    *,
    settings: Settings = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            parser=folder_of,
            help="Folder of the results, or an address like s3://bucket/folder; it must not exist yet. Of "
            "several scenarios: what theirs are in.",
            show_default="results/SCENARIO",
        ),
    ] = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    seed: Seed = None,
    repetitions: Repetitions = None,
    engine: EngineName = "sim",
    kernel: KernelName = None,
    machine: MachineName = None,
    modules: Modules = None,
    network: NetworkName = None,
    hosts: HostsFile = None,
    order: RunOrder = "points",
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Congestion control of every flow: an algorithm, or a class of yours, such as mine.py:Mine.",
            show_default="the scenario's",
        ),
    ] = None,
) -> None:
    """Run every point of a scenario and report on it; of several, one after the other."""
    files = [ready_scenario(name) for name in scenarios]
    folders = [output] if output and len(files) == 1 else [(output or RESULTS) / file.stem for file in files]
    given = _given({"seed": seed, "repetitions": repetitions}) | parse_settings(settings)
    loaded = [Scenario.load(file) for file in files]
    chosen = [each.with_settings(_everywhere(algorithm, each) | given) for each in loaded]
    chosen_engine = engine_of(engine, KernelChoice(machine, kernel, modules, network, hosts))
    means = SweepMeans(chosen_engine, workers, cluster, order)
    if len(files) > 1:
        _refuse_taken(folders)
    for folder, each in zip(folders, chosen, strict=True):
        if len(files) > 1:
            typer.echo(f"{folder.name}: {each.question or 'no question'}")
        _carry_out(each, folder, means)


def _everywhere(algorithm: str | None, scenario: Scenario) -> dict[str, Any]:
    """Return the settings that give every flow this algorithm, if there is one."""
    return _given({f"flows.{index}.algorithm": algorithm for index in range(len(scenario.flows))})


def _refuse_taken(folders: list[Path]) -> None:
    """Say before hours of runs, and not after, that results of some would have no place."""
    from tussle.dataset.files import refuse_existing

    for folder in folders:
        refuse_existing(folder)
        if folders.count(folder) > 1:
            raise TussleError(f"two of the scenarios would write {folder}; run them one by one, with -o")


def matrix(
    *,
    algorithms: Annotated[
        str,
        typer.Option(
            metavar="A,B,…",
            help="Whom to compare: algorithms, groups of them (`tussle list groups`), and classes of yours, "
            "such as mine.py:Mine.",
        ),
    ] = "all",
    profile: Annotated[str, typer.Option(help="The path, from `tussle list profiles`.")] = "lan",
    stagger: Annotated[str, typer.Option(help="How much later the second flow starts.")] = "10 s",
    duration: Annotated[
        str | None,
        typer.Option(help="How long each run lasts.", show_default="as the path needs for flows to converge"),
    ] = None,
    settings: Settings = None,
    output: Output = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    seed: Seed = None,
    repetitions: RepetitionsOfPairs = REPETITIONS_OF_PAIRS,
    engine: EngineName = "sim",
    kernel: KernelName = None,
    machine: MachineName = None,
    modules: Modules = None,
    network: NetworkName = None,
    hosts: HostsFile = None,
    order: RunOrder = "points",
) -> None:
    """Compare algorithms pair by pair: one flow starts, another joins. Every pair, in both orders."""
    names = algorithms_of(algorithms)
    given = _given({"seed": seed}) | parse_settings(settings)
    with _naming_options():
        pairs = Scenario.from_dict(
            {
                "question": f"Which of {', '.join(names)} share a bottleneck fairly, whoever starts first?",
                "duration": duration or _TO_BE_CHOSEN,
                # Flows on a drop-tail queue can lock in phase: repetitions shall differ a little.
                "start_jitter": "20 ms",
                "repetitions": repetitions,
                "path": {"profile": profile},
                "flows": [{"algorithm": names}, {"algorithm": names, "start": stagger}],
            }
        )
    chosen_engine = engine_of(engine, KernelChoice(machine, kernel, modules, network, hosts))
    chosen = pairs.with_settings(given)
    if duration is None and "duration" not in given:
        suited = chosen_duration(chosen)
        chosen = chosen.with_settings(suited.settings | given)
        typer.echo(suited.reason)
    means = SweepMeans(chosen_engine, workers, cluster, order)
    _carry_out(chosen, output or RESULTS / f"matrix-{profile}", means)


@contextmanager
def _naming_options() -> Iterator[None]:
    """Let errors name the options that settings came from: who gives those has written no scenario."""
    options = {
        "duration": "--duration",
        "repetitions": "--repetitions",
        "path.profile": "--profile",
        "flows.1.start": "--stagger",
    }
    try:
        yield
    except TussleError as error:
        sentences = str(error)
        for key, option in options.items():
            sentences = sentences.replace(f"scenario, {key}: ", f"{option}: ")
        raise TussleError(sentences, error.details) from error


class SweepMeans(NamedTuple):
    """What executes a sweep, how many runs at a time or on which cluster, and which first."""

    engine: "Engine"
    workers: int | None
    cluster: str | None = None
    order: str = "points"

    def settings(self, progress: "SweepProgress") -> "SweepSettings":
        """Return that as a sweep takes it; raises TussleError when there is no such order."""
        from tussle.sweep import ORDERS, SweepSettings

        if self.order not in ORDERS:
            raise TussleError(f"--order: {unknown('order', self.order, ORDERS)}")
        return SweepSettings(
            workers=self.workers,
            engine=self.engine,
            cluster=self.cluster,
            progress=progress,
            order=cast("Order", self.order),
        )


def parse_settings(settings: list[str] | None) -> dict[str, Any]:
    """Return the values of `KEY=VALUE` texts by their keys."""
    parsed: dict[str, Any] = {}
    for setting in settings or []:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise TussleError(f'--set {shown(setting)}: write KEY=VALUE, like path.rate="50 Mbit/s"')
        parsed[key.strip()] = value_of_text(text.strip())
    return parsed


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def algorithms_of(written: str) -> list[str]:
    """Return the algorithms that `--algorithms` names; groups stand for theirs."""
    known = algorithm_names()
    names = [name.strip() for name in written.split(",") if name.strip()]
    if not names:
        raise TussleError(f"--algorithms names none; give some of {', '.join(known)}")
    for name in names:
        if name not in known and not is_own(name):
            raise TussleError(f"--algorithms: {unknown('algorithm', name, known)}")
    return list(dict.fromkeys(without_groups(names)))


def _how_to_go_on(folder: Path) -> str:
    """Word an interruption that the sweep did not meet: it came before it, or after."""
    if folder.exists():
        return f"interrupted; the results are in {folder}: `tussle report {folder}` writes their report"
    return "interrupted before anything was finished; repeat the same command"


def _finished_before(scenario: Scenario, folder: Path, means: SweepMeans) -> "Dataset | None":
    """Return the dataset of the same command that was killed after its last run and before its report."""
    from tussle.dataset.files import PROVENANCE, REPORT
    from tussle.dataset.places import is_remote

    if is_remote(folder) or not (folder / PROVENANCE).is_file() or (folder / REPORT).exists():
        return None
    found = tussle.open(folder)
    facts = (found.provenance["engine"], found.provenance.get("tussle"))
    if found.scenario != scenario or facts != (dict(means.engine.about()), tussle.__version__):
        return None
    typer.echo(f"{folder} holds all runs of this command already; writing their report")
    return found


def _carry_out(scenario: Scenario, folder: Path, means: SweepMeans) -> None:
    """Sweep, report, and say in short what came out."""
    try:
        from tussle.cli.summary import NOTES, summary
        from tussle.dataset.files import REPORT
        from tussle.sweep import ProgressBar, sweep

        with ProgressBar(progress_console()) as bar:
            dataset = _finished_before(scenario, folder, means)
            dataset = dataset or sweep(scenario, folder, means.settings(bar))
        page = write_report(dataset, folder / REPORT, means.workers)
    except KeyboardInterrupt as interrupted:
        complain(str(interrupted) or _how_to_go_on(folder))
        raise typer.Exit(INTERRUPTED) from None
    for table in summary(dataset):
        show_whole(table)
    for note in NOTES:
        if said := note(dataset):
            typer.echo(said)
    for cost in bar.costs:
        typer.echo(cost.sentence())
    typer.echo(f"report: {page}")
