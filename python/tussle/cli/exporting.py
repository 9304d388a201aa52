"""`tussle export`: a dataset's tables, metrics and flows as files for other programs."""

import functools
from pathlib import Path
from typing import Annotated

import typer

import tussle
from tussle.errors import TussleError

_FLOW = "flow"
"""What to export when it is one flow over time."""


def export(  # noqa: PLR0913 (typer makes an option of each parameter)
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="What `tussle run` or `tussle matrix` wrote.")
    ],
    what: Annotated[
        str,
        typer.Argument(
            metavar="TABLE|METRIC|flow",
            help="One of the tables runs, flows, samples, links and events, a metric from `tussle list "
            "metrics`, or `flow`: one flow over time, for flent and iperf3.",
        ),
    ],
    *,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="csv|parquet|json|latex|flent|iperf3",
            help="The last two are of a flow.",
            show_default="by the name of FILE, else csv",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", show_default="WHAT.csv, or as the format")
    ] = None,
    summary: Annotated[
        bool,
        typer.Option(
            "--summary", help="Of a metric: medians of each point, with quartiles and 95 % intervals."
        ),
    ] = False,
    run: Annotated[int, typer.Option(min=0, help="Of a flow: its run.")] = 0,
    flow: Annotated[int, typer.Option(min=0, help="Of a flow: which one of the run.")] = 0,
) -> None:
    """Export a table, a metric or a flow of a dataset into a file."""
    from tussle.exports import FlowFormat, exported_table, flow_series, format_of, summary_table, whole_file

    if what == _FLOW:
        chosen = format_of(format_, output or Path("flow.flent.gz"))
    else:
        chosen = format_of(format_, output)
    file = output or Path(f"{what}{chosen.suffix}")
    if isinstance(chosen, FlowFormat) != (what == _FLOW):
        kinds = "flent or iperf3" if what == _FLOW else "csv, parquet, json or latex"
        raise TussleError(
            f"{what} can be exported as {kinds}, not as {chosen.name}; give one of these as --format"
        )
    dataset = tussle.open(folder)
    if isinstance(chosen, FlowFormat):
        content = flow_series(dataset, run, flow)
    else:
        content = summary_table(dataset, what) if summary else exported_table(dataset, what)
    whole_file(file, functools.partial(chosen.write, content))
    typer.echo(f"{chosen.name}: {file}")
