"""Tables as CSV that spreadsheets show and do not execute."""

import polars as pl

_FORMULA = r"^[=+\-@\t\r]"
"""First characters of a text that a spreadsheet takes for a formula (OWASP, CSV Injection)."""


def without_formulas(table: pl.LazyFrame) -> pl.LazyFrame:
    """Return a table in which an apostrophe precedes every text that a spreadsheet would execute."""
    texts = [name for name, dtype in table.collect_schema().items() if dtype == pl.String]
    return table.with_columns(
        pl.when(pl.col(name).str.contains(_FORMULA))
        .then(pl.concat_str(pl.lit("'"), pl.col(name)))
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    )
