"""The answer to the question, in a few sentences made from the metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from tussle.metrics import REGISTRY, Tables, axis_columns, summarise
from tussle.metrics.coexistence import COEXIST, DEPENDS, THRESHOLD
from tussle.report._tables import POINT_QUANTITIES, number, summaries

_MOST_NAMED = 4
_WHOLE_PERCENT = 9.95
_SEVERAL = 2

Verdicts = dict[frozenset[str], str]
Shares = dict[str, dict[str, list[float]]]


def of_matrix(cells: pl.DataFrame) -> str:
    """Answer which of the algorithms can share; `cells` is the matrix of one network.

    A pair is judged by both orders where both were run. An algorithm yields (or takes) when its share is
    on the wrong side of the threshold against every other, in every order that was run.
    """
    shares = _shares(cells)
    verdicts = _verdicts(cells)
    mixed = {pair: verdict for pair, verdict in verdicts.items() if len(pair) > 1}
    own = {next(iter(pair)): verdict for pair, verdict in verdicts.items() if len(pair) == 1}
    compared = _one_pair(mixed, shares) if len(mixed) == 1 else _pairs(mixed)
    more = [*(_extremes(shares) if len(mixed) > 1 else []), *_own_kind(own)]
    if more and more[0].startswith(("each ", "none ")):
        more[0] = more[0].capitalize()
    return (
        " ".join(filter(None, [compared, f"{'; '.join(more)}." if more else ""])) or "Nothing was delivered."
    )


def of_networks(cells: pl.DataFrame, called: str) -> str:
    """Answer over all networks: how many pairs can share under each, or how one pair's shares move.

    `called` is what the networks are, in the plural: kernels, perhaps.
    """
    parts = cells.partition_by("slice", maintain_order=True)
    mixed = [{pair: v for pair, v in _verdicts(part).items() if len(pair) > 1} for part in parts]
    names = [part["slice"][0] for part in parts]
    pairs = {pair for verdicts in mixed for pair in verdicts}
    if len(pairs) == 1:
        return _moving_shares(dict(zip(names, map(_shares, parts), strict=True)))
    if not pairs:
        return f"{len(parts)} {called} were tried; each has its answer below."
    counts = [sum(verdict == COEXIST for verdict in verdicts.values()) for verdicts in mixed]
    least, most = counts.index(min(counts)), counts.index(max(counts))
    if counts[least] == counts[most]:
        return (
            f"Under each of {len(parts)} {called}, {counts[most] or 'none'} of {len(pairs)} pairs can share."
        )
    return (
        f"Over {len(parts)} {called}, between {counts[least] or 'none'} ({names[least]}) and {counts[most]} "
        f"({names[most]}) of {len(pairs)} pairs of different algorithms can share the bottleneck."
    )


def _moving_shares(shares: dict[str, Shares]) -> str:
    """Say from where to where the share of one of two algorithms goes, over networks that deliver any."""
    delivering = {name: found for name, found in shares.items() if found}
    one, other = next(iter(delivering.values()))
    means = {name: sum(found[one][other]) / len(found[one][other]) for name, found in delivering.items()}
    low, high = min(means, key=lambda name: means[name]), max(means, key=lambda name: means[name])
    silent = [name for name in shares if name not in delivering]
    said = (
        f"Against {other}, {one} gets between {_percent(means[low])} ({low}) "
        f"and {_percent(means[high])} ({high}) of what both deliver."
    )
    return f"{said} Nothing is delivered with {'; '.join(silent)}." if silent else said


def of_pair(cell: Mapping[str, Any]) -> str:
    """Say the verdict on one cell of the matrix, and that on both orders where it differs."""
    if cell["verdict"] is None:
        return "Nothing was delivered."
    can, cannot = ("can", "cannot") if cell["verdict"] == COEXIST else ("cannot", "can")
    said = f"They {can} share: the smaller has {_percent(cell['smaller_share'])} of what both deliver."
    return f"{said} In the other order they {cannot}." if cell["verdict_both_orders"] == DEPENDS else said


def of_points(tables: Tables) -> str:
    """Answer what became of the flows where the points are no pairs of algorithms."""
    table = summaries(tables, POINT_QUANTITIES, ["point"])
    if len(table) == 1:
        return _one_point(tables, table.row(0, named=True))
    total = "total_goodput_bit_per_s"
    ordered = table.drop_nulls(total).sort(total, "point").to_dicts()
    if not ordered:
        return "Nothing was delivered."
    places = _places(tables)
    low, high = ordered[0], ordered[-1]
    said = (
        f"Over {len(table)} points the flows deliver between {number(low[total] / 1e6)} Mbit/s "
        f"({places[low['point']]}) and {number(high[total] / 1e6)} Mbit/s ({places[high['point']]})."
    )
    more = []
    busy = table.drop_nulls("utilisation").sort("utilisation", "point").to_dicts()
    if busy:
        more.append(
            f"The link is busy between {_percent(busy[0]['utilisation'])} ({places[busy[0]['point']]}) "
            f"and {_percent(busy[-1]['utilisation'])} ({places[busy[-1]['point']]}) of the time"
        )
    fairness = table.drop_nulls("jain_index").sort("jain_index", "point").to_dicts()
    if fairness and fairness[0]["jain_index"] < 1:
        worst, best = fairness[0], fairness[-1]
        more.append(
            f"{'the' if more else 'The'} Jain index is between {worst['jain_index']:.2f} "
            f"({places[worst['point']]}) and {best['jain_index']:.2f} ({places[best['point']]})"
        )
    return f"{said} {'; '.join(more)}." if more else said


def _places(tables: Tables) -> dict[int, str]:
    """Name each point by its values on the axes."""
    axes = axis_columns(tables)
    runs = tables.runs.select("point", *axes).unique().collect()
    return {row["point"]: ", ".join(row[axis] for axis in axes) for row in runs.to_dicts()}


def _one_point(tables: Tables, row: dict[str, float]) -> str:
    shares = summarise(REGISTRY["share"], tables)["share"].drop_nulls().sort().to_list()
    if not shares:
        return "Nothing was delivered."
    total = f"{number(row['total_goodput_bit_per_s'] / 1e6)} Mbit/s"
    who = f"The {len(shares)} flows together deliver" if len(shares) > 1 else "The flow delivers"
    fairness = (
        f"; the smallest has {_percent(shares[0])} of it, the largest {_percent(shares[-1])}, "
        f"where {_percent(1 / len(shares))} is fair, and the Jain index is {row['jain_index']:.2f}"
    )
    said = f"{who} {total}{fairness if len(shares) > 1 else ''}."
    if row["utilisation"] is None:
        return said
    queue = f"{number(row['queue_mean_packets'])} packets ({number(row['queue_mean_ms'])} ms) wait"
    return f"{said} The link is busy {_percent(row['utilisation'])} of the time; on average {queue}."


def _verdicts(cells: pl.DataFrame) -> Verdicts:
    found = {}
    for row in cells.iter_rows(named=True):
        verdict = row["verdict_both_orders"] or row["verdict"]
        if verdict is not None:
            found[frozenset((row["first"], row["second"]))] = verdict
    return found


def _shares(cells: pl.DataFrame) -> Shares:
    """Collect the shares of each algorithm against each other one, one for each order that was run."""
    found: Shares = {}
    for row in cells.drop_nulls("share").iter_rows(named=True):
        first, second = row["first"], row["second"]
        if first != second:
            found.setdefault(first, {}).setdefault(second, []).append(row["share"])
            found.setdefault(second, {}).setdefault(first, []).append(1 - row["share"])
    return found


def _one_pair(verdicts: Verdicts, shares: Shares) -> str:
    pair, verdict = next(iter(verdicts.items()))
    one, other = (name for name in shares if name in pair)
    larger = max((one, other), key=lambda name: max(_against(shares, name, pair)))
    against = _against(shares, larger, pair)
    part = f"{larger} gets {_percent(sum(against) / len(against))} of what both deliver"
    if verdict == COEXIST:
        return f"{one} and {other} can share the bottleneck: {part}."
    if verdict == DEPENDS:
        return f"Whether {one} and {other} can share the bottleneck depends on which starts first."
    return f"{one} and {other} cannot share the bottleneck: {part}."


def _against(shares: Shares, name: str, pair: frozenset[str]) -> list[float]:
    return [share for other, found in shares[name].items() if other in pair for share in found]


def _pairs(verdicts: Verdicts) -> str:
    if not verdicts:
        return ""
    sharing = [pair for pair, verdict in verdicts.items() if verdict == COEXIST]
    depending = [pair for pair, verdict in verdicts.items() if verdict == DEPENDS]
    others = len(verdicts) - len(sharing) - len(depending)
    if len(sharing) == len(verdicts):
        all_pairs = "Both" if len(verdicts) == _SEVERAL else f"All {len(verdicts)}"
        return f"{all_pairs} pairs of different algorithms can share the bottleneck."
    if others == len(verdicts):
        return f"None of the {len(verdicts)} pairs of different algorithms can share the bottleneck."
    parts = [f"{len(sharing) or 'none'} can share the bottleneck{_named(sharing)}"]
    if depending:
        what = "depends" if len(depending) == 1 else "depend"
        parts.append(f"{len(depending)} {what} on which starts first{_named(depending)}")
    if others:
        parts.append(f"{others} cannot")
    return f"Of {len(verdicts)} pairs of different algorithms, {_listed(parts)}."


def _extremes(shares: Shares) -> list[str]:
    """Name those that yield to all of several others, and those that take from all."""
    said = []
    for name, others in shares.items():
        found = [share for against in others.values() for share in against]
        if len(others) < _SEVERAL:
            continue
        if max(found) < THRESHOLD:
            worst = min(others, key=lambda other: min(others[other]))
            said.append(f"{name} yields to everyone ({_percent(min(others[worst]))} against {worst})")
        elif min(found) > 1 - THRESHOLD:
            best = max(others, key=lambda other: max(others[other]))
            said.append(f"{name} takes from everyone ({_percent(max(others[best]))} against {best})")
    return said


def _own_kind(verdicts: dict[str, str]) -> list[str]:
    failing = [name for name, verdict in verdicts.items() if verdict != COEXIST]
    if len(verdicts) == 1:
        name = next(iter(verdicts))
        return [f"Two {name} flows {'cannot' if failing else 'can'} share the bottleneck"]
    if not verdicts:
        return []
    if not failing:
        return ["each shares with its own kind"]
    if len(failing) == len(verdicts):
        return ["none shares with its own kind"]
    does = "does not share with its own kind" if len(failing) == 1 else "do not share with their own kind"
    return [f"{_listed(failing)} {does}"]


def _named(chosen: list[frozenset[str]]) -> str:
    if not chosen or len(chosen) > _MOST_NAMED:
        return ""
    return f" ({', '.join(' with '.join(sorted(pair)) for pair in chosen)})"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _percent(share: float) -> str:
    percent = share * 100
    return f"{percent:.0f}\u00a0%" if percent >= _WHOLE_PERCENT else f"{percent:.2g}\u00a0%"
