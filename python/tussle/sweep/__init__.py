"""Sweep: executes every run of a scenario, on all cores, resumable, and writes a dataset."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import tussle
from tussle.dataset import FORMAT, Contents, Dataset, save
from tussle.dataset.digest import file_digest
from tussle.dataset.files import refuse_existing
from tussle.dataset.places import here, is_remote, place
from tussle.engines import Engine, engine
from tussle.errors import TussleError, argument
from tussle.own_algorithms import files_sha256, is_own
from tussle.provenance import Origin, provenance
from tussle.scenario import RECORDINGS, PlannedRun, Scenario
from tussle.sweep.cluster import Cluster, Needs, connected
from tussle.sweep.dispatch import Dispatch, Limits, which
from tussle.sweep.merge import merged
from tussle.sweep.order import ORDERS, Order, ordered
from tussle.sweep.partial import (
    SCENARIO_OF_IDENTITY,
    Partial,
    finished_runs,
    open_partial,
    remove_left_behind,
)
from tussle.sweep.plan import runs_of
from tussle.sweep.progress import ProgressBar, Silent, SweepProgress
from tussle.workers.pool import Inline, available_cores, processes

__all__ = [
    "ORDERS",
    "Order",
    "ProgressBar",
    "Silent",
    "SweepProgress",
    "SweepSettings",
    "finished_runs",
    "own_algorithms",
    "remove_left_behind",
    "sweep",
]

_MOST_RUNS_A_TASK = 1000


@dataclass(frozen=True)
class SweepSettings:
    """Execution of a sweep; nothing here changes its results."""

    workers: int | None = None
    """Number of runs at a time; `None`: the engine's limit, or one for each core of this process."""
    engine: Engine = field(default_factory=lambda: engine("sim"))
    """The engine; with `Variants`, each variant executes every run."""
    cluster: str | None = None
    """The Dask cluster whose workers execute the runs: the address of its scheduler, or the scheduler's file.
    """
    executor: Executor | None = None
    """An executor for the runs, instead of a cluster or processes of this host."""
    progress: SweepProgress = field(default_factory=Silent)
    """Receiver of progress reports."""
    order: Order = "points"
    """Order in which runs are executed: in real time, the environment changes over the day."""


def sweep(scenario: Scenario, folder: Path | str, settings: SweepSettings | None = None) -> Dataset:
    """Execute every run of a scenario and write the dataset `folder`, a path or an address like `s3://b/f`.

    Finished runs are kept in `<folder>.partial` until the sweep ends (in `results` for a remote folder): a
    sweep that was interrupted, even killed, resumes when it is called again, and ends with the same bytes.
    Raises TussleError when a run fails or a file cannot be written; KeyboardInterrupt, with a message, when
    interrupted.
    """
    folder, settings = place(folder), settings or SweepSettings()
    refuse_existing(folder)
    _refuse_crowd(settings)
    with (
        closing(settings.engine),
        connected(settings.cluster, settings.progress.wait) if settings.cluster else nullcontext() as cluster,
    ):
        return _swept(scenario, folder, _Means(settings, cluster))


@dataclass(frozen=True)
class _Means:
    """The settings, and the cluster that they name."""

    settings: SweepSettings
    cluster: Cluster | None


def _swept(scenario: Scenario, folder: Path, means: _Means) -> Dataset:
    settings = means.settings
    plan = runs_of(scenario, settings.engine)
    own_algorithms = _own_algorithms(plan)
    recordings = {path: f"{RECORDINGS}/{name}" for path, name in scenario.recordings().items()}
    recorded = _digests(recordings)
    origin = Origin(scenario.to_stored_toml(), scenario.seed, settings.engine.about(), own_algorithms)
    identity = _identity(origin, {recordings[path]: digest for path, digest in recorded.items()})
    with open_partial(here(folder), identity) as partial:
        finished = partial.finished()
        pending = [planned for planned in ordered(plan, settings.order) if planned.index not in finished]
        _check(settings.engine, pending)
        if means.cluster is not None:
            means.cluster.require(Needs(settings.engine, tuple(_own(plan))))
        settings.progress.begin(len(plan), len(plan) - len(pending))
        if partial.discarded:
            settings.progress.repeat(partial.discarded)
        with _saying_what_is_kept(partial):
            _execute(pending, partial, means)
            _refuse_changed(own_algorithms | recorded, _own_algorithms(plan) | _digests(recordings))
            settings.progress.merge()
            tables = merged(partial.pieces(), plan)
            # The command of a remote dataset is repeated in its local copy.
            named = Path(folder.name) if is_remote(folder) else folder
            copies = {copy: Path(path) for path, copy in recordings.items()}
            contents = Contents(origin.scenario_toml, provenance(origin, named), tables, copies)
            save(folder, contents, staging=partial.folder / "dataset")
        partial.remove()
    return Dataset.open(folder)


def _identity(origin: Origin, recordings: Mapping[str, str]) -> Mapping[str, object]:
    return {
        SCENARIO_OF_IDENTITY: origin.scenario_toml,
        "recordings": dict(recordings),
        "engine": dict(origin.engine),
        "own algorithms": dict(origin.own_algorithms),
        "tussle version": tussle.__version__,
        "dataset format": FORMAT,
    }


def own_algorithms(scenario: Scenario, engine: Engine) -> dict[str, str]:
    """Return the digests of the Python files of users' own algorithms in a sweep."""
    return _own_algorithms(runs_of(scenario, engine))


def _own_algorithms(plan: Iterable[PlannedRun]) -> dict[str, str]:
    """Return the digests of the Python files of users' own algorithms."""
    return files_sha256(_own(plan))


def _digests(files: Iterable[str]) -> dict[str, str]:
    """Return the digest of each file; raises TussleError if one cannot be read."""
    try:
        return {file: file_digest(Path(file)) for file in files}
    except OSError as error:
        raise TussleError(f"{error.filename} cannot be read ({error.strerror}); put it back") from error


def _own(plan: Iterable[PlannedRun]) -> list[str]:
    """Return users' own algorithms, as flows name them."""
    named = {flow["algorithm"] for planned in plan for flow in planned.run["flows"]}
    return sorted(filter(is_own, named))


def _refuse_changed(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise TussleError when a file changed during the sweep: it is unknown which run used which version."""
    for file, digest in before.items():
        if after[file] != digest:
            raise TussleError(f"{file} changed during the sweep; give another output folder (-o) and repeat")


def _check(chosen: Engine, pending: Iterable[PlannedRun]) -> None:
    """Raise TussleError, before anything runs, when the engine cannot honour one of the runs.

    Repetitions of a point differ in their random numbers only: the first of them is checked.
    """
    for _, repetitions in itertools.groupby(pending, lambda planned: planned.point):
        planned = next(repetitions)
        try:
            chosen.check(planned.run)
        except TussleError as error:
            raise TussleError(f"{which(planned)}: {error}", error.details) from error


def _refuse_crowd(settings: SweepSettings) -> None:
    """Raise TussleError when more runs at a time are requested than the engine allows."""
    most = settings.engine.max_parallel_runs
    if settings.cluster is not None and settings.workers is not None:
        raise TussleError(
            f"{argument('workers')}: the cluster's workers decide the number of parallel runs; leave it out"
        )
    if most is not None and settings.cluster is not None:
        raise TussleError(
            f"{argument('cluster')}: the engine {settings.engine.name} executes runs in real time, from this "
            "machine; leave it out"
        )
    if most is not None and settings.executor is not None:
        raise TussleError(
            f"the engine {settings.engine.name} executes runs from this process only; leave the executor out"
        )
    if most is not None and (settings.workers or most) > most:
        raise TussleError(
            f"{argument('workers', settings.workers)}: the engine {settings.engine.name} executes {most} run "
            "at a time, since parallel runs would delay each other; leave it out"
        )


def _execute(pending: Sequence[PlannedRun], partial: Partial, means: _Means) -> None:
    """Execute and store the pending runs; raises TussleError with the first problem, after the others."""
    progress = means.settings.progress
    with _dispatch(len(pending), means) as dispatch:
        for runs, outcome in dispatch.results(pending):
            partial.store(range(runs[0].index, runs[-1].index + 1), outcome.packed)
            for _ in runs:
                progress.advance()
            progress.spend(outcome.costs)
    if dispatch.problems:
        raise dispatch.problems[min(dispatch.problems)]


@contextmanager
def _dispatch(runs: int, means: _Means) -> Iterator[Dispatch]:
    settings, cluster = means.settings, means.cluster
    workers = min(settings.workers or settings.engine.max_parallel_runs or available_cores(), runs)
    # Twice as many tasks as workers, so that none waits for this process.
    limits = Limits(lambda: 2 * workers, _MOST_RUNS_A_TASK)
    if cluster is not None:
        yield Dispatch(cluster, settings.engine, Limits(lambda: 2 * cluster.threads(), _MOST_RUNS_A_TASK))
    elif settings.executor is not None:
        yield Dispatch(settings.executor, settings.engine, limits)
    elif workers > 1:
        with processes(workers) as executor:
            yield Dispatch(executor, settings.engine, limits)
    else:
        yield Dispatch(Inline(), settings.engine, Limits(lambda: 1, 1))


@contextmanager
def _saying_what_is_kept(partial: Partial) -> Iterator[None]:
    """Add to any error the number of runs that are kept."""
    try:
        yield
    except TussleError as error:
        raise TussleError(f"{error}; {_kept(partial)}", error.details) from error
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {_kept(partial)}") from None


def _kept(partial: Partial) -> str:
    finished = len(partial.finished())
    if finished == 0:
        return "no run was finished"
    return f"finished runs: {finished}, kept in {partial.folder}; repeat the same command to go on from there"
