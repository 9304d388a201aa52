"""Names of flows and networks for titles and legends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tussle.errors import listed
from tussle.figures._palette import algorithm_colour
from tussle.metrics import Tables, axis_columns

_PAIR = 2
_DASHES = ((), (6, 3), (2, 2), (8, 3, 2, 3))

_WHOLE_PERCENT = 9.95


@dataclass(frozen=True)
class Line:
    """The look of a flow: its algorithm's colour, with dashes that differ from others of that colour."""

    flow: int
    algorithm: str
    label: str
    dash: tuple[int, ...]

    @property
    def colour(self) -> str:
        """The colour of the algorithm."""
        return algorithm_colour(self.algorithm)


def lines(tables: Tables) -> list[Line]:
    """Return the look of each flow of a run, in the order of the flows."""
    flows = tables.flows.select("flow", "name", "algorithm").sort("flow").collect().rows()
    found = []
    for place, dash in enumerate(dashes([algorithm for *_, algorithm in flows])):
        flow, name, algorithm = flows[place]
        role = ("first", "second")[place] if len(flows) == _PAIR else name
        found.append(Line(flow, algorithm, f"{algorithm} ({role})" if len(flows) > 1 else algorithm, dash))
    return found


def dashes(algorithms: Sequence[str]) -> list[tuple[int, ...]]:
    """Choose the dashes of lines by their algorithms, so that they differ in prints without colours.

    Lines of one algorithm differ as long as there are other dashes; then those of all lines do.
    """
    used: Counter[tuple[str, int]] = Counter()
    of_all: Counter[int] = Counter()
    found = []
    for algorithm in algorithms:
        chosen = min(range(len(_DASHES)), key=lambda place: (used[algorithm, place], of_all[place], place))
        used[algorithm, chosen] += 1
        of_all[chosen] += 1
        found.append(_DASHES[chosen])
    return found


def sets_of_flows(tables: Tables, omitted: tuple[str, ...]) -> pl.DataFrame:
    """Return `point, set, algorithm`: the point's flows and axes in words, and the first flow's algorithm.

    Axes whose keys end in one of `omitted` are left out.
    """
    axes = [axis for axis in axis_columns(tables) if not axis.endswith(omitted)]
    named = [pl.format("{} = {}", pl.lit(axis), pl.col(axis)) for axis in axes]
    flows = tables.flows.join(tables.runs.select("run", "point", *axes), on="run").sort("run", "flow")
    by_run = flows.group_by("point", "run", maintain_order=True).agg(
        "algorithm", *(pl.col(axis).first() for axis in axes)
    )
    points = by_run.unique("point", keep="first", maintain_order=True).sort("point").collect()
    words = pl.concat_str(pl.col("algorithm").map_elements(_together, pl.String), *named, separator=", ")
    return points.select("point", words.alias("set"), pl.col("algorithm").list.first())


def _together(names: pl.Series) -> str:
    """Name the algorithms of flows: "reno and cubic", "10 reno", "2 bic and reno"."""
    counts = {name: int((names == name).sum()) for name in names}
    if len(names) == _PAIR and len(counts) == _PAIR:
        return " and ".join(counts)
    return " and ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())


def network_in_words(tables: Tables) -> str:
    """Describe the bottleneck of a run: "100 Mbit/s, 40 ms, buffer 333 packets"."""
    row = tables.runs.select("link_rate_bit_per_s", "base_rtt_ms", "buffer_packets").first().collect()
    rate, rtt_ms, buffer_packets = row.row(0)
    parts = []
    if rate is not None:
        parts.append(rate_in_words(rate))
    if rtt_ms is not None:
        parts.append(f"{rtt_ms:.4g} ms")
    if buffer_packets is not None:
        parts.append(f"buffer {buffer_packets} packets")
    return ", ".join(parts)


def percent(part: float) -> str:
    r"""Write a fraction as a percentage with a no-break space: no decimals, or two digits below ten.

    >>> percent(0.43), percent(0.0512)
    ('43\xa0%', '5.1\xa0%')
    """
    return f"{percentage(part)}\u00a0%"


def percentage(part: float) -> str:
    """Write the number without the percent sign."""
    number = part * 100
    return f"{number:.0f}" if number >= _WHOLE_PERCENT else f"{number:.2g}"


def rate_in_words(bit_per_s: float) -> str:
    """Write a rate with the unit that suits it."""
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bit_per_s >= factor:
            return f"{bit_per_s / factor:.4g} {unit}"
    return f"{bit_per_s:.4g} bit/s"


def flows_in_words(tables: Tables) -> str:
    """Name the algorithms of a run in the order of their flows: "reno and cubic", "10 cubic and 2 reno"."""
    names = tables.flows.select("flow", "algorithm").sort("flow").collect()["algorithm"].to_list()
    counts = Counter(names)
    if len(names) == _PAIR:
        return " and ".join(names)
    words = [name if count == 1 else f"{count} {name}" for name, count in counts.items()]
    return listed(words)


def other_axes_in_words(tables: Tables) -> str:
    """Name the values that a run has on the axes that are no algorithms: "path.rtt = 40 ms"."""
    axes = [axis for axis in axis_columns(tables) if not axis.endswith(".algorithm")]
    values = tables.runs.select(axes).first().collect().to_dicts()
    return ", ".join(f"{axis} = {value}" for row in values for axis, value in row.items())
