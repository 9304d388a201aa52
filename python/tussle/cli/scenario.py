"""`tussle scenario`: checks scenarios without running them."""

import json
from typing import Annotated

import typer

from tussle.cli._help import Command, Group, with_output_options
from tussle.cli._options import Settings, parse_settings
from tussle.cli._terminal import say
from tussle.own_algorithms import files_sha256
from tussle.scenario import BASELINE, Scenario

_MOST_NAMED = 5

app = typer.Typer(
    cls=Group, help="Check a scenario without running it.", no_args_is_help=True, add_completion=False
)


@app.command(cls=Command)
@with_output_options
def check(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A scenario file, or the name of a ready one (`tussle list scenarios`)."
        ),
    ],
    settings: Settings = None,
) -> None:
    """Print the problems of a scenario; if there are none, its number of runs, its axes and its cases."""
    scenario = Scenario.load(file).with_settings(parse_settings(settings))
    runs = scenario.runs()
    files_sha256(flow["algorithm"] for planned in runs for flow in planned.run["flows"])
    say(f"{file} is valid: {len(runs)} runs")
    for key, values in scenario.axes().items():
        say(f"  {key}: {', '.join(str(value) for value in values)}")
    if scenario.cases:
        say(f"  cases: {len(scenario.cases)}, which set {', '.join(scenario.cases[0])}")
    if words := _repetitions(scenario, 1 + max(planned.repetition for planned in runs)):
        say(f"  repetitions of each point: {words}")
    if alone := sum(BASELINE in planned.axes for planned in runs):
        say(f"  baseline runs: {alone}")


def _repetitions(scenario: Scenario, repetitions: int) -> str:
    """Return the number of repetitions and the random parts; an empty text for one run without randomness."""
    parts = scenario.random_parts()
    if not parts:
        identical = "all identical, because nothing is random; leave repetitions out"
        return "" if repetitions == 1 else f"{repetitions}, {identical}"
    more = f" and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
    return f"{repetitions}; random parts: {', '.join(parts[:_MOST_NAMED])}{more}"


@app.command(cls=Command)
@with_output_options
def schema() -> None:
    """Print the JSON schema of scenario files."""
    typer.echo(json.dumps(Scenario.model_json_schema(), indent=2, ensure_ascii=False))
