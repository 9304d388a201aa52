"""Detection of repetitions that say no more than one run does."""

from tussle.metrics import Tables


def repeated_in_vain(tables: Tables) -> bool:
    """Say whether there are repetitions, and those of each point are the same run to the last byte."""
    runs = tables.runs.select("run", "point", "repetition").collect()
    flows = tables.flows.collect().join(runs, on="run").drop("run", "repetition")
    times = runs["repetition"].n_unique()
    return times > 1 and flows.unique().height * times == flows.height
