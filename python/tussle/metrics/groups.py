"""Groups of algorithms that all share fairly with one another."""

from __future__ import annotations

import polars as pl

from tussle.errors import TussleError
from tussle.metrics._metric import Metric, Tables
from tussle.metrics._verdicts import THRESHOLD, YES, verdicts


def compute(tables: Tables) -> pl.DataFrame:
    """`slice, group, size, algorithms`: the groups of each network, the largest first.

    `algorithms` are joined by ", ". Algorithms that share fairly with no other are groups of one.
    """
    found = verdicts(tables)
    if found.is_empty():
        raise TussleError(
            "groups needs runs of two flows each, and this dataset has others; `tussle matrix` makes them"
        )
    # It takes longer to load than most groups take to find.
    import networkx

    rows = []
    for (network,), pairs in found.sort("slice", "point").group_by("slice", maintain_order=True):
        graph = networkx.Graph()
        graph.add_nodes_from(sorted({*pairs["first"], *pairs["second"]}))
        graph.add_edges_from(_friends(pairs))
        cliques = sorted((sorted(clique) for clique in networkx.find_cliques(graph)), key=_largest_first)
        rows += [
            {"slice": network, "group": index, "size": len(clique), "algorithms": ", ".join(clique)}
            for index, clique in enumerate(cliques)
        ]
    schema = {"slice": pl.String, "group": pl.UInt32, "size": pl.UInt32, "algorithms": pl.String}
    return pl.DataFrame(rows, schema=schema)


def _friends(pairs: pl.DataFrame) -> list[tuple[str, str]]:
    """Return the pairs that share fairly in every order that was run."""
    by_names: dict[tuple[str, str], list[str | None]] = {}
    for first, second, verdict in pairs.select("first", "second", "verdict").iter_rows():
        by_names.setdefault((min(first, second), max(first, second)), []).append(verdict)
    return [
        names
        for names, found in by_names.items()
        if names[0] != names[1] and all(verdict == YES for verdict in found)
    ]


def _largest_first(clique: list[str]) -> tuple[int, list[str]]:
    return -len(clique), clique


METRIC = Metric(
    name="groups",
    unit="algorithms",
    definition="Groups of algorithms in which every two share fairly, in every order of start that was run, "
    "and which no other algorithm can join: the maximal cliques of the graph whose edges are the verdicts "
    f"of coexistence (smaller share at least {THRESHOLD}). Whether an algorithm shares fairly with itself "
    "does not matter.",
    source="Bron and Kerbosch, Algorithm 457: finding all cliques of an undirected graph, CACM 16(9), 1973",
    better="neither",
    per=("slice", "group"),
    compute=compute,
)
