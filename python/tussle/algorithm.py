"""A base for congestion control algorithms of your own, in Python.

Save a class in a file and name both, as in `tussle run SCENARIO --algorithm mine.py:Mine`,
`tussle matrix --algorithms cubic,mine.py:Mine` or, in a scenario, `algorithm = "mine.py:Mine"`:

    from tussle.algorithm import Algorithm

    class Mine(Algorithm):
        def on_congestion(self, cause, flow, control):
            return max(control.cwnd * 3 // 4, 2)

The sender finds losses, recovers and undoes as Linux does; an algorithm is policy only. Every hook that a
class does not define is Reno's, and costs nothing: Python is not called. Windows are in packets.
"""

from typing import ClassVar, Literal

from tussle._core import Ack, Control, Flow

__all__ = ["Ack", "Algorithm", "Cause", "Control", "Flow", "State"]

Cause = Literal["loss", "timeout", "ecn"]
"""Why the window must fall: a loss found by SACK or RACK; the retransmission timer; a congestion mark, or
`control.request_reduction()`."""

State = Literal["open", "disorder", "cwr", "recovery", "loss"]
"""Where the sender's recovery stands: nothing is wrong; packets came out of order or twice; the window is
being reduced without a loss; lost packets are sent again, found by SACK or RACK; the same after a timeout."""


class Algorithm:
    """Reno. Define what your algorithm does differently; `super()` has what Reno does.

    Each flow gets an object of its own, made with the scenario's `parameters` as keyword arguments. What
    happens must depend on nothing but the arguments of the hooks and `flow.seed`: results are the same on
    every machine then, whatever the number of workers. An exception ends the run and is shown with the
    simulated time.
    """

    name: ClassVar[str | None] = None
    """What tables and figures call it; None: by its file and class."""
    recovery: ClassVar[Literal["prr", "own"]] = "prr"
    """Who sets the window during recovery: the sender, by proportional rate reduction (RFC 6937), or the
    algorithm in `on_ack`, which is then called for every ACK in every state."""
    ecn: ClassVar[Literal["off", "classic", "per-packet", "l4s"]] = "off"
    """What ECN feedback it cannot do without: none, one echo a round trip (RFC 3168), each mark (RFC 8257),
    or each mark with packets that tell queues of it by ECT(1) (RFC 9331)."""
    pacing: ClassVar[bool] = False
    """Whether it cannot do without pacing."""

    def on_start(self, flow: Flow, control: Control) -> None:
        """The connection is established."""

    def on_tx_start(self, flow: Flow, control: Control) -> None:
        """The flow sends again after everything it had sent was acknowledged."""

    def on_pkts_acked(self, ack: Ack, flow: Flow, control: Control) -> None:
        """An ACK has been measured; whether it reveals losses is not judged yet."""

    def on_ack(self, ack: Ack, flow: Flow, control: Control) -> None:
        """The window may grow."""
        control.grow_like_reno(ack.delivered, flow)

    def on_congestion(self, cause: Cause, flow: Flow, control: Control) -> int:  # noqa: ARG002 (Reno needs neither)
        """Congestion was found: return the new ssthresh, at least 2 packets."""
        return max(control.cwnd // 2, 2)

    def on_cwr_complete(self, flow: Flow, control: Control) -> None:
        """A reduction is complete: the window is ssthresh."""

    def on_state(self, state: State, flow: Flow, control: Control) -> None:
        """The sender enters `state`; `flow.state` is still the one that it leaves."""

    def on_undo(self, flow: Flow, control: Control) -> int:
        """The last reduction was a false alarm: return the window to go back to."""
        return max(control.cwnd, flow.prior_cwnd)

    def internals(self) -> dict[str, float | None]:
        """Return inner quantities by name, with their unit in it: columns of the table `samples`.

        The same names each time; None while one has no value. It is not asked before `on_start`.
        """
        return {}
