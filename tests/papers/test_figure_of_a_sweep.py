"""The figure of a part that varies what a study does not give."""

import re

from tussle.papers._charts import MEASURES, SweptScore, over_sweep

RANKS, VERDICTS, DIFFERENCE = MEASURES
ENGINES = {"sim": "simulator", "sim-study-hosts": "simulator, the study's hosts", "kernel": "Linux"}


def swept(engine: str, table: str, measure: str, *scores: float) -> list[SweptScore]:
    buffers = ("20 kB", "75 kB")
    return [
        SweptScore(engine, *each) for each in zip(buffers, [table] * 2, [measure] * 2, scores, strict=True)
    ]


def texts(svg: str) -> list[str]:
    return re.findall(r">([^<>]+)</text>", svg)


def test_it_has_a_panel_for_each_table_and_measure_and_a_colour_for_each_engine_that_ran():
    scores = [
        *swept("sim", "Table I", RANKS, 0.8, 0.9),
        *swept("kernel", "Table I", RANKS, 0.7, 0.9),
        *swept("sim", "Table I", DIFFERENCE, 12, 250),
        *swept("sim", "Table II", DIFFERENCE, 7, 8),
    ]
    shown = texts(over_sweep(scores, "path.queue.limit", ENGINES))
    counts = {text: shown.count(text) for text in ("Table I", "Table II", RANKS, VERDICTS, DIFFERENCE)}
    assert counts == {"Table I": 2, "Table II": 1, RANKS: 1, VERDICTS: 0, DIFFERENCE: 2}
    assert [shown.count(name) for name in ENGINES.values()] == [1, 0, 1]
    assert shown.count("path.queue.limit") == shown.count("20 kB") == 3


def test_values_are_in_their_order_and_not_in_that_of_the_alphabet():
    scores = swept("sim", "Table I", RANKS, 0.8, 0.9)
    text = texts(over_sweep([*reversed(scores)], "path.queue.limit", ENGINES))
    assert text.index("75 kB") < text.index("20 kB")


def test_a_value_without_a_score_keeps_its_place():
    """Where no pair has a winner there is no rank correlation, but a median difference."""
    ranks = [each for each in swept("sim", "Table I", RANKS, 0.0, 0.9) if each.value == "75 kB"]
    text = texts(
        over_sweep([*swept("sim", "Table I", DIFFERENCE, 12, 13), *ranks], "path.queue.limit", ENGINES)
    )
    assert text.count("20 kB") == text.count("75 kB") == 2
