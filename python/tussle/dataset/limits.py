"""Flows that a buffer of their hosts limited, and not the network."""

import polars as pl

LIMITED_FROM = 0.1
"""Fraction of the steady interval from which a flow counts as limited."""
_BUFFERS = {"steady_rwnd_limited_s": "receive window", "steady_sndbuf_limited_s": "send buffer"}


def limited_flows(runs: pl.LazyFrame, flows: pl.LazyFrame) -> pl.DataFrame:
    """Return `name, algorithm, buffer, runs, fraction` of flows that were limited, in the order of the flows.

    `runs` is the number of runs in which the flow was, and `fraction` the largest part of a steady interval.
    """
    steady_s = pl.col("steady_to_s") - pl.col("steady_from_s")
    both = flows.join(runs.select("run", steady_s.alias("steady_s")), on="run")
    each = [
        both.select(
            "run",
            "flow",
            "name",
            "algorithm",
            pl.lit(words).alias("buffer"),
            (pl.col(column) / pl.col("steady_s")).alias("fraction"),
        )
        for column, words in _BUFFERS.items()
    ]
    return (
        pl.concat(each)
        .filter(pl.col("fraction") > LIMITED_FROM)
        .group_by("flow", "name", "algorithm", "buffer")
        .agg(pl.col("run").n_unique().alias("runs"), pl.col("fraction").max())
        .sort("flow", "name", "algorithm", "buffer")
        .select("name", "algorithm", "buffer", "runs", "fraction")
        .collect()
    )


def limits_in_words(limited: pl.DataFrame, most: int) -> list[str]:
    """Return a phrase for each of the first `most` limited flows."""
    return [
        f"{row['name']} ({row['algorithm']}) by its {row['buffer']}, up to {100 * row['fraction']:.0f}\u00a0%"
        + (f" in {row['runs']} runs" if row["runs"] > 1 else "")
        for row in limited.head(most).iter_rows(named=True)
    ]
