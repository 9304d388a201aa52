"""The simulator's core, written in Rust (crates/tussle-python)."""

from collections.abc import Mapping
from typing import Literal, final

from tussle.own_algorithms import Loaded

@final
class ArrowTable:
    """One table: `polars.DataFrame(table)` takes it over without copying."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the table; the types are those it has, whatever is requested."""

class InvariantViolation(RuntimeError):
    """The simulator contradicted itself: packets appeared from nowhere, or time ran backwards."""

class HookError(RuntimeError):
    """A hook of a user's own algorithm failed; its cause is the exception that the hook raised, if it did."""

def execute(run_json: str, own: Mapping[str, Loaded] = {}) -> dict[str, ArrowTable]:
    """Simulate a run; return its tables flows, samples, links and events.

    `own` has the algorithms, by the names of their flows, that no catalogue knows; with such there is a table
    costs, too.

    Raises HookError when one of those fails; ValueError, with a sentence, when the run is not a run;
    KeyboardInterrupt within a fraction of a second of Ctrl-C.
    """

def capture(run_json: str, most: int, own: Mapping[str, Loaded] = {}) -> dict[str, ArrowTable]:
    """Simulate a run; return the tables of [`execute`], and packets: what a capture at its hosts would show.

    Raises what [`execute`] does, and ValueError when that would be more than `most` packets.
    """

def check(run_json: str, own: Mapping[str, Loaded] = {}) -> None:
    """Raise ValueError, with a sentence, when the simulator could not execute the run."""

def random_parts(run_json: str) -> list[str]:
    """Return the names of the elements, then of the flows, of a run that throw dice.

    Raises ValueError, with a sentence, when it is not a run, or an algorithm is of no catalogue.
    """

def play_script(script_json: str) -> str:
    """Play a packet script to the simulator; return the verdict, as JSON: `{"verdict": …, "words": …}`.

    Raises ValueError, with a sentence, when it is no script.
    """

def random_packet_script(algorithm: str, seed: int) -> str:
    """Return a story of a sender on a path of dice, as JSON: a packet script that the simulator follows.

    Raises ValueError when there is no such algorithm.
    """

def catalog() -> str:
    """Return the algorithms, queues and path elements that a run may name, as JSON."""

def version() -> str:
    """Return the version of Tussle."""

# Their members are described where they are written, in crates/tussle-python/src/own/views.rs.

@final
class Ack:
    """What one ACK told the sender. Read-only; it shows the latest ACK, so copy the numbers that you keep."""

    @property
    def acked(self) -> int: ...
    @property
    def sacked(self) -> int: ...
    @property
    def delivered(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def rtt_us(self) -> int | None: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def ts_val_ms(self) -> int: ...
    @property
    def ts_echo_ms(self) -> int: ...
    @property
    def marked(self) -> bool: ...
    @property
    def rate_delivered(self) -> int | None: ...
    @property
    def rate_interval_us(self) -> int: ...
    @property
    def prior_delivered(self) -> int: ...
    @property
    def prior_in_flight(self) -> int: ...
    @property
    def application_limited(self) -> bool: ...

@final
class Flow:
    """The sender. Read-only; it shows the present, so copy the numbers that you keep."""

    @property
    def now_us(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def mss_bytes(self) -> int: ...
    @property
    def una(self) -> int: ...
    @property
    def nxt(self) -> int: ...
    @property
    def packets_out(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def sacked_out(self) -> int: ...
    @property
    def lost_out(self) -> int: ...
    @property
    def retrans_out(self) -> int: ...
    @property
    def state(self) -> Literal["open", "disorder", "cwr", "recovery", "loss"]: ...
    @property
    def high_seq(self) -> int: ...
    @property
    def prior_cwnd(self) -> int: ...
    @property
    def srtt_us(self) -> int | None: ...
    @property
    def min_rtt_us(self) -> int | None: ...
    @property
    def latest_rtt_us(self) -> int | None: ...
    @property
    def delivered(self) -> int: ...
    @property
    def delivered_marked(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def last_sent_us(self) -> int: ...
    def cwnd_limited(self, control: Control) -> bool: ...

@final
class Control:
    """All that an algorithm may turn, and arithmetic that algorithms share."""

    cwnd: int
    ssthresh: int
    pacing_bit_per_s: float | None
    @property
    def in_slow_start(self) -> bool: ...
    @property
    def has_ssthresh(self) -> bool: ...
    def slow_start(self, delivered: int) -> int: ...
    def additive(self, per: int, delivered: int) -> None: ...
    def past_slow_start(self, delivered: int, flow: Flow) -> int | None: ...
    def grow_like_reno(self, delivered: int, flow: Flow) -> None: ...
    def request_reduction(self) -> None: ...
