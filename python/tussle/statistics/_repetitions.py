"""Detection of repetitions with identical results."""

from tussle.metrics import Tables


def repetitions_are_identical(tables: Tables) -> bool:
    """Return whether there are repetitions, and those of each point have identical results."""
    runs = tables.runs.select("run", "point", "repetition").collect()
    flows = tables.flows.collect().join(runs, on="run").drop("run", "repetition")
    times = runs["repetition"].n_unique()
    return times > 1 and flows.unique().height * times == flows.height
