"""The simulator's core, written in Rust (crates/tussle-python)."""

from typing import final

@final
class ArrowTable:
    """One table: `polars.DataFrame(table)` takes it over without copying."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the table; the types are those it has, whatever is requested."""

class InvariantViolation(RuntimeError):
    """The simulator contradicted itself: packets appeared from nowhere, or time ran backwards."""

def execute(run_json: str) -> dict[str, ArrowTable]:
    """Simulate a run; return its tables flows, samples, links and events.

    Raises ValueError, with a sentence, when the run is not a run; KeyboardInterrupt within a fraction of a
    second of Ctrl-C.
    """

def check(run_json: str) -> None:
    """Raise ValueError, with a sentence, when the simulator could not execute the run."""

def catalog() -> str:
    """Return the algorithms, queues and path effects that a run may name, as JSON."""

def version() -> str:
    """Return the version of Tussle."""
