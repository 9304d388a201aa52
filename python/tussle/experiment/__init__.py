"""Experiments: from a scenario, or a list of algorithms, to a dataset; the command line calls them."""

import atexit
import itertools
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

import tussle
from tussle.errors import TussleError, argument, expect, shown, unknown
from tussle.experiment._duration import Chosen, chosen_duration
from tussle.experiment._engines import KernelChoice, engine_of, engines_of, one_engine_of
from tussle.experiment._pairs import REPETITIONS_OF_PAIRS, Pairs, algorithms_of, pairs
from tussle.scenario import Scenario

if TYPE_CHECKING:
    from tussle.algorithm import Algorithm
    from tussle.dataset import Dataset
    from tussle.engines import Engine
    from tussle.sweep import Order, SweepProgress, SweepSettings

__all__ = [
    "REPETITIONS_OF_PAIRS",
    "Chosen",
    "Execution",
    "KernelChoice",
    "Pairs",
    "algorithms_of",
    "chosen_duration",
    "engine_of",
    "engines_of",
    "finished",
    "loaded",
    "matrix",
    "one_engine_of",
    "pairs",
    "run",
    "sweep_settings",
]


_PATHS = ("modules", "hosts")
"""Settings of the execution that are paths."""
_SETTINGS = 'values by their keys, like {"path.rate": "50 Mbit/s"}'


class Execution(TypedDict, total=False):
    """Settings of the execution of runs. `workers`, `cluster` and `progress` never change results."""

    engine: "str | Engine"
    """The simulator ("sim", the default), Linux in virtual time ("kernel"), this host's kernel in real time
    ("netns", for root), other machines ("hosts"); or an engine object."""
    kernel: str | None
    """Kernels of the engine "kernel", from `tussle list kernels`, with commas between; several are an
    axis.
    """
    machine: str | None
    """"uml" or "qemu"."""
    modules: str | PathLike[str] | None
    """The folder of modules of a distribution's kernel, for QEMU."""
    network: str | None
    """The emulated path: "auto", "driver", "mixed", "qdisc" or "tun"."""
    hosts: str | PathLike[str] | None
    """The TOML file of the machines, for the engine "hosts"."""
    workers: int | None
    """Number of parallel runs; one per core by default."""
    cluster: str | None
    """The Dask cluster that executes the runs: the address of its scheduler, or the scheduler's file."""
    order: str
    """"points", "round-robin" or "random"."""
    progress: "bool | SweepProgress"
    """Whether to show a progress bar on the standard error; False by default."""


def run(
    scenario: "Scenario | str | PathLike[str] | Mapping[str, Any]",
    *,
    output: str | PathLike[str] | None = None,
    algorithm: "str | type[Algorithm] | None" = None,
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    repetitions: int | None = None,
    **execution: Unpack[Execution],
) -> "Dataset":
    """Execute every run of a scenario, and return the dataset.

    `scenario` is a Scenario, a file, the name of a ready one, or the tables of a file. `algorithm`, a name
    or a class, replaces that of every flow; `settings` are other values by their keys, like `{"path.rate":
    "50 Mbit/s"}`. `output` is the folder of the dataset; without one, it is removed when Python ends. A
    folder that already has the results of these very runs is opened. Raises TussleError for mistakes and
    when a run fails.
    """
    from tussle.dataset.places import expect_place

    expect_place("output", output, "a folder")
    expect("settings", settings, (Mapping, NoneType), _SETTINGS)
    changed = {
        **{key: value for key, value in (("seed", seed), ("repetitions", repetitions)) if value is not None},
        **(settings or {}),
    }
    chosen = loaded(scenario)
    if algorithm is not None:
        everywhere = {f"flows.{index}.algorithm": algorithm for index in range(len(chosen.flows))}
        changed = everywhere | changed
    chosen = chosen.with_settings(changed) if changed else chosen
    folder = _place(output) if output is not None else _scratch_folder()
    with _progress(execution.get("progress", False)) as bar:
        how = sweep_settings(execution, bar)
        from tussle.sweep import sweep

        return finished(chosen, folder, how.engine) or sweep(chosen, folder, how)


def matrix(
    algorithms: "str | Sequence[str | type[Algorithm]]" = "all",
    *,
    profile: str = "lan",
    rtt: str | Sequence[str] | None = None,
    flows: str | Sequence[int] = "1x1",
    stagger: str | None = None,
    duration: str | None = None,
    repetitions: int = REPETITIONS_OF_PAIRS,
    output: str | PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    **execution: Unpack[Execution],
) -> "Dataset":
    """Compare every pair of algorithms, in both orders: flows of one start, those of the other join.

    `algorithms` are names, groups such as "linux13", and classes. `rtt` replaces the round-trip time of the
    profile; two are those of the first and of the second algorithm's flows. `flows` are the numbers of flows
    of the first and of the second algorithm, like "4x1" or (4, 1): verdicts then compare the mean goodputs of
    a flow. The second algorithm's flows start `stagger` after the first's, by default 10 s and at most half
    of a given `duration`.
    Without a `duration`, runs last long enough for flows on the path to converge. The other arguments are
    those of `run`. Raises TussleError for mistakes.
    """
    expect("settings", settings, (Mapping, NoneType), _SETTINGS)
    planned = pairs(
        algorithms,
        profile=profile,
        stagger=stagger,
        duration=duration,
        repetitions=repetitions,
        settings={**({} if seed is None else {"seed": seed}), **(settings or {})},
        rtt=rtt,
        flows=flows,
    )
    return run(planned.scenario, output=output, **execution)


def loaded(scenario: "Scenario | str | PathLike[str] | Mapping[str, Any]") -> Scenario:
    """Return a scenario from its file, from the name of a ready one, or from its tables."""
    if isinstance(scenario, Scenario):
        return scenario
    expect("scenario", scenario, (str, PathLike, Mapping), "a scenario, a file, a name, or tables")
    if isinstance(scenario, Mapping):
        return Scenario.from_dict(scenario)
    return Scenario.load(scenario)


def sweep_settings(execution: Execution, progress: "SweepProgress") -> "SweepSettings":
    """Return the settings of a sweep; raises TussleError for an unknown engine or order."""
    from tussle.sweep import ORDERS, SweepSettings

    _check(execution)
    order = execution.get("order", "points")
    if order not in ORDERS:
        raise TussleError(f"{argument('order')}: {unknown('order', order, ORDERS)}")
    chosen = execution.get("engine", "sim")
    from tussle.engines import Engine

    expect("engine", chosen, (str, Engine), "the name of an engine, or an engine")
    choice = _kernel_choice(execution)
    return SweepSettings(
        workers=execution.get("workers"),
        engine=engine_of(chosen, choice) if isinstance(chosen, str) else chosen,
        cluster=execution.get("cluster"),
        progress=progress,
        order=cast("Order", order),
    )


def _kernel_choice(execution: Execution) -> KernelChoice:
    modules, hosts = execution.get("modules"), execution.get("hosts")
    return KernelChoice(
        machine=execution.get("machine"),
        kernel=execution.get("kernel"),
        modules=None if modules is None else Path(modules),
        network=execution.get("network"),
        hosts=None if hosts is None else Path(hosts),
    )


def _check(execution: Execution) -> None:
    """Raise TussleError for an unknown setting of the execution, and for a value of another type."""
    for name in execution:
        if name not in Execution.__annotations__:
            raise TussleError(unknown("argument", name, Execution.__annotations__))
    expect("order", execution.get("order", "points"), str, "the name of an order")
    for name in ("kernel", "machine", "network", "cluster"):
        expect(name, execution.get(name), (str, NoneType), "a text")
    for name in _PATHS:
        expect(name, execution.get(name), (str, PathLike, NoneType), "a path")
    workers = execution.get("workers")
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise TussleError(f"{argument('workers')}: {shown(workers)} is not a number of processes, at least 1")


def finished(scenario: Scenario, folder: Path, engine: "Engine") -> "Dataset | None":
    """Return the dataset in a folder if these very runs made it: scenario, engine, version and files.

    A sweep that was killed as it ended may have left its store behind, which is removed.
    """
    from tussle.dataset.files import PROVENANCE
    from tussle.dataset.places import is_remote
    from tussle.sweep import own_algorithms, remove_left_behind

    if is_remote(folder) or not (folder / PROVENANCE).is_file():
        return None
    found = tussle.open(folder)
    facts = (found.provenance["engine"], found.provenance.get("tussle"))
    if found.scenario != scenario or facts != (dict(engine.about()), tussle.__version__):
        return None
    files = found.provenance.get("own_algorithms_sha256", {})
    if files != own_algorithms(scenario, engine):
        return None
    remove_left_behind(folder)
    return found


def _place(output: str | PathLike[str]) -> Path:
    from tussle.dataset.places import place

    return place(output)


@cache
def _scratch() -> Path:
    """Return a folder that is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="tussle-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_numbers = itertools.count(1)


def _scratch_folder() -> Path:
    return _scratch() / f"run-{next(_numbers)}"


def _progress(wanted: "bool | SweepProgress") -> Any:
    """Return a context manager with the receiver of progress."""
    from tussle.sweep import ProgressBar, Silent, SweepProgress

    expect("progress", wanted, (bool, SweepProgress), "true or false")
    if not isinstance(wanted, bool):
        return nullcontext(wanted)
    if not wanted:
        return nullcontext(Silent())
    from rich.console import Console

    return ProgressBar(Console(stderr=True, markup=False))
