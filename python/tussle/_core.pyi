"""The simulator's core, written in Rust (crates/tussle-python)."""

def catalog() -> str:
    """Return the algorithms, queues and path effects that a run may name, as JSON."""

def version() -> str:
    """Return the version of Tussle."""
