"""The report: its summaries, tables, charts and escaping."""

import base64
import gzip
import json
import os
import re
import signal
from dataclasses import replace
from io import StringIO
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from plausible import PlausibleDataset, by_hand, flow_row, matrix, run_row, sweep
from tussle.errors import TussleError
from tussle.metrics import REGISTRY
from tussle.metrics.steadiness import unsteady_runs
from tussle.report import Drawing, write
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings
from tussle.sweep import sweep as simulate
from tussle.workers.pool import processes

FOUR = ["reno", "cubic", "bic", "vegas"]
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(matrix(["reno", "vegas"], 3), tmp_path_factory.mktemp("report") / "report.html")


def answer(data: PlausibleDataset, folder: Path) -> str:
    text = write(data, folder / "report.html").read_text()
    sentence = " ".join(re.findall(r'<p class="answer">(.*?)</p>', text, re.DOTALL))
    return re.sub(r"<[^>]+>", "", sentence).replace("\u00a0", " ").replace("&#39;", "'")


def shared(goodputs: dict[tuple[str, str], tuple[float, float]]) -> PlausibleDataset:
    """Pairs with these goodputs in Mbit/s, and no time series."""
    runs, flows = [], []
    for run, ((first, second), (mine, theirs)) in enumerate(goodputs.items()):
        runs.append(run_row(run, **{"flows.0.algorithm": first, "flows.1.algorithm": second}))
        flows.append(flow_row(run, 0, algorithm=first, goodput_bit_per_s=mine * 1e6))
        flows.append(flow_row(run, 1, algorithm=second, goodput_bit_per_s=theirs * 1e6))
    series = matrix(["reno"])
    return replace(
        by_hand(runs=runs, flows=flows), samples=series.samples.limit(0), links=series.links.limit(0)
    )


def networks(
    goodputs: dict[str, tuple[float, float]], algorithms: tuple[str, ...] = ("reno", "cubic")
) -> PlausibleDataset:
    """Return each ordered pair of algorithms, with these goodputs for each size of buffer."""
    pairs = [(one, other) for i, one in enumerate(algorithms) for other in algorithms[i:]]
    data = [shared(dict.fromkeys(pairs, goodput)) for goodput in goodputs.values()]
    shift = [pl.col("run") + place * len(pairs) for place in range(len(data))]
    runs = [
        part.runs.with_columns(
            shift[place], shift[place].alias("point"), pl.lit(limit).alias("path.queue.limit")
        )
        for place, (part, limit) in enumerate(zip(data, goodputs, strict=True))
    ]
    flows = [part.flows.with_columns(shift[place]) for place, part in enumerate(data)]
    return replace(data[0], runs=pl.concat(runs), flows=pl.concat(flows))


def test_the_summary_counts_pairs_and_names_the_algorithm_that_yields(tmp_path: Path):
    """Both orders of reno, cubic and vegas: reno and cubic share fairly, vegas gets 12 % at least."""
    pairs = {(one, other): (48.0, 46.0) for one in ("reno", "cubic") for other in ("reno", "cubic")}
    pairs |= {("vegas", other): (12.0, 88.0) for other in ("reno", "cubic")}
    pairs |= {(other, "vegas"): (88.0, 12.0) for other in ("reno", "cubic")}
    pairs["vegas", "vegas"] = (48.0, 46.0)
    assert answer(shared(pairs), tmp_path) == (
        "Of 3 pairs of different algorithms, 1 shares the bottleneck fairly (cubic with reno) and 2 do not. "
        "vegas yields to all others (12 % against reno); each shares fairly with itself."
    )


def test_the_second_sentence_of_the_summary_begins_with_a_capital(tmp_path: Path):
    """38 % in one run and 48 % in the other: whether reno shares fairly with itself is unclear."""
    fair = {("reno", "cubic"): (48.0, 46.0), ("cubic", "cubic"): (48.0, 46.0)}
    both = [shared({**fair, ("reno", "reno"): (x, 95 - x)}) for x in (36.0, 46.0)]
    shift = [(pl.col("run") + 3 * i).cast(pl.UInt32) for i in range(2)]
    runs = [part.runs.with_columns(shift[i], repetition=pl.lit(i, pl.UInt32)) for i, part in enumerate(both)]
    flows = [part.flows.with_columns(shift[i]) for i, part in enumerate(both)]
    repeated = replace(both[0], runs=pl.concat(runs), flows=pl.concat(flows))
    assert answer(repeated, tmp_path).endswith(". Whether reno shares fairly with itself is unclear.")


def test_what_follows_a_semicolon_begins_without_a_capital(tmp_path: Path):
    """One algorithm, which two others join: it takes from both."""
    pairs = {("bic", "bic"): (48.0, 46.0), ("bic", "reno"): (75.0, 20.0), ("bic", "vegas"): (88.0, 7.0)}
    assert answer(shared(pairs), tmp_path) == (
        "None of the 2 pairs of different algorithms shares the bottleneck fairly. "
        "bic takes from all others (93 % against vegas); two bic flows share the bottleneck fairly."
    )


def test_the_summary_states_that_the_verdict_depends_on_the_order(tmp_path: Path):
    pairs = {("illinois", "yeah"): (50.0, 50.0), ("yeah", "illinois"): (10.0, 85.0)}
    assert "depends on which starts first" in answer(shared(pairs), tmp_path)


def test_the_summary_of_one_algorithm_states_whether_its_flows_share_fairly(tmp_path: Path):
    assert (
        answer(shared({("reno", "reno"): (49.0, 47.0)}), tmp_path)
        == "Two reno flows share the bottleneck fairly."
    )


def test_the_summary_of_one_pair_states_both_shares(tmp_path: Path):
    sentence = answer(shared({("reno", "cubic"): (20.0, 75.0)}), tmp_path)
    assert sentence == "reno and cubic do not share the bottleneck fairly: cubic gets 79 % of both goodputs."


def test_the_summary_of_a_run_without_deliveries_states_that(tmp_path: Path):
    assert answer(shared({("reno", "cubic"): (0.0, 0.0)}), tmp_path) == "Nothing was delivered."


def test_the_summary_of_one_flow_describes_the_link_and_its_queue(tmp_path: Path):
    sentence = answer(sweep([{"flows.0.algorithm": "cubic"}]), tmp_path)
    assert re.fullmatch(
        r"The flow delivers [\d.]+ Mbit/s\. The link is busy \d+ % of the time; on average [\d.]+ packets "
        r"\([\d.]+ ms\) wait\.",
        sentence,
    )


def test_the_summary_of_several_flows_describes_fairness(tmp_path: Path):
    sentence = answer(sweep([{f"flows.{i}.algorithm": "cubic" for i in range(4)}]), tmp_path)
    assert "where 25 % is fair" in sentence


def test_the_summary_of_an_axis_states_its_first_and_last_value(tmp_path: Path):
    points = [{"flows.0.algorithm": "reno", "path.rtt": rtt} for rtt in ("10 ms", "80 ms")]
    assert answer(sweep(points), tmp_path).startswith("Over 2 points the flows deliver between")


def test_each_network_has_its_own_matrix_and_summary(tmp_path: Path):
    axes = [
        {"flows.0.algorithm": first, "flows.1.algorithm": second, "path.rtt": rtt}
        for first, second, rtt in product(["reno", "cubic"], ["reno", "cubic"], ["10 ms", "80 ms"])
    ]
    text = write(sweep(axes), tmp_path / "report.html").read_text()
    assert text.count('<table class="matrix" ') == 2
    assert "<strong>path.rtt = 80 ms:</strong>" in text
    assert len(set(re.findall(r'<section class="detail" id="([^"]+)"', text))) == 8


def test_the_summary_of_one_pair_in_many_networks_states_its_shares(tmp_path: Path):
    """reno has 48 of 96 = 50 % with 1 bdp and 12 of 96 = 12.5 % with 4."""
    sentence = answer(networks({"1 bdp": (48.0, 48.0), "4 bdp": (12.0, 84.0)}), tmp_path)
    assert sentence == (
        "Against cubic, reno gets between 12 % (path.queue.limit = 4 bdp) "
        "and 50 % (path.queue.limit = 1 bdp) of both goodputs."
    )
    text = (tmp_path / "report.html").read_text()
    assert (
        "<strong>path.queue.limit = 4 bdp:</strong> reno and cubic do not share the bottleneck fairly" in text
    )


def test_a_network_that_delivers_nothing_is_named_beside_the_shares_in_the_others(tmp_path: Path):
    sentence = answer(networks({"1 bdp": (48.0, 48.0), "4 bdp": (0.0, 0.0)}), tmp_path)
    assert sentence == (
        "Against cubic, reno gets between 50 % (path.queue.limit = 1 bdp) "
        "and 50 % (path.queue.limit = 1 bdp) of both goodputs. "
        "Nothing is delivered with path.queue.limit = 4 bdp."
    )


def test_the_pairs_that_share_fairly_are_named_for_each_network(tmp_path: Path):
    fair, unfair = (48.0, 48.0), (12.0, 84.0)
    sentence = answer(networks({"1 bdp": fair, "4 bdp": unfair}, ("reno", "cubic", "bic")), tmp_path)
    assert sentence == (
        "Over 2 networks, of 3 pairs of different algorithms these share the bottleneck fairly: "
        "3 with path.queue.limit = 1 bdp (cubic with reno, bic with reno, bic with cubic); "
        "none with path.queue.limit = 4 bdp."
    )


def test_pairs_that_share_fairly_in_every_network_are_named_once(tmp_path: Path):
    pairs = {("reno", "cubic"): (48.0, 48.0), ("reno", "vegas"): (80.0, 10.0)}
    one = shared(pairs)
    shift = pl.col("run") + len(pairs)
    both = replace(
        one,
        runs=pl.concat(
            [
                one.runs.with_columns(pl.lit("1 bdp").alias("path.queue.limit")),
                one.runs.with_columns(shift, shift.alias("point"), pl.lit("4 bdp").alias("path.queue.limit")),
            ]
        ),
        flows=pl.concat([one.flows, one.flows.with_columns(shift)]),
    )
    assert answer(both, tmp_path) == (
        "In each of 2 networks, 1 of 2 pairs of different algorithms shares the bottleneck fairly "
        "(cubic with reno)."
    )


def test_an_unclear_verdict_states_its_reason_and_the_repetitions_needed(tmp_path: Path):
    """A share of 40 % in one run is too close to the threshold of 43 % for a verdict."""
    data = shared({("reno", "cubic"): (40.0, 60.0)})
    assert answer(data, tmp_path) == (
        "Whether reno and cubic share the bottleneck fairly is unclear: cubic gets 60 % of both goodputs."
    )
    text = (tmp_path / "report.html").read_text().replace("\u00a0", " ")
    assert (
        "Whether they share fairly is unclear (too few runs, near the threshold of 43 %; 6 repetitions or "
        "more would decide): the smaller has 40 % of both goodputs (one run)."
    ) in text
    assert 'class="unclear" data-point="0" data-verdict="unclear"' in text


def test_the_report_counts_runs_that_are_not_steady(page: Path):
    """The fluid model's flows of two algorithms drift; the metric says how many runs do."""
    unsteady = unsteady_runs(matrix(["reno", "vegas"], 3))
    assert unsteady is not None
    steady = 12 - len(unsteady)
    sentence = f"{steady} of 12 runs (metric steadiness)"
    assert (sentence in page.read_text()) is bool(unsteady)


def test_one_pair_under_several_networks_is_a_table_of_points(tmp_path: Path):
    axes = [
        {"flows.0.algorithm": "reno", "flows.1.algorithm": "cubic", "path.rtt": f"{rtt} ms"}
        for rtt in (5, 10)
    ]
    sentence = answer(sweep(axes), tmp_path)
    assert sentence.startswith("Over 2 points the flows deliver between")
    assert '<table class="matrix"' not in (tmp_path / "report.html").read_text()


def test_every_cell_leads_to_its_details(page: Path):
    text = page.read_text()
    links = re.findall(r'<td><a href="#(pair-[^"]+)"', text)
    assert links == ["pair-reno-reno", "pair-reno-vegas", "pair-vegas-reno", "pair-vegas-vegas"]
    assert set(links) == set(re.findall(r'<section class="detail" id="([^"]+)"', text))


def test_a_cell_has_a_text_for_its_colour(page: Path):
    label = re.search(r'href="#pair-reno-vegas" aria-label="([^"]+)"', page.read_text())
    assert label
    sentence = (
        r"reno first [\d.]+, vegas second [\d.]+ Mbit/s: they do not share fairly; the smaller has 2\.7\s%"
    )
    assert re.match(sentence, label[1])


def test_the_page_has_the_command_that_reproduces_it(page: Path):
    assert "<code>tussle run scenario.toml -o results/pairs</code>" in page.read_text()


def test_the_page_loads_no_external_resource(page: Path):
    text = page.read_text()
    assert "default-src 'none'" in text
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)


def test_the_charts_of_a_pair_unpack_to_its_figures(page: Path):
    packed = re.search(r'id="charts-1">([^<]+)<', page.read_text())
    assert packed
    charts = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    assert list(charts) == ["throughput", "window", "rtt", "fairness", "phase"]
    assert charts["throughput"]["description"] == "Goodput against time: reno and vegas"
    assert len(charts["window"]["vconcat"]) == 2
    assert charts["phase"]["description"] == "Phase of two flows: reno and vegas"


def test_the_same_dataset_gives_the_same_page(page: Path, tmp_path: Path):
    again = write(matrix(["reno", "vegas"], 3), tmp_path / "again.html")
    assert again.read_bytes() == page.read_bytes()


@pytest.mark.slow
def test_a_page_does_not_depend_on_the_number_of_workers_or_on_killed_ones(tmp_path: Path):
    data, progress = matrix(FOUR[:3]), []
    write(data, tmp_path / "alone.html")
    with processes(2) as executor:
        write(data, tmp_path / "together.html", Drawing(executor, 4, lambda *done: progress.append(done)))
    assert progress == [(done, 9) for done in range(10)]
    with processes(1) as executor:
        executor.submit(kill_this_process)
        write(data, tmp_path / "lost.html", Drawing(executor, 4))
    alone, together, lost = (
        (tmp_path / f"{name}.html").read_bytes() for name in ("alone", "together", "lost")
    )
    assert alone == together == lost


def kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_page_of_four_algorithms_is_small(tmp_path: Path):
    assert write(matrix(FOUR), tmp_path / "report.html").stat().st_size < 2 * MEGABYTE


def test_a_page_without_time_series_names_the_setting_that_adds_them(tmp_path: Path):
    """Nearly all of the page is the library that draws the charts of all points, and the simulator."""
    page = write(shared({("reno", "cubic"): (20.0, 75.0)}), tmp_path / "report.html")
    assert "record.samples" in page.read_text()
    assert page.stat().st_size < MEGABYTE * 1.5


def test_the_summary_has_two_sentences_at_most(page: Path):
    answer = re.search(r'<p class="answer">(.*?)</p>', page.read_text())
    assert answer
    assert 1 <= len(re.findall(r"\.(?: |$)", answer[1])) <= 2


def test_every_table_and_metric_is_in_the_page_as_csv(page: Path):
    files = unpacked_files(page)
    data = matrix(["reno", "vegas"], 3)
    assert {"runs.csv", "flows.csv", "goodput.csv", "share.csv", "jain.csv", "rtt.csv"} <= set(files)
    goodput = pl.read_csv(StringIO(files["goodput.csv"]))
    assert goodput["goodput_bit_per_s"].to_list() == data.flows.collect()["goodput_bit_per_s"].to_list()


def test_an_unknown_value_is_an_empty_cell_in_the_csv(tmp_path: Path):
    data = matrix(["reno"])
    silent = data.flows.with_columns(lost_packets=pl.lit(None, pl.UInt64))
    files = unpacked_files(write(replace(data, flows=silent), tmp_path / "report.html"))
    assert pl.read_csv(StringIO(files["flows.csv"]))["lost_packets"].to_list() == [None, None]


def test_the_page_lists_all_facts_of_the_engine(tmp_path: Path):
    data = matrix(["reno"])
    kernel = {"name": "kernel", "release": "6.1.90", "config": {"hz": 1000}, "modules": ["tcp_vegas"]}
    text = write(
        replace(data, provenance=data.provenance | {"engine": kernel}), tmp_path / "report.html"
    ).read_text()
    for fact in (
        "engine name</dt><dd>kernel",
        "engine release</dt><dd>6.1.90",
        "engine config hz</dt><dd>1000",
    ):
        assert fact in text
    assert "engine modules</dt><dd>[&#34;tcp_vegas&#34;]" in text


def unpacked_files(page: Path) -> dict[str, str]:
    text = page.read_text()
    names = re.findall(r'data-file="([^"]+)" data-content="([^"]+)"', text)
    packed = dict(re.findall(r'<script type="text/plain" id="([^"]+)">([^<]*)<', text))
    return {name: gzip.decompress(base64.b64decode(packed[place])).decode() for name, place in names}


def test_texts_of_a_scenario_are_escaped(tmp_path: Path):
    data = matrix(["reno"])
    hostile = data.scenario.set("question", "Is <script>alert(1)</script> fair?")
    page = write(replace(data, scenario=hostile), tmp_path / "report.html")
    assert "<script>alert" not in page.read_text()
    assert "Is &lt;script&gt;alert(1)&lt;/script&gt; fair?" in page.read_text()


def test_a_page_that_cannot_be_written_is_refused_by_name(tmp_path: Path):
    with pytest.raises(TussleError, match=r"cannot write the report .*missing"):
        write(shared({("reno", "cubic"): (20.0, 75.0)}), tmp_path / "missing" / "report.html")


def test_flows_that_measured_no_rtt_have_none_in_the_table(tmp_path: Path):
    data = matrix(["reno"])
    silent = data.flows.with_columns(rtt_p50_ms=pl.lit(None, pl.Float64))
    assert ">none<" in write(replace(data, flows=silent), tmp_path / "report.html").read_text()


def test_real_results_become_a_page_whose_numbers_obey_physics(tmp_path: Path):
    """Two algorithms over 10 Mbit/s: goodput within 1448/1500 of the link, the queue within its buffer.

    Data received out of order before the steady interval count when their gap is filled: at most the 16
    packets in flight and 50 in the queue.
    """
    scenario = Scenario.from_dict(
        {
            "duration": "10 s",
            "path": {"rate": "10 Mbit/s", "rtt": "20 ms", "queue": {"limit": "50 packets"}},
            "flows": [{"algorithm": ["reno", "vegas"]}, {"algorithm": ["reno", "vegas"], "start": "1 s"}],
        }
    )
    data = simulate(scenario, tmp_path / "pairs", SweepSettings(workers=1))
    steady_s = data.runs.select(pl.col("steady_to_s") - pl.col("steady_from_s")).collect().to_series()[0]
    most = 10e6 * 1448 / 1500 + 66 * 1448 * 8 / steady_s
    assert (REGISTRY["total"].compute(data)["total_goodput_bit_per_s"] <= most).all()
    assert (REGISTRY["queue"].compute(data)["queue_max_packets"] <= 50).all()
    assert REGISTRY["utilisation"].compute(data)["utilisation"].is_between(0.9, 1).all()
    text = write(data, tmp_path / "report.html").read_text()
    assert re.search(r'href="#pair-vegas-reno" aria-label="vegas first [\d.]+, reno second', text)
    assert text.count('id="charts-') == 4


def test_runs_whose_hosts_did_not_keep_up_are_marked(tmp_path: Path) -> None:
    data = matrix(["reno", "vegas"])
    fared = pl.LazyFrame(
        {"run": [0, 1, 1], "kept_up": [True, False, True], "shortfall": [None, "too late", None]}
    )
    text = write(replace(data, validity=fared), tmp_path / "late.html").read_text()
    assert "a host did not keep up in 1 of 4 runs (too late)" in text
    assert "did not keep up" not in write(data, tmp_path / "sim.html").read_text()


def test_percentages_have_one_format_in_the_whole_page(tmp_path: Path):
    """The format is a number, a no-break space and the sign; no percentage on the page has another."""
    data = matrix(["reno", "vegas"], 3)
    limited = data.flows.with_columns(steady_rwnd_limited_s=pl.lit(20.0))
    page = write(replace(data, flows=limited), tmp_path / "report.html")
    assert "by its receive window, up to" in page.read_text()
    text = re.sub(r"<(script|style)\b.*?</\1>", "", page.read_text(), flags=re.DOTALL).replace(
        "&nbsp;", "\u00a0"
    )
    assert set(re.findall(r"\d(\D?)%", text)) == {"\u00a0"}


def test_a_goodput_above_the_link_is_explained_below_its_chart(tmp_path: Path):
    """The first flow delivers 25 MB at 31 s, which the link of 100 Mbit/s carries in 2 s."""
    data = matrix(["reno", "vegas"])
    late = pl.when((pl.col("flow") == 0) & (pl.col("time_s") >= 31)).then(25e6).otherwise(0)
    burst = data.samples.with_columns((pl.col("delivered_bytes") + late).cast(pl.Int64))
    sent = data.links.with_columns((pl.col("time_s") * 100e6 / 8).cast(pl.Int64).alias("delivered_bytes"))
    for samples, is_explained in ((data.samples, False), (burst, True)):
        text = write(replace(data, samples=samples, links=sent), tmp_path / "report.html").read_text()
        packed = re.search(r'id="charts-1">([^<]+)<', text)
        assert packed
        charts = json.loads(gzip.decompress(base64.b64decode(packed[1])))
        assert ("usermeta" in charts["throughput"]) == is_explained


def test_the_facts_name_the_hosts_beside_the_path(page: Path, tmp_path: Path):
    data = matrix(["reno"])
    hosts = {"hosts.profile": "linux-2.6.24", "hosts.hz": 100, "flows.0.sender.tlp": False}
    described = replace(data, scenario=data.scenario.with_settings(hosts))
    text = write(described, tmp_path / "report.html").read_text()
    assert "linux-2.6.24, hz = 100; flow 0, sender: tlp = false" in text
    assert re.search(r"<dt>Hosts</dt>\s*<dd>bare</dd>|Hosts</th><td>bare", page.read_text().replace("\n", ""))
