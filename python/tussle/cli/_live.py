"""Live output of a measurement in the terminal: a table at the server, a line at a client."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Column, Table
from rich.text import Text

_UNITS = ("", "k", "M", "G", "T")
_STEP = 1000
_LEAST_OF_STEP = 999.5
_UPDATES_PER_S = 4
"""Updates of the terminal per second."""


class _Moving:
    """A context manager for live output, which is shown in terminals only."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=_UPDATES_PER_S, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()


class LiveTable(_Moving):
    """A table with every client's rate."""

    def show(self, live: Mapping[str, Any]) -> None:
        """Show the current state of all clients."""
        self._live.update(_table(live))

    def note(self, text: str) -> None:
        """Print a line that stays above the table."""
        self._console.print(text, highlight=False)


class LiveLine(_Moving):
    """A line with one client's rate."""

    def show(self, live: Mapping[str, Any]) -> None:
        """Show the client's current state."""
        words = [
            f"{live['time_s']:.0f} s",
            rate_in_words(live["rate_bit_per_s"]),
            size_in_words(live["total_bytes"]),
        ]
        if live["rtt_ms"] is not None:
            words += [f"RTT {live['rtt_ms']:.3g} ms", f"{live['retransmitted_packets']} retransmitted"]
        if live["probe_ms"] is not None:
            words.append(f"probe {live['probe_ms']:.3g} ms")
        self._live.update(Text("  ".join(words)))


def _table(live: Mapping[str, Any]) -> Table | Text:
    refused = f"; connections refused: {live['refused']}" if live["refused"] else ""
    if not live["clients"]:
        return Text(f"{live['time_s']:.0f} s: no clients{refused}")
    numbers = [
        Column(title, justify="right", no_wrap=True)
        for title in ("goodput", "total", "RTT\nms", "probe\nms", "retr.")
    ]
    table = Table("client", "from", "algo-\nrithm", "flows", *numbers, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for each in live["clients"]:
        flows = f"{each['flows']} {each['direction']}"
        rate = rate_in_words(each["rate_bit_per_s"]) if each["state"] == "flows" else each["state"]
        table.add_row(
            str(each["client"]),
            each["address"],
            each["algorithm"],
            flows,
            rate,
            size_in_words(each["total_bytes"]),
            _ms(each["rtt_ms"]),
            _ms(each["probe_ms"]),
            str(each["retransmitted_packets"]),
        )
    together = sum(each["rate_bit_per_s"] for each in live["clients"])
    several = len(live["clients"]) > 1
    words = f"{len(live['clients'])} clients: {rate_in_words(together)} in total" if several else "one client"
    table.caption = f"{live['time_s']:.0f} s: {words}{refused}"
    table.caption_justify = "left"
    return table


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < _LEAST_OF_STEP else f"{value:.0f}"


def rate_in_words(bit_per_s: float) -> str:
    """Format a rate with three digits."""
    return f"{_scaled(bit_per_s)}bit/s"


def size_in_words(size_bytes: float) -> str:
    """Format a size with three digits."""
    return f"{_scaled(size_bytes)}B"


def _scaled(value: float) -> str:
    unit = 0
    while value >= _LEAST_OF_STEP and unit + 1 < len(_UNITS):
        value /= _STEP
        unit += 1
    return f"{value:.3g} {_UNITS[unit]}"
