"""`tussle run`: runs scenarios, and writes a dataset and a report for each."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tussle.cli._completion import names_of
from tussle.cli._engines import (
    EngineName,
    HostsFile,
    KernelChoice,
    KernelName,
    MachineName,
    Modules,
    NetworkName,
    engine_of,
)
from tussle.cli._options import (
    RESULTS,
    AsJson,
    ClusterAddress,
    Repetitions,
    RunOrder,
    Seed,
    Settings,
    Workers,
    folder_of,
    given,
    parse_settings,
)
from tussle.cli._sweep import SweepMeans, carry_out, print_results
from tussle.cli._terminal import choose_json, say
from tussle.errors import TussleError
from tussle.scenario import Scenario


def run(
    scenarios: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENARIO",
            help="Scenario files, and names of ready ones (`tussle list scenarios`).",
            autocompletion=names_of("scenarios"),
        ),
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
            help="Folder of the results, or an address like s3://bucket/folder; it must not exist yet. With "
            "several scenarios, each gets a folder in it.",
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
            help="Congestion control of every flow: an algorithm, or your own class, such as mine.py:Mine.",
            autocompletion=names_of("algorithms"),
            show_default="the scenario's",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run each scenario and write its report."""
    choose_json(as_json=as_json)
    loaded = [Scenario.load(name) for name in scenarios]
    folders = (
        [output]
        if output and len(loaded) == 1
        else [(output or RESULTS) / Path(name).stem for name in scenarios]
    )
    changed = given({"seed": seed, "repetitions": repetitions}) | parse_settings(settings)
    chosen = [each.with_settings(_everywhere(algorithm, each) | changed) for each in loaded]
    chosen_engine = engine_of(engine, KernelChoice(machine, kernel, modules, network, hosts))
    means = SweepMeans(chosen_engine, workers, cluster, order)
    if len(loaded) > 1:
        _refuse_taken(folders)
    done = []
    for folder, each in zip(folders, chosen, strict=True):
        if len(loaded) > 1:
            say(f"{folder.name}: {each.question or 'no question'}")
        done.append(carry_out(each, folder, means))
    if as_json:
        print_results(done)


def _everywhere(algorithm: str | None, scenario: Scenario) -> dict[str, Any]:
    """Return the settings that give every flow this algorithm, if there is one."""
    return given({f"flows.{index}.algorithm": algorithm for index in range(len(scenario.flows))})


def _refuse_taken(folders: list[Path]) -> None:
    """Raise TussleError, before anything runs, when an output folder exists or is used twice."""
    from tussle.dataset.files import refuse_existing

    for folder in folders:
        refuse_existing(folder)
        if folders.count(folder) > 1:
            raise TussleError(f"two of the scenarios would write into {folder}; run them one by one, with -o")
