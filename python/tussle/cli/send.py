"""`tussle send`: joins a measurement of `tussle serve` and sends to it."""

from typing import Annotated, Any

import typer

from tussle.cli._live import LiveLine, rate_in_words, size_in_words
from tussle.cli._options import at_least
from tussle.cli._terminal import INTERRUPTED, complain, progress_console, say
from tussle.errors import TussleError
from tussle.serving import (
    Agent,
    SendSettings,
    addresses,
    checked_algorithm,
    known_algorithms,
    place,
    usual_algorithm,
)
from tussle.units import UnitError
from tussle.units import size as size_of

_ALWAYS = "168 h"
"""The longest duration that a server accepts, for clients with `--bytes` and without `--for`."""
_MOST_FLOWS = 32
CUT_OFF = 1
"""Exit status of a client whose flow was cut off."""
_ENDS = {"done": "", "cut": "; cut off", "over": "; the server ended it", "interrupted": "; interrupted"}


def send(
    server: Annotated[str, typer.Argument(metavar="HOST[:PORT]", help="The host that runs `tussle serve`.")],
    *,
    code: Annotated[
        str, typer.Option(envvar="TUSSLE_CODE", metavar="CODE", help="The code that `tussle serve` printed.")
    ],
    algorithm: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Congestion control.", show_default="this machine's default"),
    ] = None,
    lasts: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="Duration.", show_default="10 s; no limit with --bytes"),
    ] = None,
    amount: Annotated[
        str | None,
        typer.Option("--bytes", metavar="SIZE", help='Amount that each flow sends, like "100 MB".'),
    ] = None,
    parallel: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=_MOST_FLOWS, help=f"Number of parallel flows, at most {_MOST_FLOWS}."
        ),
    ] = 1,
    reverse: Annotated[bool, typer.Option("--reverse", help="The server sends: a download.")] = False,
) -> None:
    """Send at full rate to a host that runs `tussle serve`, which measures what arrives.

    Algorithms in net.ipv4.tcp_allowed_congestion_control need no root. The host's settings stay unchanged.
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
        for_ns=at_least("0.1 s", "--for", lasts or usual),
        bytes=_size("--bytes", amount),
    )
    joined, ended = _send(settings)
    say(_result(joined, ended))
    if ended["how"] == "cut":
        flows = "the flow was" if parallel == 1 else f"{ended['cut_off']} of {parallel} flows were"
        complain(f"{flows} cut off by the server or by the network; repeat the same command to join again")
        raise typer.Exit(CUT_OFF)


def _send(settings: SendSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Take part in the measurement until it ends, and return the agent's messages about joining and the end.

    A first Ctrl-C ends the client in order; a second one, or one before it has joined, at once.
    """
    interrupted = False
    with Agent("send", settings.as_dict()) as agent, LiveLine(progress_console()) as line:
        joined: dict[str, Any] = {}
        while True:
            try:
                for kind, what in agent.messages():
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
                    complain("interrupted" if joined else "interrupted before joining")
                    raise typer.Exit(INTERRUPTED) from None
                interrupted = True
                agent.end()


def _result(joined: dict[str, Any], ended: dict[str, Any]) -> str:
    live = ended["live"]
    rate = 8 * live["total_bytes"] / live["time_s"] if live["time_s"] else 0.0
    words = [f"{size_in_words(live['total_bytes'])} in {live['time_s']:.1f} s, {rate_in_words(rate)}"]
    before = f"{joined['idle_rtt_ms']:.3g} ms before"
    if live["rtt_ms"] is not None:
        words.append(f"{live['retransmitted_packets']} packets retransmitted")
        words.append(f"RTT {live['rtt_ms']:.3g} ms, {before}")
    else:
        words.append(f"RTT {before}")
    return f"client {joined['client']}, {joined['algorithm']}: {'; '.join(words)}{_ENDS[ended['how']]}"


def _size(option: str, written: str | None) -> int | None:
    try:
        size_bytes = None if written is None else size_of(written)
    except UnitError as error:
        raise TussleError(f"{option}: {error}") from None
    if size_bytes == 0:
        raise TussleError(f"{option}: {written} is too small; give at least 1 B")
    return size_bytes
