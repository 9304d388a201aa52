"""`tussle serve`: measures flows of real machines that join with `tussle send`."""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import typer

import tussle
from tussle.cli._live import LiveTable
from tussle.cli._options import RESULTS, Output, at_least
from tussle.cli._report_page import write_report
from tussle.cli._terminal import INTERRUPTED, complain, progress_console, say
from tussle.errors import TussleError, shown
from tussle.serving import (
    PATIENCE,
    PORT,
    Agent,
    Place,
    ServeSettings,
    holding,
    known_algorithms,
    new_code,
    own_address,
    partial_folder,
    write_dataset,
)

_LEAST_PATIENCE = "3 s"


def serve(
    *,
    listen: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen at: one of this machine's, 0.0.0.0 for all IPv4 addresses, or :: for "
            "all. By default only this machine itself can join.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=65535, help="TCP port; 0: any free port."),
    ] = PORT,
    lasts: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="TIME", help="Duration of the measurement.", show_default="until Ctrl-C"
        ),
    ] = None,
    clients: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="End when this number of clients have joined and left.",
            show_default="any number",
        ),
    ] = None,
    until_idle: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="End after this time without clients.", show_default="never"),
    ] = None,
    patience: Annotated[
        str,
        typer.Option(metavar="TIME", help="Time without data from a client after which it counts as lost."),
    ] = PATIENCE,
    output: Output = None,
    finish: Annotated[
        bool,
        typer.Option("--finish", help="Only make the dataset from the records of a server that was killed."),
    ] = False,
) -> None:
    """Measure flows of real machines, which join with `tussle send`, and write a dataset with its report.

    Ctrl-C ends the measurement and keeps the results.
    """
    from tussle.dataset.files import refuse_existing

    folder = output or RESULTS / "serve"
    refuse_existing(folder)
    settings = ServeSettings(
        listen=str(Place(_address(listen), port)),
        code=new_code(),
        folder=str(partial_folder(folder).absolute()),
        for_ns=_time("--for", lasts),
        clients=clients,
        until_idle_ns=_time("--until-idle", until_idle),
        patience_ns=at_least(_LEAST_PATIENCE, "--patience", patience),
        algorithms=known_algorithms(),
    )
    try:
        with holding(folder) as partial:
            if finish:
                _conclude(folder, {})
                return
            _refuse_unfinished(partial, folder)
            ended = _serve(settings, listen)
            for sentence in _account(ended):
                say(sentence)
            if _was_sent(partial):
                _conclude(folder, {"served": ended})
            else:
                say("no client sent anything, so that there is no dataset")
    except KeyboardInterrupt:
        complain(f"interrupted; `tussle serve --finish -o {folder}` makes the dataset")
        raise typer.Exit(INTERRUPTED) from None


def _serve(settings: ServeSettings, listen: str) -> dict[str, Any]:
    """Serve until the measurement ends, and return the agent's account of it."""
    with Agent("serve", settings.as_dict()) as agent, LiveTable(progress_console()) as table:
        while True:
            try:
                for kind, what in agent.messages():
                    if kind == "listening":
                        _say_how_to_join(settings.code, (listen, what["port"]))
                    elif kind == "live":
                        table.show(what)
                    elif kind == "note":
                        table.note(what["text"])
                    else:
                        return what
            except KeyboardInterrupt:
                table.note("ending; waiting for the clients' last reports")
                agent.end()


def _say_how_to_join(code: str, listening: tuple[str, int]) -> None:
    listen, port = listening
    at = Place(own_address(listen), port)
    say("join with:")
    # With --quiet, too: nobody can join without the code.
    typer.echo(f"  tussle send {at} --code {code} --algorithm cubic --for 30s")
    if ip_address(listen).is_loopback:
        say("only this machine can join; --listen 0.0.0.0 admits others")
    say("Ctrl-C ends the measurement")


def _account(ended: dict[str, Any]) -> list[str]:
    refused = ended["refused"]
    sentences = [f"clients: {ended['clients']}"]
    if refused:
        reasons = ", ".join(f"{count} {reason}" for reason, count in refused.items())
        sentences.append(f"connections refused: {sum(refused.values())} ({reasons})")
    sentences += ended["rejected"]
    if ended["full"]:
        sentences.append("the dataset reached its largest size, so that the measurement ended")
    return sentences


def _conclude(folder: Path, facts: dict[str, Any]) -> None:
    """Write the dataset and its report, and print a summary of the results."""
    from tussle.cli._grids import show_grids

    dataset, doubts = write_dataset(folder, facts)
    for sentence in doubts:
        say(sentence)
    page = write_report(dataset, folder / "report.html")
    show_grids(tussle.summary(dataset).grids)
    say(f"report: {page}")


def _was_sent(partial: Path) -> bool:
    """Return whether the folder has records of flows."""
    return (partial / "flows.arrow").exists()


def _refuse_unfinished(partial: Path, folder: Path) -> None:
    if _was_sent(partial):
        raise TussleError(
            f"{partial} holds the records of a server that was killed; "
            f"`tussle serve --finish -o {folder}` makes its dataset, or give another output folder (-o)"
        )


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _address(listen: str) -> str:
    if not _is_address(listen):
        raise TussleError(
            f"--listen: {shown(listen)} is not an IP address; give one of this machine, or 0.0.0.0 for all"
        )
    return listen


def _time(option: str, written: str | None) -> int | None:
    """Return the time of an option in ns, if it is given."""
    return None if written is None else at_least("0.1 s", option, written)
