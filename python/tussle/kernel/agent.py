"""The program `tussle-agent` (crates/tussle-agent), part of the package on Linux."""

import platform
from pathlib import Path

from tussle.errors import TussleError, argument

AGENT = Path(__file__).parent.parent / "_agent"


def agent() -> Path:
    """Return the program `tussle-agent`; raises TussleError when this installation lacks it."""
    if AGENT.exists():
        return AGENT
    if platform.system() != "Linux":
        raise TussleError(
            "the engines kernel, netns and hosts, and `tussle serve` and `tussle send`, work on Linux only; "
            f"this is {platform.system()}: use the simulator here, {argument('engine', 'sim')}"
        )
    raise TussleError(
        f"there is no file {AGENT}: this Tussle was installed without its agent; `make setup` builds it"
    )
