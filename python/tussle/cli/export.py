"""`tussle export`: a dataset's tables, metrics and flows as files for other programs."""

import functools
from pathlib import Path
from typing import Annotated

import typer

import tussle
from tussle.cli._capture import Repetition, run_packets, run_queue_log
from tussle.cli._options import folder_of
from tussle.cli._terminal import say
from tussle.errors import TussleError
from tussle.scenario.bottleneck import BOTTLENECK

_FLOW = "flow"
"""Argument for the export of one flow over time."""
_PACKETS = "packets"
"""Argument for the export of a capture of one run."""
_QUEUE_LOG = "queue-log"
"""Argument for the export of the packets of one link in one run."""
_DEFAULT_OUTPUTS = {
    _FLOW: Path("flow.flent.gz"),
    _PACKETS: Path("packets.pcapng"),
    _QUEUE_LOG: Path("queue-log.log"),
}
"""Default files, which decide the format."""


def export(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            parser=folder_of,
            help="A dataset: the folder that `tussle run` or `tussle matrix` wrote.",
        ),
    ],
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A table (runs, flows, samples, links or events); a metric from `tussle list metrics`; "
            "`flow`, one flow over time for flent and iperf3; `packets`, a capture of a simulated run for "
            "Wireshark; or `queue-log`, the packets of one link in a simulated run for mahimahi's graphs.",
        ),
    ],
    *,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="csv, parquet, json or latex for tables and metrics, flent or iperf3 for `flow`, pcapng for "
            "`packets`, mahimahi for `queue-log`.",
            show_default="by the name of FILE, else csv",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write.",
            show_default="the name of what is exported, with the suffix of the format",
        ),
    ] = None,
    summary: Annotated[
        bool,
        typer.Option(
            "--summary", help="For a metric: medians of each point, with quartiles and 95 % intervals."
        ),
    ] = False,
    run: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Number of the run, for `flow`, `packets` and `queue-log`."),
    ] = 0,
    flow: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of the flow in its run, for `flow`.")
    ] = 0,
    at: Annotated[
        str, typer.Option(metavar="sender|receiver", help="The hosts that capture, for `packets`.")
    ] = "sender",
    link: Annotated[
        str, typer.Option(metavar="NAME", help="The link, for `queue-log`; the table `links` names them.")
    ] = BOTTLENECK,
    execute: Annotated[
        bool,
        typer.Option(
            "--execute-algorithms",
            help="For `packets` and `queue-log`: execute the Python files of the run's algorithms, if they "
            "are the files that the dataset was made with.",
        ),
    ] = False,
) -> None:
    """Export a table, a metric, a flow, or the packets of a run or of a link, into a file."""
    from tussle.exports import (
        FLOW_FORMATS,
        PACKET_FORMATS,
        QUEUE_LOG_FORMATS,
        TABLE_FORMATS,
        FlowFormat,
        PacketFormat,
        QueueLogFormat,
        exported_table,
        flow_series,
        format_of,
        summary_table,
        whole_file,
    )

    chosen = format_of(format_, output or _DEFAULT_OUTPUTS.get(what))
    file = output or Path(f"{what}{chosen.suffix}")
    allowed = {
        _FLOW: list(FLOW_FORMATS),
        _PACKETS: list(PACKET_FORMATS),
        _QUEUE_LOG: list(QUEUE_LOG_FORMATS),
    }.get(what, list(TABLE_FORMATS))
    if chosen.name not in allowed:
        kinds = " or ".join([", ".join(allowed[:-1]), allowed[-1]] if allowed[:-1] else allowed)
        raise TussleError(
            f"{what} can be exported as {kinds}, not as {chosen.name}; give one of these as --format"
        )
    dataset = tussle.open(folder)
    if isinstance(chosen, FlowFormat):
        content = flow_series(dataset, run, flow)
    elif isinstance(chosen, PacketFormat):
        content = run_packets(Repetition(dataset, run, executes_files=execute), at)
    elif isinstance(chosen, QueueLogFormat):
        content = run_queue_log(Repetition(dataset, run, executes_files=execute), link)
    else:
        content = summary_table(dataset, what) if summary else exported_table(dataset, what)
    whole_file(file, functools.partial(chosen.write, content))
    say(f"{chosen.name}: {file}")
