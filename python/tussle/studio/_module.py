"""The simulator as a WebAssembly module, which `make setup` builds where Rust can."""

import base64
from functools import cache
from pathlib import Path

from tussle.errors import TussleError

_FILE = Path(__file__).parent.parent / "_simulator.wasm.gz"


def is_built() -> bool:
    """Return whether this installation has the module."""
    return _FILE.exists()


@cache
def packed_module() -> str:
    """Return the module, compressed by gzip, in base64.

    Raises TussleError when this installation lacks it.
    """
    try:
        return base64.b64encode(_FILE.read_bytes()).decode()
    except FileNotFoundError:
        raise TussleError(
            "this installation has no simulator for web pages; `rustup target add wasm32-unknown-unknown`, "
            "then `make setup`"
        ) from None
