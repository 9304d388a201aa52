"""The page on token buckets agrees with its data file, and its conclusions follow from it."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("token_bucket")


def test_the_tables_of_the_page_equal_the_data_file(page: ModuleType):
    text = page.PAGE.read_text("utf-8")
    assert page.filled(text) == text


def test_every_experiment_has_a_flow_of_each_variant_of_the_study(page: ModuleType):
    for experiment in page.EXPERIMENTS:
        rows = page.of(experiment)
        assert rows.height == rows["algorithm"].n_unique() == 13
        assert rows["printed_mbit_per_s"].null_count() == 0


def test_other_pages_state_the_same_ranges(page: ModuleType):
    texts = [
        " ".join((ROOT / name).read_text("utf-8").split())
        for name in ("docs/explanation/published-studies.md", "docs/papers/linux-variants.md")
    ]
    for experiment in (page.TABLE_4, page.TABLE_5):
        rows = page.of(experiment)
        ours, printed = (rows[f"{column}_mbit_per_s"].sort() for column in ("goodput", "printed"))
        for goodputs in (ours, printed):
            least, most = (goodputs.item(place) for place in (0, -1))
            digits = 2 if most < 3 else 3
            said = f"{least:.{digits}g} to {most:.{digits}g}"
            assert all(said in text for text in texts), said


def goodputs(page: ModuleType, experiment: Any) -> dict[str, float]:
    return dict(page.of(experiment).select("algorithm", "goodput_mbit_per_s").iter_rows())


def test_cut_segments_fill_the_link_for_all_variants_but_westwood_and_lp(page: ModuleType):
    of = goodputs(page, page.CUTS)
    assert {name for name, goodput in of.items() if goodput < 95} == {"westwood", "lp"}
    assert f"Westwood gets {of['westwood']:.0f} Mbit/s and LP {of['lp']:.2f}" in page.PAGE.read_text("utf-8")


def test_dropped_segments_give_the_numbers_of_table_4_with_and_without_autosizing(page: ModuleType):
    assert f"{page.median_ratio(page.TABLE_4) - 1:.0%}" == "9%"
    assert f"{page.median_ratio(page.TABLE_4_AUTOSIZED) - 1:.0%}" == "12%"
    rows = page.of(page.TABLE_4)
    ratios = (rows["goodput_mbit_per_s"] / rows["printed_mbit_per_s"]).round(2)
    assert ratios.is_between(0.67, 1.5).all()


def test_at_500_mbit_per_s_autosizing_decides(page: ModuleType):
    assert f"{1 - page.median_ratio(page.TABLE_5):.0%}" == "10%"
    assert f"{page.median_ratio(page.TABLE_5_AUTOSIZED):.0f}" == "35"
    with_autosizing, without = (goodputs(page, each) for each in (page.TABLE_5_AUTOSIZED, page.TABLE_5))
    assert min(with_autosizing.values()) > max(without.values())


def ranks(page: ModuleType, experiment: Any) -> float:
    rows = page.of(experiment)
    return rows.select(pl.corr("goodput_mbit_per_s", "printed_mbit_per_s", method="spearman")).item()


def test_the_ranks_of_the_variants_hardly_agree_with_print_and_depend_on_the_loss_recovery(page: ModuleType):
    today = [each for each in page.EXPERIMENTS if each.recovery == "today"]
    assert all(ranks(page, each) < 0.5 for each in today)
    as_then, no_probes = (ranks(page, each) for each in (page.TABLE_4_RFC6675, page.TABLE_4_NO_PROBES))
    with_print = f"{as_then:.2f} instead of {ranks(page, page.TABLE_4):.2f}, and without tail loss probes"
    words = " ".join(page.PAGE.read_text("utf-8").split())
    assert f"with that of RFC 6675 the rank correlation is {with_print} {no_probes:.2f} again." in words
    assert as_then > ranks(page, page.TABLE_4) + 0.1 > no_probes


def test_yeah_and_scalable_are_equal_and_hybla_is_last_as_in_table_4(page: ModuleType):
    rows = page.of(page.TABLE_4)
    for column in ("goodput_mbit_per_s", "printed_mbit_per_s"):
        of = dict(rows.select("algorithm", column).iter_rows())
        assert of["yeah"] == of["scalable"]
        assert min(of, key=lambda name: of[name]) == "hybla"
