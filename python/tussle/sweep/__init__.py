"""Sweep: every run of a scenario, on all cores, resumable; ends with a dataset."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import tussle
from tussle.dataset import FORMAT, Contents, Dataset, save
from tussle.dataset.files import refuse_existing
from tussle.engines import Engine, engine
from tussle.errors import TussleError
from tussle.own_algorithms import files_sha256
from tussle.provenance import Origin, provenance
from tussle.scenario import PlannedRun, Scenario
from tussle.sweep.dispatch import Dispatch, which
from tussle.sweep.merge import Stored, merged
from tussle.sweep.order import ORDERS, Order, ordered
from tussle.sweep.partial import Partial, open_partial
from tussle.sweep.pool import Inline, available_cores, processes
from tussle.sweep.progress import ProgressBar, Silent, SweepProgress

__all__ = ["ORDERS", "Order", "ProgressBar", "SweepProgress", "SweepSettings", "sweep"]


@dataclass(frozen=True)
class SweepSettings:
    """How a sweep is executed; nothing here changes its results."""

    workers: int | None = None
    """Runs executed at a time; `None`: as many as the engine may, or one for each core of this process."""
    engine: Engine = field(default_factory=lambda: engine("sim"))
    """What executes a run."""
    executor: Executor | None = None
    """Where runs are executed instead of in processes of this host, such as a Dask cluster's executor."""
    progress: SweepProgress = field(default_factory=Silent)
    """Who is told how far the sweep is."""
    order: Order = "points"
    """In which order runs are executed: in real time, what is around them changes with the hour."""


def sweep(scenario: Scenario, folder: Path | str, settings: SweepSettings | None = None) -> Dataset:
    """Execute every run of a scenario and write the dataset `folder`.

    Finished runs are kept in `<folder>.partial` until all are: a sweep that was stopped, even killed, goes on
    from there when it is called again, and ends with the same bytes. Raises TussleError when a run fails or
    something cannot be written; KeyboardInterrupt, with a sentence, when interrupted. A script calls it under
    `if __name__ == "__main__":`, because workers import the script.
    """
    folder, settings = Path(folder), settings or SweepSettings()
    refuse_existing(folder)
    _refuse_crowd(settings)
    plan = scenario.runs()
    own_algorithms = _own_algorithms(plan)
    origin = Origin(scenario.to_toml(), scenario.seed, settings.engine.about(), own_algorithms)
    with closing(settings.engine), open_partial(folder, _identity(origin)) as partial:
        finished = partial.finished()
        pending = [planned for planned in ordered(plan, settings.order) if planned.index not in finished]
        _check(settings.engine, pending)
        settings.progress.begin(len(plan), len(plan) - len(pending))
        with _saying_what_is_kept(partial):
            _execute(pending, partial, settings)
            _refuse_changed(own_algorithms, _own_algorithms(plan))
            settings.progress.merge()
            tables = merged(Stored(partial, plan))
            contents = Contents(origin.scenario_toml, provenance(origin, folder), tables)
            save(folder, contents, staging=partial.folder / "dataset")
        partial.remove()
    return Dataset.open(folder)


def _identity(origin: Origin) -> Mapping[str, object]:
    return {
        "scenario": origin.scenario_sha256,
        "engine": dict(origin.engine),
        "own algorithms": dict(origin.own_algorithms),
        "tussle version": tussle.__version__,
        "dataset format": FORMAT,
    }


def _own_algorithms(plan: Iterable[PlannedRun]) -> dict[str, str]:
    """Return the digests of the Python files that algorithms of the runs are in."""
    return files_sha256({flow["algorithm"] for planned in plan for flow in planned.run["flows"]})


def _refuse_changed(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise TussleError when a file changed while the runs were executed: nobody knows which used which."""
    for file, digest in before.items():
        if after[file] != digest:
            raise TussleError(f"{file} changed during the sweep; give another output folder (-o) and repeat")


def _check(chosen: Engine, pending: Iterable[PlannedRun]) -> None:
    """Raise TussleError, before anything runs, when the engine cannot honour one of the runs."""
    for planned in pending:
        try:
            chosen.check(planned.run)
        except TussleError as error:
            raise TussleError(f"{which(planned)}: {error}", error.details) from error


def _refuse_crowd(settings: SweepSettings) -> None:
    """Raise TussleError when more runs are asked for at a time than the engine may execute."""
    most = settings.engine.at_once
    if most is not None and settings.executor is not None:
        raise TussleError(
            f"the engine {settings.engine.name} works for this process alone; leave the executor out"
        )
    if most is not None and (settings.workers or most) > most:
        raise TussleError(
            f"--workers {settings.workers}: the engine {settings.engine.name} executes {most} run at a time, "
            "since others would make it late; leave the option out"
        )


def _execute(pending: Sequence[PlannedRun], partial: Partial, settings: SweepSettings) -> None:
    """Execute and store the pending runs; raises TussleError with the first problem, after the others."""
    with _dispatch(len(pending), settings) as dispatch:
        for planned, finished in dispatch.results(pending):
            partial.store(planned.index, finished.packed)
            settings.progress.advance()
            settings.progress.spend(finished.costs)
    if dispatch.problems:
        raise dispatch.problems[min(dispatch.problems)]


@contextmanager
def _dispatch(runs: int, settings: SweepSettings) -> Iterator[Dispatch]:
    workers = min(settings.workers or settings.engine.at_once or available_cores(), runs)
    # Twice as many runs as workers, so that none waits for this process.
    if settings.executor is not None:
        yield Dispatch(settings.executor, settings.engine, 2 * workers)
    elif workers > 1:
        with processes(workers) as executor:
            yield Dispatch(executor, settings.engine, 2 * workers)
    else:
        yield Dispatch(Inline(), settings.engine, 1)


@contextmanager
def _saying_what_is_kept(partial: Partial) -> Iterator[None]:
    """Add to whatever ends the sweep how much of it is not lost."""
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
