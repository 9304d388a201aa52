"""`tussle serve` and `tussle send`: real machines, joined by hand."""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import typer

from tussle.cli.experiments import INTERRUPTED, RESULTS, Output
from tussle.cli.live import LiveLine, LiveTable, rate_in_words, size_in_words
from tussle.cli.pages import write_report
from tussle.cli.terminal import complain, progress_console, show_whole
from tussle.errors import TussleError, shown
from tussle.serving import (
    PATIENCE,
    PORT,
    Agent,
    Place,
    SendSettings,
    ServeSettings,
    addresses,
    checked_algorithm,
    holding,
    known_algorithms,
    new_code,
    own_address,
    partial_folder,
    place,
    usual_algorithm,
    write_dataset,
)
from tussle.units import UnitError
from tussle.units import size as size_of
from tussle.units import time as time_of

_LEAST_PATIENCE = "3 s"
_ALWAYS = "168 h"
"""The longest that a server takes: how long a client goes on that was told how much, not how long."""
_MOST_FLOWS = 32
CUT_OFF = 1
"""Exit status of a client whose flow was cut off."""
_ENDS = {"done": "", "cut": "; cut off", "over": "; the server ended it", "interrupted": "; interrupted"}


def serve(
    *,
    listen: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Where to listen: an address of this machine, 0.0.0.0 for all of IPv4, :: for all. By "
            "default only this machine itself can join.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")] = PORT,
    lasts: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="How long to serve.", show_default="until Ctrl-C"),
    ] = None,
    clients: Annotated[
        int | None,
        typer.Option(min=1, help="End when so many have come and gone.", show_default="any number"),
    ] = None,
    until_idle: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="End when for so long nobody takes part.", show_default="waits for ever"
        ),
    ] = None,
    patience: Annotated[
        str, typer.Option(metavar="TIME", help="How long a client may be silent before it is given up.")
    ] = PATIENCE,
    output: Output = None,
    finish: Annotated[
        bool,
        typer.Option(
            "--finish", help="Only make the dataset of what a server that was killed had written down."
        ),
    ] = False,
) -> None:
    """Measure who gets what: machines join with `tussle send`; what they did is a dataset with its report.

    Ctrl-C ends it in order.
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
        patience_ns=_at_least(_LEAST_PATIENCE, "--patience", patience),
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
                typer.echo(sentence)
            if _was_sent(partial):
                _conclude(folder, {"served": ended})
            else:
                typer.echo("nobody sent anything, so that there is no dataset")
    except KeyboardInterrupt:
        complain(f"interrupted; `tussle serve --finish -o {folder}` makes the dataset")
        raise typer.Exit(INTERRUPTED) from None


def send(
    server: Annotated[str, typer.Argument(metavar="HOST[:PORT]", help="Where `tussle serve` runs.")],
    *,
    code: Annotated[
        str, typer.Option(envvar="TUSSLE_CODE", metavar="CODE", help="What `tussle serve` printed.")
    ],
    algorithm: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Congestion control.", show_default="what this machine uses"),
    ] = None,
    lasts: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="How long to send.", show_default="10 s, without --bytes"),
    ] = None,
    amount: Annotated[
        str | None, typer.Option("--bytes", metavar="SIZE", help='How much each flow sends, like "100 MB".')
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, max=_MOST_FLOWS, help="Flows at a time.")] = 1,
    reverse: Annotated[bool, typer.Option("--reverse", help="The server sends: a download.")] = False,
) -> None:
    """Join a measurement: send as fast as goes to where `tussle serve` runs, which sees what arrives.

    It needs no root for the algorithms in net.ipv4.tcp_allowed_congestion_control, and changes no settings.
    """
    known = known_algorithms()
    chosen = checked_algorithm(algorithm, known) if algorithm else usual_algorithm(known)
    usual = _ALWAYS if amount else "10 s"
    settings = SendSettings(
        to=addresses(place(server)),
        code=code,
        algorithm=chosen,
        flows=parallel,
        direction="down" if reverse else "up",
        for_ns=_at_least("0.1 s", "--for", lasts or usual),
        bytes=_size("--bytes", amount),
    )
    joined, ended = _send(settings)
    typer.echo(_result(joined, ended))
    if ended["how"] == "cut":
        flows = "the flow was" if parallel == 1 else f"{ended['cut_off']} of {parallel} flows were"
        complain(
            f"{flows} cut off too early, by the server or something on the way; the same command joins again"
        )
        raise typer.Exit(CUT_OFF)


def _serve(settings: ServeSettings, listen: str) -> dict[str, Any]:
    """Serve until it is over, and return how that went."""
    with Agent("serve", settings.as_dict()) as agent, LiveTable(progress_console()) as table:
        while True:
            try:
                for kind, what in agent.says():
                    if kind == "listening":
                        _say_how_to_join(settings.code, (listen, what["port"]))
                    elif kind == "live":
                        table.show(what)
                    elif kind == "note":
                        table.note(what["text"])
                    else:
                        return what
            except KeyboardInterrupt:
                table.note("ending; clients tell the rest")
                agent.end()


def _say_how_to_join(code: str, listening: tuple[str, int]) -> None:
    listen, port = listening
    at = Place(own_address(listen), port)
    typer.echo("join with:")
    typer.echo(f"  tussle send {at} --code {code} --algorithm cubic --for 30s")
    if ip_address(listen).is_loopback:
        typer.echo("from this machine only; --listen 0.0.0.0 lets others in")
    typer.echo("Ctrl-C ends it")


def _send(settings: SendSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Take part until it is over, and return how it joined and how it ended.

    A first Ctrl-C ends it in order; a second, or one before it has joined, at once.
    """
    interrupted = False
    with Agent("send", settings.as_dict()) as agent, LiveLine(progress_console()) as line:
        joined: dict[str, Any] = {}
        while True:
            try:
                for kind, what in agent.says():
                    if kind == "joined":
                        joined = what
                    elif kind == "live":
                        line.show(what)
                    else:
                        return joined, what
                raise TussleError("tussle-agent ended without a result")
            except KeyboardInterrupt:
                if interrupted or not joined:
                    agent.kill()
                    complain("interrupted" if joined else "interrupted before it had joined")
                    raise typer.Exit(INTERRUPTED) from None
                interrupted = True
                agent.end()


def _result(joined: dict[str, Any], ended: dict[str, Any]) -> str:
    live = ended["live"]
    rate = 8 * live["total_bytes"] / live["time_s"] if live["time_s"] else 0.0
    words = [f"{size_in_words(live['total_bytes'])} in {live['time_s']:.1f} s, {rate_in_words(rate)}"]
    before = f"{joined['idle_rtt_ms']:.3g} ms before"
    if live["rtt_ms"] is not None:
        words.append(f"{live['retransmitted_packets']} packets sent again")
        words.append(f"RTT {live['rtt_ms']:.3g} ms, {before}")
    else:
        words.append(f"RTT {before}")
    said = f"client {joined['client']}, {joined['algorithm']}: {'; '.join(words)}"
    return f"{said}{_ENDS[ended['how']]}"


def _account(ended: dict[str, Any]) -> list[str]:
    refused = ended["refused"]
    said = [f"clients: {ended['clients']}"]
    if refused:
        reasons = ", ".join(f"{count} {reason}" for reason, count in refused.items())
        said.append(f"connections refused: {sum(refused.values())} ({reasons})")
    said += ended["rejected"]
    if ended["full"]:
        said.append("the dataset was full, so that it ended by itself")
    return said


def _conclude(folder: Path, facts: dict[str, Any]) -> None:
    """Write the dataset and its report, and say in short what came out."""
    from tussle.cli.summary import summary

    dataset, doubts = write_dataset(folder, facts)
    for sentence in doubts:
        typer.echo(sentence)
    page = write_report(dataset, folder / "report.html")
    for table in summary(dataset):
        show_whole(table)
    typer.echo(f"report: {page}")


def _was_sent(partial: Path) -> bool:
    """Say whether a server has written down anything there."""
    return (partial / "flows.arrow").exists()


def _refuse_unfinished(partial: Path, folder: Path) -> None:
    if _was_sent(partial):
        raise TussleError(
            f"{partial} holds what a server that was killed had written down; "
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
            f"--listen: {shown(listen)} is no address; give one of this machine, or 0.0.0.0 for all"
        )
    return listen


def _time(option: str, written: str | None) -> int | None:
    """Return the nanoseconds that an option says, if it says any."""
    return None if written is None else _at_least("0.1 s", option, written)


def _at_least(least: str, option: str, written: str) -> int:
    try:
        said = time_of(written)
    except UnitError as error:
        raise TussleError(f"{option}: {error}") from None
    if said < time_of(least):
        raise TussleError(f"{option}: {written} is too short; give at least {least}")
    return said


def _size(option: str, written: str | None) -> int | None:
    try:
        said = None if written is None else size_of(written)
    except UnitError as error:
        raise TussleError(f"{option}: {error}") from None
    if said == 0:
        raise TussleError(f"{option}: {written} is nothing; give at least 1 B")
    return said
