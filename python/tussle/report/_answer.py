"""The answer to the question of a scenario, in a few sentences that are generated from the metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from tussle.errors import listed
from tussle.figures import percent, reason_in_words, spread_in_words, whole_in_words
from tussle.metrics import REGISTRY, Tables, axis_columns, summarise
from tussle.metrics.coexistence import DEPENDS, NO, THRESHOLD, UNCLEAR, YES
from tussle.report._tables import POINT_QUANTITIES, number, summaries

_MOST_NAMED = 6
_MOST_NETWORKS = 4
_SEVERAL = 2

_KINDS = (YES, DEPENDS, UNCLEAR, NO)

Verdicts = dict[frozenset[str], str]
Shares = dict[str, dict[str, list[float]]]


def of_matrix(cells: pl.DataFrame) -> str:
    """Return which algorithms share fairly; `cells` is the matrix of one network.

    The verdict on a pair takes both orders into account where both were run. An algorithm yields to all
    others (or takes from all others) if its share against each of them is unfairly small (or large) in every
    order that was run.
    """
    shares = _shares(cells)
    verdicts = _verdicts(cells)
    mixed = {pair: verdict for pair, verdict in verdicts.items() if len(pair) > 1}
    own = {next(iter(pair)): verdict for pair, verdict in verdicts.items() if len(pair) == 1}
    compared = _one_pair(mixed, cells) if len(mixed) == 1 else _pairs(mixed, _which(cells))
    more = [*(_extremes(shares, mixed) if len(mixed) > 1 else []), *_own_kind(own, cells)]
    # The name of an algorithm is not capitalised.
    if more and more[0].startswith(("each ", "none ", "two ", "whether ")):
        more[0] = f"{more[0][0].upper()}{more[0][1:]}"
    return (
        " ".join(filter(None, [compared, f"{'; '.join(more)}." if more else ""])) or "Nothing was delivered."
    )


def of_networks(cells: pl.DataFrame, called: str) -> str:
    """Return which pairs share fairly in each network, or the range of one pair's shares over the networks.

    `called` is the plural for the networks, such as "networks" or "kernels".
    """
    parts = cells.partition_by("slice", maintain_order=True)
    mixed = [{pair: v for pair, v in _verdicts(part).items() if len(pair) > 1} for part in parts]
    names = [part["slice"][0] for part in parts]
    pairs = list(dict.fromkeys(pair for verdicts in mixed for pair in verdicts))
    if len(pairs) == 1:
        return _moving_shares(dict(zip(names, map(_shares, parts), strict=True)), _whole(cells))
    if not pairs:
        return f"The dataset has {len(parts)} {called}; the answer for each is below."
    fair = {
        name: [pair for pair in pairs if v.get(pair) == YES] for name, v in zip(names, mixed, strict=True)
    }
    unclear = sum(verdict == UNCLEAR for verdicts in mixed for verdict in verdicts.values())
    return _over_networks(fair, f"{len(parts)} {called}", len(pairs)) + _and_unclear(unclear)


def _over_networks(fair: dict[str, list[frozenset[str]]], networks: str, pairs: int) -> str:
    """Return the pairs that share fairly: once if they are the same in each network."""
    found = list(fair.values())
    if all(each == found[0] for each in found):
        share = "shares" if len(found[0]) == 1 else "share"
        return (
            f"In each of {networks}, {len(found[0]) or 'none'} of {pairs} pairs of different algorithms "
            f"{share} the bottleneck fairly{_named(found[0])}."
        )
    ordered = sorted(fair, key=lambda name: len(fair[name]))
    shown = list(fair) if len(fair) <= _MOST_NETWORKS else [ordered[0], ordered[-1]]
    counts = "; ".join(f"{len(fair[name]) or 'none'} with {name}{_named(fair[name])}" for name in shown)
    which = "" if len(shown) == len(fair) else "from the fewest to the most: "
    return (
        f"Over {networks}, of {pairs} pairs of different algorithms these share the bottleneck fairly: "
        f"{which}{counts}."
    )


def _and_unclear(count: int) -> str:
    if not count:
        return ""
    return f" {count} verdict{'s are' if count > 1 else ' is'} unclear; the details of each pair say why."


def _whole(cells: pl.DataFrame) -> str:
    """Name what the shares of all pairs are parts of."""
    return whole_in_words(cells.select(pl.col("first_flows", "second_flows").max()).row(0, named=True))


def _moving_shares(shares: dict[str, Shares], whole: str) -> str:
    """Return the range of the share of one of two algorithms, over networks with any delivered data."""
    delivering = {name: found for name, found in shares.items() if found}
    one, other = next(iter(delivering.values()))
    means = {name: sum(found[one][other]) / len(found[one][other]) for name, found in delivering.items()}
    low, high = min(means, key=lambda name: means[name]), max(means, key=lambda name: means[name])
    silent = [name for name in shares if name not in delivering]
    text = (
        f"Against {other}, {one} gets between {percent(means[low])} ({low}) "
        f"and {percent(means[high])} ({high}) of {whole}."
    )
    return f"{text} Nothing is delivered with {'; '.join(silent)}." if silent else text


def of_pair(cell: Mapping[str, Any]) -> str:
    """Return a cell's verdict and spread, the sum of several flows, and the other order if it differs."""
    if cell["verdict"] is None:
        return "Nothing was delivered."
    smaller = f"the smaller has {percent(cell['smaller_share'])} of {whole_in_words(cell)}"
    spread = spread_in_words(cell)
    if cell["verdict"] == UNCLEAR:
        text = f"Whether they share fairly is unclear ({reason_in_words(cell)}): {smaller} ({spread})."
    else:
        do = "share" if cell["verdict"] == YES else "do not share"
        text = f"They {do} fairly: {smaller} ({spread})."
    text = " ".join(filter(None, [text, _sum_of_first(cell)]))
    if cell["verdict_both_orders"] == DEPENDS:
        return f"{text} In the other order they {'do not' if cell['verdict'] == YES else 'do'}."
    if cell["verdict_both_orders"] == UNCLEAR != cell["verdict"]:
        return f"{text} In the other order it is unclear."
    return text


def _sum_of_first(cell: Mapping[str, Any]) -> str:
    """Return the part that all flows of the first side have together; empty for two flows."""
    first, second = cell["first_flows"], cell["second_flows"]
    if first == second == 1:
        return ""
    of_first = first * cell["share"]
    part, fair = of_first / (of_first + second * (1 - cell["share"])), first / (first + second)
    which = f"{first} {cell['first']} flows have" if first > 1 else f"first flow, {cell['first']}, has"
    return f"The {which} {percent(part)} of the whole goodput, where {percent(fair)} is fair."


def of_points(tables: Tables) -> str:
    """Return the range of goodput, utilisation and fairness, for points that are not pairs of algorithms."""
    table = summaries(tables, POINT_QUANTITIES, ["point"])
    if len(table) == 1:
        return _one_point(tables, table.row(0, named=True))
    total = "total_goodput_bit_per_s"
    ordered = table.drop_nulls(total).sort(total, "point").to_dicts()
    if not ordered:
        return "Nothing was delivered."
    places = _places(tables)
    low, high = ordered[0], ordered[-1]
    text = (
        f"Over {len(table)} points the flows deliver between {number(low[total] / 1e6)} Mbit/s "
        f"({places[low['point']]}) and {number(high[total] / 1e6)} Mbit/s ({places[high['point']]})."
    )
    more = []
    busy = table.drop_nulls("utilisation").sort("utilisation", "point").to_dicts()
    if busy:
        more.append(
            f"The link is busy between {percent(busy[0]['utilisation'])} ({places[busy[0]['point']]}) "
            f"and {percent(busy[-1]['utilisation'])} ({places[busy[-1]['point']]}) of the time"
        )
    fairness = table.drop_nulls("jain_index").sort("jain_index", "point").to_dicts()
    if fairness and fairness[0]["jain_index"] < 1:
        worst, best = fairness[0], fairness[-1]
        more.append(
            f"{'the' if more else 'The'} Jain index is between {worst['jain_index']:.2f} "
            f"({places[worst['point']]}) and {best['jain_index']:.2f} ({places[best['point']]})"
        )
    return f"{text} {'; '.join(more)}." if more else text


def _places(tables: Tables) -> dict[int, str]:
    """Return a name for each point: its values on the axes."""
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
        f"; the smallest has {percent(shares[0])} of it, the largest {percent(shares[-1])}, "
        f"where {percent(1 / len(shares))} is fair, and the Jain index is {row['jain_index']:.2f}"
    )
    text = f"{who} {total}{fairness if len(shares) > 1 else ''}."
    if row["utilisation"] is None:
        return text
    queue = f"{number(row['queue_mean_packets'])} packets ({number(row['queue_mean_ms'])} ms) wait"
    return f"{text} The link is busy {percent(row['utilisation'])} of the time; on average {queue}."


def _verdicts(cells: pl.DataFrame) -> Verdicts:
    found = {}
    for row in cells.iter_rows(named=True):
        verdict = row["verdict_both_orders"] or row["verdict"]
        if verdict is not None:
            found[frozenset((row["first"], row["second"]))] = verdict
    return found


def _shares(cells: pl.DataFrame) -> Shares:
    """Return the shares of each algorithm against each other one: one share for each order that was run."""
    found: Shares = {}
    for row in cells.drop_nulls("share").iter_rows(named=True):
        first, second = row["first"], row["second"]
        if first != second:
            found.setdefault(first, {}).setdefault(second, []).append(row["share"])
            found.setdefault(second, {}).setdefault(first, []).append(1 - row["share"])
    return found


def _one_pair(verdicts: Verdicts, cells: pl.DataFrame) -> str:
    shares = _shares(cells)
    pair, verdict = next(iter(verdicts.items()))
    one, other = (name for name in shares if name in pair)
    larger = max((one, other), key=lambda name: max(_against(shares, name, pair)))
    against = _against(shares, larger, pair)
    part = f"{larger} gets {percent(sum(against) / len(against))} of {_whole(cells)}"
    if verdict == YES:
        return f"{one} and {other} share the bottleneck fairly: {part}."
    if verdict == DEPENDS:
        return f"Whether {one} and {other} share the bottleneck fairly depends on {_which(cells)}."
    if verdict == UNCLEAR:
        return f"Whether {one} and {other} share the bottleneck fairly is unclear: {part}."
    return f"{one} and {other} do not share the bottleneck fairly: {part}."


def _which(cells: pl.DataFrame) -> str:
    """Name what the order of a pair decides."""
    same = (cells["first_flows"] == cells["second_flows"]).all()
    return "which starts first" if same else "which of them is first"


def _against(shares: Shares, name: str, pair: frozenset[str]) -> list[float]:
    return [share for other, found in shares[name].items() if other in pair for share in found]


def _pairs(verdicts: Verdicts, which: str) -> str:
    if not verdicts:
        return ""
    found = {kind: [pair for pair, verdict in verdicts.items() if verdict == kind] for kind in _KINDS}
    fair, depending, unclear, unfair = found.values()
    if len(fair) == len(verdicts):
        all_pairs = "Both" if len(verdicts) == _SEVERAL else f"All {len(verdicts)}"
        return f"{all_pairs} pairs of different algorithms share the bottleneck fairly."
    if len(unfair) == len(verdicts):
        return f"None of the {len(verdicts)} pairs of different algorithms shares the bottleneck fairly."
    share = "shares" if len(fair) == 1 else "share"
    parts = [f"{len(fair) or 'none'} {share} the bottleneck fairly{_named(fair)}"]
    if depending:
        what = "depends" if len(depending) == 1 else "depend"
        parts.append(f"{len(depending)} {what} on {which}{_named(depending)}")
    if unclear:
        parts.append(f"{len(unclear)} {'is' if len(unclear) == 1 else 'are'} unclear{_named(unclear)}")
    if unfair:
        parts.append(f"{len(unfair)} {'does' if len(unfair) == 1 else 'do'} not")
    return f"Of {len(verdicts)} pairs of different algorithms, {listed(parts)}."


def _extremes(shares: Shares, verdicts: Verdicts) -> list[str]:
    """Return the algorithms that yield to all others, and those that take from all, if there are several."""
    phrases = []
    for name, others in shares.items():
        found = [share for against in others.values() for share in against]
        unfair = all(verdicts.get(frozenset((name, other))) == NO for other in others)
        if len(others) < _SEVERAL or not unfair:
            continue
        if max(found) < THRESHOLD:
            worst = min(others, key=lambda other: min(others[other]))
            phrases.append(f"{name} yields to all others ({percent(min(others[worst]))} against {worst})")
        elif min(found) > 1 - THRESHOLD:
            best = max(others, key=lambda other: max(others[other]))
            phrases.append(f"{name} takes from all others ({percent(max(others[best]))} against {best})")
    return phrases


def _own_kind(verdicts: dict[str, str], cells: pl.DataFrame) -> list[str]:
    """Return which algorithms share fairly with a second flow of the same algorithm."""
    failing = [name for name, verdict in verdicts.items() if verdict == NO]
    unclear = [name for name, verdict in verdicts.items() if verdict == UNCLEAR]
    if len(verdicts) == 1:
        [(name, verdict)] = verdicts.items()
        who = _several(cells, name)
        if verdict == UNCLEAR:
            return [f"whether {who} share the bottleneck fairly is unclear"]
        do = "share" if verdict == YES else "do not share"
        return [f"{who} {do} the bottleneck fairly"]
    if not verdicts:
        return []
    if not failing and not unclear:
        return ["each shares fairly with itself"]
    if len(failing) == len(verdicts):
        return ["none shares fairly with itself"]
    phrases = []
    if failing:
        do, itself = ("does", "itself") if len(failing) == 1 else ("do", "themselves")
        phrases.append(f"{listed(failing)} {do} not share fairly with {itself}")
    if unclear:
        share, itself = ("shares", "itself") if len(unclear) == 1 else ("share", "themselves")
        phrases.append(f"whether {listed(unclear)} {share} fairly with {itself} is unclear")
    return phrases


def _several(cells: pl.DataFrame, name: str) -> str:
    """Name the flows of an algorithm beside itself."""
    first, second = (cells[f"{side}_flows"].max() for side in ("first", "second"))
    if first == second == 1:
        return f"two {name} flows"
    of_first = f"{first} {name} flow{'s' if first != 1 else ''}"
    return f"{of_first} and {second} that start{'s' if second == 1 else ''} later"


def _named(chosen: list[frozenset[str]]) -> str:
    if not chosen:
        return ""
    names = [" with ".join(sorted(pair)) for pair in chosen[:_MOST_NAMED]]
    more = len(chosen) - len(names)
    return f" ({', '.join(names)}{f' and {more} more' if more else ''})"
