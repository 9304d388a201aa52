"""Checks whether rows of a dataset can be those of a sweep, even if the columns are valid."""

from collections.abc import Iterator, Mapping

import polars as pl

from tussle.dataset.schema import Table


def gaps(frame: pl.LazyFrame, table: Table) -> Iterator[str]:
    """Report columns with empty cells that must not have any."""
    full = [column.name for column in table.columns if column.nulls is None]
    # Files store the number of empty cells, so that little is read if there are none.
    found = frame.select(full).filter(pl.any_horizontal(pl.all().is_null())).head(1).collect()
    for column in found.get_columns():
        if column.null_count():
            yield f"column {column.name} has empty cells"


def not_counted(runs: pl.LazyFrame) -> Iterator[str]:
    """Report runs that are not numbered from 0 in order, or missing."""
    numbers = runs.select("run").collect()["run"]
    if numbers.is_empty():
        yield "there are no rows"
    elif not numbers.equals(pl.Series("run", range(numbers.len()), dtype=numbers.dtype)):
        yield "column run does not count from 0"


def not_their_runs(tables: Mapping[str, pl.LazyFrame]) -> Iterator[str]:
    """Report flows that are duplicates, or of unknown runs, and runs without flows."""
    runs = tables["runs"].select("run").collect()["run"]
    flows = tables["flows"].select("run", "flow").collect()
    if not flows["run"].is_in(runs.implode()).all():
        yield "column run has runs that are not in the table runs"
    elif flows.is_duplicated().any():
        yield "columns run and flow have a flow twice"
    elif not (has_flows := runs.is_in(flows["run"].implode())).all():
        yield f"run {runs.filter(~has_flows)[0]} has no flows"
