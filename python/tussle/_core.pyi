"""The simulator's core, written in Rust (crates/tussle-python)."""

from collections.abc import Mapping, Sequence
from typing import Literal, final

from tussle.own_algorithms import Loaded

@final
class ArrowTable:
    """One table; `polars.DataFrame(table)` imports it without copying."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the table with its own column types; `requested_schema` is ignored."""

class InvariantViolation(RuntimeError):
    """An invariant of the simulator is broken: packets appeared from nowhere, or time ran backwards."""

class HookError(RuntimeError):
    """A hook of a user's own algorithm failed; its cause is the exception that the hook raised, if it did."""

def execute(run_json: str, own: Mapping[str, Loaded] = {}) -> dict[str, ArrowTable]:
    """Simulate a run; return the tables flows, samples, links and events.

    `own` maps names of flows to algorithms that are not in the catalogue. If there are any, the result also
    has the table costs.

    Raises HookError if a hook fails; ValueError, with an explanation, if the run is invalid;
    KeyboardInterrupt within a fraction of a second after Ctrl-C.
    """

def capture(run_json: str, most: int, own: Mapping[str, Loaded] = {}) -> dict[str, ArrowTable]:
    """Simulate a run; return the tables of [`execute`] and the table packets, a packet capture at the hosts.

    Raises the exceptions of [`execute`], and ValueError if the capture has more than `most` packets.
    """

def log_queue(run_json: str, link: str, most: int, own: Mapping[str, Loaded] = {}) -> dict[str, ArrowTable]:
    """Simulate a run; return the tables of [`execute`] and the table queue, a log of the packets of one link.

    Raises the exceptions of [`execute`], and ValueError if the log has more than `most` rows.
    """

def check(run_json: str, own: Mapping[str, Loaded] = {}) -> None:
    """Raise ValueError, with an explanation, if the simulator cannot execute the run."""

def flows_table(rows_json: str, steady_ns: int) -> ArrowTable:
    """Return the table flows of a run whose steady interval lasts `steady_ns`, for rows in JSON.

    Raises `ValueError` with an explanation if a row does not fit.
    """

def random_parts(run_json: str) -> list[str]:
    """Return the names of the elements, then of the flows, of a run that use random numbers.

    Raises ValueError, with an explanation, if the run is invalid or an algorithm is not in the catalogue.
    """

def play_script(script_json: str) -> str:
    """Play a packet script on the simulator; return the verdict as JSON: `{"verdict": …, "words": …}`.

    Raises ValueError, with an explanation, if the script is invalid.
    """

def random_packet_script(algorithm: str, seed: int, hosts_json: str = "{}") -> str:
    """Return a random packet script, recorded from the simulator, as JSON.

    Raises ValueError if there is no such algorithm.
    """

def catalog() -> str:
    """Return the algorithms, queues and path elements that a run may name, as JSON."""

def world_measurements() -> list[str]:
    """Return the names of what agents measure, in the order of the columns of `Worlds.step`."""

@final
class Worlds:
    """Simulations with agents, which advance together."""

    def __new__(cls, count: int, agents: int, action: str, base: str = "cubic") -> Worlds:
        """Make `count` empty places for worlds with `agents` agents each.

        `action` is the meaning of actions: "window", in packets; "rate", in bit/s; or "factor", of the window
        of the algorithm `base`. Raises ValueError for other words.
        """

    def begin(self, index: int, run_json: str, flows: Sequence[str]) -> None:
        """Begin a run in the place `index`, and simulate until the first agent has connected.

        Raises ValueError, with an explanation, if the run is invalid or has no such TCP flow.
        """

    def step(self, actions: Sequence[float], intervals_ns: Sequence[int]) -> bytes:
        """Perform actions and simulate an interval in every world that is not over; return measurements.

        `actions` has a number for each agent of each world; NaN leaves an agent as it is. `intervals_ns` has
        one interval for each world; 0 leaves the world as it is. The result has 64-bit floats by world, agent
        and measurement; those of worlds that did not advance are NaN.
        """

    def measure(self, index: int) -> bytes:
        """Return what the agents of one world measured in its last interval, or at its start."""

    def is_done(self, index: int) -> bool:
        """Return whether the run of a world is over, or none has begun."""

    def finish(self, index: int) -> dict[str, ArrowTable]:
        """End a run that is over, and return its tables flows, samples, links and events.

        Raises ValueError if the run of that world is not over.
        """

def version() -> str:
    """Return the version of Tussle."""

# The descriptions of their members are in crates/tussle-python/src/own/views.rs.

@final
class Ack:
    """One ACK, as the sender understands it. Read-only; copy the numbers that you keep."""

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
    def ece(self) -> bool: ...
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
class Lost:
    """A packet that was detected as lost. Read-only; copy the numbers that you keep."""

    @property
    def number(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def application_limited(self) -> bool: ...

@final
class Flow:
    """The sender of a flow. Read-only; copy the numbers that you keep."""

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
    """Variables that an algorithm controls, and the arithmetic that algorithms share."""

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
