"""`tussle matrix`: comparison of algorithms pair by pair."""

from typing import Annotated

import typer

from tussle.cli._completion import algorithm_list, names_of
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
    Output,
    RepetitionsOfPairs,
    RunOrder,
    Seed,
    Settings,
    Workers,
    given,
    parse_settings,
)
from tussle.cli._sweep import SweepMeans, carry_out, print_results
from tussle.cli._terminal import choose_json, note
from tussle.experiment import REPETITIONS_OF_PAIRS, pairs


def matrix(
    *,
    algorithms: Annotated[
        str,
        typer.Option(
            metavar="A,B,…",
            help="Algorithms, groups of them (`tussle list groups`), and your own classes, "
            "such as mine.py:Mine.",
            autocompletion=algorithm_list,
        ),
    ] = "all",
    profile: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The path, from `tussle list profiles`.",
            autocompletion=names_of("profiles"),
        ),
    ] = "lan",
    rtt: Annotated[
        str | None,
        typer.Option(
            metavar="TIME[,TIME]",
            help="The round-trip time of the path, or those of the first and of the second algorithm's "
            "flows, such as 20ms,80ms.",
            show_default="the profile's",
        ),
    ] = None,
    flows: Annotated[
        str,
        typer.Option(
            metavar="NxM",
            help="The numbers of flows of the first and of the second algorithm, such as 4x1.",
        ),
    ] = "1x1",
    stagger: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Delay of the start of the second algorithm's flows.",
            show_default="10 s, at most half of a given --duration",
        ),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Duration of each run.",
            show_default="long enough for flows on the path to converge",
        ),
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
    as_json: AsJson = False,
) -> None:
    """Compare every pair of algorithms, in both orders: flows of one start, those of the other join."""
    choose_json(as_json=as_json)
    chosen_engine = engine_of(engine, KernelChoice(machine, kernel, modules, network, hosts))
    planned = pairs(
        algorithms,
        profile=profile,
        stagger=stagger,
        duration=duration,
        repetitions=repetitions,
        settings=given({"seed": seed}) | parse_settings(settings),
        rtt=rtt,
        flows=flows,
    )
    if planned.reason:
        note(planned.reason)
    means = SweepMeans(chosen_engine, workers, cluster, order)
    done = carry_out(planned.scenario, output or RESULTS / f"matrix-{profile}", means)
    if as_json:
        print_results([done])
