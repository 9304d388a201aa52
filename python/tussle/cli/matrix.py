"""`tussle matrix`: comparison of algorithms pair by pair."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from tussle.cli._duration import chosen_duration
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
    ClusterAddress,
    Output,
    RepetitionsOfPairs,
    RunOrder,
    Seed,
    Settings,
    Workers,
    algorithms_of,
    given,
    parse_settings,
)
from tussle.cli._sweep import SweepMeans, carry_out
from tussle.errors import TussleError
from tussle.scenario import Scenario

REPETITIONS_OF_PAIRS = 6
"""The least number of runs that gives a 95 % interval of a median."""
_TO_BE_CHOSEN = "2 h"
"""A placeholder until the duration is chosen, longer than any sensible start time."""


def matrix(
    *,
    algorithms: Annotated[
        str,
        typer.Option(
            metavar="A,B,…",
            help="Algorithms, groups of them (`tussle list groups`), and your own classes, "
            "such as mine.py:Mine.",
        ),
    ] = "all",
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="The path, from `tussle list profiles`.")
    ] = "lan",
    stagger: Annotated[str, typer.Option(metavar="TIME", help="Delay of the second flow's start.")] = "10 s",
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
) -> None:
    """Compare every pair of algorithms, in both orders: one flow starts, the other joins later."""
    names = algorithms_of(algorithms)
    changed = given({"seed": seed}) | parse_settings(settings)
    with _naming_options():
        pairs = Scenario.from_dict(
            {
                "question": f"Which of {', '.join(names)} share a bottleneck fairly in both orders?",
                "duration": duration or _TO_BE_CHOSEN,
                # Flows on a drop-tail queue can lock in phase, so that repetitions differ a little.
                "start_jitter": "20 ms",
                "repetitions": repetitions,
                "path": {"profile": profile},
                "flows": [{"algorithm": names}, {"algorithm": names, "start": stagger}],
            }
        )
    chosen_engine = engine_of(engine, KernelChoice(machine, kernel, modules, network, hosts))
    chosen = pairs.with_settings(changed)
    if duration is None and "duration" not in changed:
        suited = chosen_duration(chosen)
        chosen = chosen.with_settings(suited.settings | changed)
        typer.echo(suited.reason)
    means = SweepMeans(chosen_engine, workers, cluster, order)
    carry_out(chosen, output or RESULTS / f"matrix-{profile}", means)


@contextmanager
def _naming_options() -> Iterator[None]:
    """Replace keys of the scenario in errors by the options that set them: the user wrote no scenario."""
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
