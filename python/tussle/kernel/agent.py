"""The program `tussle-agent` (crates/tussle-agent), which the package brings along."""

from pathlib import Path

from tussle.errors import TussleError

AGENT = Path(__file__).parent.parent / "_agent"


def agent() -> Path:
    """Return the program `tussle-agent`; raises TussleError when this installation lacks it."""
    if not AGENT.exists():
        raise TussleError(
            f"there is no {AGENT}: this Tussle was installed without its agent; `make setup` builds it"
        )
    return AGENT
