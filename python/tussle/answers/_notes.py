"""Notes on a dataset: what limits its results, and what would make them better."""

import polars as pl

from tussle.dataset import KERNEL_AXIS, Dataset
from tussle.dataset.interval import FEW_ROUND_TRIPS, round_trips_of_short_runs
from tussle.dataset.limits import LIMITED_FROM, limited_flows, limits_in_words
from tussle.dataset.validity import late_runs
from tussle.errors import argument
from tussle.metrics import REGISTRY, axis_columns
from tussle.metrics.coexistence import REMEDIES, UNCLEAR
from tussle.metrics.steadiness import note_on_steadiness
from tussle.statistics import repetitions_are_identical

_MOST_PAIRS_NAMED = 6
_MOST_RUNS_NAMED = 40


def note_on_repetitions(dataset: Dataset) -> str:
    """Return a note if another number of repetitions would be better, else an empty text."""
    random_parts = dataset.scenario.random_parts()
    if repetitions_are_identical(dataset):
        if random_parts:
            return (
                "all repetitions of a point have the same results: randomness does not matter here, and "
                f"{argument('repetitions', 1)} is enough"
            )
        return "all repetitions of a point are identical, because nothing is random: leave repetitions out"
    once = dataset.runs.select(pl.col("repetition").max()).collect().item() == 0
    if once and random_parts:
        return (
            f"each point with random parts ran once: {argument('repetitions', 10)} gives confidence intervals"
        )
    return ""


def note_on_kernels(dataset: Dataset) -> str:
    """Return where differences between kernels are shown; an empty text if there is one kernel."""
    if KERNEL_AXIS not in axis_columns(dataset):
        return ""
    return f"differences between the kernels: in the report, and by `tussle compare {dataset.folder}`"


def note_on_hosts(dataset: Dataset) -> str:
    """Return the runs that are invalid because a host did not keep up; an empty text if there are none."""
    late = late_runs(dataset.validity)
    lines = [f"  run {run}: {shortfall}" for run, shortfall in late.head(_MOST_RUNS_NAMED).iter_rows()]
    runs = dataset.runs.select(pl.len()).collect().item()
    title = f"in {late.height} of {runs} runs a host did not keep up; the table validity has every flow:"
    return "\n".join([title, *lines]) if lines else ""


def note_on_buffers(dataset: Dataset) -> str:
    """Return the flows that a buffer of their hosts limited; an empty text if there are none."""
    limited = limited_flows(dataset.runs, dataset.flows)
    if limited.is_empty():
        return ""
    named = limits_in_words(limited, _MOST_PAIRS_NAMED)
    more = f"; and {limited.height - len(named)} more" if limited.height > len(named) else ""
    return (
        f"limited by a buffer, and not by the network, for more than {100 * LIMITED_FROM:.0f}\u00a0% of the "
        f"steady interval: {'; '.join(named)}{more}"
    )


def note_on_interval(dataset: Dataset) -> str:
    """Return how many runs have a short steady interval; an empty text if there are none."""
    short = round_trips_of_short_runs(dataset.runs)
    if short.is_empty():
        return ""
    runs = dataset.runs.select(pl.len()).collect().item()
    return (
        f"the steady interval of {len(short)} of {runs} runs is shorter than {FEW_ROUND_TRIPS} round trips "
        f"({short.min():.2g} at least), so that goodputs depend on where it begins; use a longer duration, "
        "or an earlier steady.from"
    )


def note_on_verdicts(dataset: Dataset) -> str:
    """Return pairs with an unclear verdict, by reason, with the remedy; an empty text if there is none."""
    found = REGISTRY["coexistence"].compute(dataset).filter(pl.col("verdict") == UNCLEAR)
    lines = []
    for (reason,), rows in found.group_by("reason", maintain_order=True):
        named = [f"{row['first']} then {row['second']}" for row in rows.head(_MOST_PAIRS_NAMED).to_dicts()]
        more = f" and {rows.height - len(named)} more" if rows.height > len(named) else ""
        remedy = REMEDIES[str(reason)]
        lines.append(f"unclear ({reason}; {remedy} would decide): {', '.join(named)}{more}")
    return "\n".join(lines)


NOTES = (
    note_on_verdicts,
    note_on_interval,
    note_on_steadiness,
    note_on_buffers,
    note_on_repetitions,
    note_on_hosts,
    note_on_kernels,
)
"""The notes after the tables; each may be an empty text."""
