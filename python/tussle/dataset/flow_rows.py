"""The `flows` table of engines that measure real hosts."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from tussle import _core


def flows_frame(rows: Iterable[Mapping[str, Any]], steady_ns: int) -> pl.DataFrame:
    """Return the `flows` table of one run, without the column `run`.

    `rows` are those of the simulator's own table, `FlowRow` in `crates/tussle-core/src/record/flows.rs`, in
    the order of the flows. What a row lacks is empty in the table.
    """
    return pl.DataFrame(_core.flows_table(json.dumps(list(rows)), steady_ns))
