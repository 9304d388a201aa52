"""The folder of what is kept between commands and can be made again."""

import os
from pathlib import Path

import platformdirs


def cache_root() -> Path:
    """Return the folder of $TUSSLE_CACHE, else Tussle's folder in the user's cache."""
    chosen = os.environ.get("TUSSLE_CACHE")
    return Path(chosen).absolute() if chosen else platformdirs.user_cache_path("tussle")


def keep(file: Path, content: bytes) -> None:
    """Write a file of the cache, which other processes may write or read meanwhile; raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    staging = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        staging.write_bytes(content)
        staging.replace(file)
    finally:
        staging.unlink(missing_ok=True)
