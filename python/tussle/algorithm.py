"""Base class of congestion control algorithms written in Python.

Save a class in a file and name both, as in `tussle run SCENARIO --algorithm mine.py:Mine`,
`tussle matrix --algorithms cubic,mine.py:Mine` or, in a scenario, `algorithm = "mine.py:Mine"`:

    from tussle.algorithm import Algorithm

    class Mine(Algorithm):
        def on_congestion(self, cause, flow, control):
            return max(control.cwnd * 3 // 4, 2)

The sender detects losses, recovers and undoes as Linux does; an algorithm is policy only. A class defines
the hooks in which it differs from Reno. A hook that it does not define is Reno's and costs nothing, because
Python is not called. Windows are in packets.
"""

from typing import ClassVar, Literal

from tussle._core import Ack, Control, Flow, Lost

__all__ = ["Ack", "Algorithm", "Cause", "Control", "Flow", "Lost", "State"]

Cause = Literal["loss", "timeout", "ecn"]
"""Cause of a window reduction: a loss detected by SACK or RACK; an expired retransmission timer; an ECN mark
or `control.request_reduction()`."""

State = Literal["open", "disorder", "cwr", "recovery", "loss"]
"""Congestion state of the sender, as in Linux: nothing is wrong; packets arrived out of order or twice; the
window is being reduced without a loss; lost packets are being retransmitted after detection by SACK or RACK;
lost packets are being retransmitted after a timeout."""


class Algorithm:
    """Reno. Define the hooks in which your algorithm differs; `super()` has Reno's.

    Each flow has an object of its own, made with the scenario's `parameters` as keyword arguments. The
    behaviour must depend on nothing but the arguments of the hooks and `flow.seed`; the results are then the
    same on every machine and with any number of workers. An exception ends the run and is shown with the
    simulated time.
    """

    name: ClassVar[str | None] = None
    """Name in tables and figures; None: the names of file and class."""
    recovery: ClassVar[Literal["prr", "own"]] = "prr"
    """Owner of the window during recovery. "prr": the sender, by proportional rate reduction (RFC 6937);
    "own": the algorithm in `on_ack`, which the sender then calls for every ACK in every state."""
    ecn: ClassVar[Literal["off", "classic", "per-packet", "l4s"]] = "off"
    """ECN feedback that the algorithm needs. "off": none; "classic": one echo per round trip (RFC 3168);
    "per-packet": an echo of each mark (RFC 8257); "l4s": an echo of each mark, and data packets carry ECT(1)
    (RFC 9331)."""
    pacing: ClassVar[bool] = False
    """Whether the algorithm needs pacing."""

    def on_start(self, flow: Flow, control: Control) -> None:
        """Handle the establishment of the connection."""

    def on_tx_start(self, flow: Flow, control: Control) -> None:
        """Handle the first transmission after all data was acknowledged (Linux: `CA_EVENT_TX_START`).

        `flow.last_sent_us` is the time of the transmission before.
        """

    def on_cwnd_restart(self, flow: Flow, control: Control) -> None:
        """Handle a restart after more than a timeout of idle time (Linux: `CA_EVENT_CWND_RESTART`).

        `control.cwnd` still has its old value; the sender then halves it for each timeout of idle time and
        calls `on_tx_start`. The sender does not call this hook if `recovery` is "own".
        """

    def on_pkts_acked(self, ack: Ack, flow: Flow, control: Control) -> None:
        """Handle the measurements of an ACK, before loss detection."""

    def on_ack(self, ack: Ack, flow: Flow, control: Control) -> None:
        """Grow the window."""
        control.grow_like_reno(ack.delivered, flow)

    def on_congestion(self, cause: Cause, flow: Flow, control: Control) -> int:  # noqa: ARG002 (Reno needs neither)
        """Return the new ssthresh after congestion, at least 2 packets."""
        return max(control.cwnd // 2, 2)

    def on_lost(self, lost: Lost, flow: Flow, control: Control) -> None:
        """Handle the loss of one packet, in the order of detection and before `on_congestion`."""

    def on_cwr_complete(self, flow: Flow, control: Control) -> None:
        """Handle the end of a reduction: the window is ssthresh."""

    def on_state(self, state: State, flow: Flow, control: Control) -> None:
        """Handle the change to `state`; `flow.state` is still the old one."""

    def on_undo(self, flow: Flow, control: Control) -> int:
        """Return the window to restore after a spurious reduction."""
        return max(control.cwnd, flow.prior_cwnd)

    def internals(self) -> dict[str, float | None]:
        """Return internal quantities by name, with the unit in the name: columns of the table `samples`.

        The names are the same in each call; None stands for an unknown value. The simulator does not call it
        before `on_start`.
        """
        return {}
