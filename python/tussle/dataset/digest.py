"""Digests of results: equal results have equal digests, whichever program wrote the files."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import polars as pl


class _Hashing:
    """A file object that keeps only the SHA-256 of the written bytes."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def table_digest(table: pl.LazyFrame) -> str:
    """SHA-256 of the table's types and of the table as CSV, in hexadecimal.

    CSV with the shortest decimals that read back as the same number is independent of file formats,
    compression and row groups, and can be reproduced with other tools.
    """
    hashing = _Hashing()
    types = ",".join(f"{name}:{dtype}" for name, dtype in table.collect_schema().items())
    hashing.write(types.encode() + b"\n")
    table.sink_csv(hashing, maintain_order=True)  # pyright: ignore[reportArgumentType] (it only writes)
    return hashing.hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(table_digests: Mapping[str, str]) -> str:
    """Return one digest for all results, from the digest of each table."""
    lines = "".join(f"{name} {table_digests[name]}\n" for name in sorted(table_digests))
    return hashlib.sha256(lines.encode()).hexdigest()
