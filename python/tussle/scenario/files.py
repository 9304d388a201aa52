"""Reading files that a scenario names, with a bound: a device such as /dev/zero has no end."""

from pathlib import Path


def read_bounded(path: Path, most_mib: int) -> bytes:
    """Return the content of a file; raises OSError, or ValueError when it is longer than `most_mib` MiB."""
    most_bytes = most_mib << 20
    with path.open("rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise ValueError(f"more than {most_mib} MiB")
    return content
