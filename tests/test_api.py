"""The Python API: what `import tussle` offers, in scripts and in notebooks."""

import linecache
import re
import subprocess
import sys
import types
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tussle
from tussle import own_sources
from tussle.catalog import catalog
from tussle.errors import TussleError, naming_options
from tussle.figures import REGISTRY as FIGURES
from tussle.metrics import REGISTRY as METRICS
from tussle.profiles import profiles

SCENARIO = {
    "question": "Does Vegas yield?",
    "duration": "5 s",
    "path": {"rate": ["5 Mbit/s", "10 Mbit/s"], "rtt": "20 ms"},
    "flows": [{"algorithm": "reno"}, {"algorithm": "vegas"}],
}
SHORT = {"duration": "20 s", "stagger": "2 s", "repetitions": 2, "workers": 1}
_ADDRESS = re.compile(r"(?:href|src)=|https?://(?!www\.w3\.org/)")


@pytest.fixture(scope="module")
def pairs() -> tussle.Dataset:
    return tussle.matrix(["reno", "vegas"], profile="dsl", **SHORT)


def test_every_exported_name_exists_and_is_described():
    for name in tussle.__all__:
        exported = getattr(tussle, name)
        assert name == "__version__" or exported.__doc__, name


def test_importing_tussle_loads_none_of_the_large_libraries():
    """Tables, figures and scenarios are imported when they are used."""
    large = ("polars", "altair", "pydantic", "scipy", "rich")
    code = f"import sys, tussle; print([name for name in {large} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


def test_an_attribute_that_does_not_exist_raises_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'matrx'"):
        _ = tussle.matrx  # pyright: ignore[reportAttributeAccessIssue]


def test_a_run_returns_its_dataset_and_opening_the_folder_gives_it_again(tmp_path: Path):
    dataset = tussle.run(SCENARIO, output=tmp_path / "out", workers=1)
    assert dataset.runs.collect().height == 2
    assert tussle.open(tmp_path / "out").provenance == dataset.provenance


def test_the_same_run_into_the_same_folder_opens_it_and_another_is_refused(tmp_path: Path):
    first = tussle.run(SCENARIO, output=tmp_path / "out", workers=1)
    written = (tmp_path / "out" / "provenance.json").stat().st_mtime_ns
    again = tussle.run(SCENARIO, output=tmp_path / "out", workers=1)
    assert again.provenance == first.provenance
    assert (tmp_path / "out" / "provenance.json").stat().st_mtime_ns == written
    with pytest.raises(TussleError, match="exists already"):
        tussle.run(SCENARIO, output=tmp_path / "out", seed=9, workers=1)


def test_settings_seed_and_algorithm_replace_those_of_the_scenario():
    dataset = tussle.run(
        SCENARIO, algorithm="cubic", settings={"path.rate": "8 Mbit/s"}, seed=4, repetitions=1, workers=1
    )
    assert dataset.scenario.seed == 4
    assert dataset.flows.select("algorithm").unique().collect()["algorithm"].to_list() == ["cubic"]
    assert dataset.runs.collect()["link_rate_bit_per_s"].to_list() == [8_000_000]


def test_a_scenario_is_given_as_name_file_tables_or_object(tmp_path: Path):
    made = tussle.Scenario.from_dict(SCENARIO)
    (tmp_path / "mine.toml").write_text(made.to_toml())
    given = [SCENARIO, made, tmp_path / "mine.toml", str(tmp_path / "mine.toml")]
    digests = {tussle.run(each, workers=1).provenance["digest"] for each in given}
    assert len(digests) == 1
    ready = tussle.Scenario.load("one-cubic-flow-fills-the-link")
    assert tussle.experiment.loaded("one-cubic-flow-fills-the-link") == ready
    with pytest.raises(TussleError, match='did you mean "one-cubic-flow-fills-the-link"'):
        tussle.Scenario.load("one-cubic-flow-fills-a-link")


@pytest.mark.slow
def test_api_and_command_line_make_the_same_bytes(tussle_, tmp_path: Path):
    options = ["--duration", "20 s", "--stagger", "2 s", "--repetitions", 2, "--profile", "dsl"]
    assert tussle_("matrix", "--algorithms", "reno,vegas", *options, "-o", "cli").status == 0
    by_command = tussle.open(tmp_path / "cli")
    by_function = tussle.matrix(["reno", "vegas"], profile="dsl", **SHORT)
    assert by_function.scenario == by_command.scenario
    assert by_function.provenance["digest"] == by_command.provenance["digest"]


def test_a_script_without_a_main_guard_runs_with_workers(tmp_path: Path):
    """Starting workers must not execute the script again, which would start workers in turn."""
    script = tmp_path / "script.py"
    script.write_text(
        "import tussle\nprint('once')\n"
        f"print(tussle.run({SCENARIO!r}, workers=2).runs.collect().height, 'runs')\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout, done.stderr) == ("once\n2 runs\n", "")


def test_the_repr_of_everything_is_one_line(pairs: tussle.Dataset):
    shown = [
        pairs, pairs.scenario, tussle.summary(pairs), tussle.figure(pairs, "matrix"), METRICS, FIGURES,
        METRICS["jain"], FIGURES["matrix"], tussle.differences(pairs, pairs), profiles(), catalog().queues,
        tussle.differences(pairs, axis="flows.0.algorithm"),
    ]  # fmt: skip
    for each in shown:
        assert "\n" not in repr(each)
        assert len(repr(each)) < 400, repr(each)


class _Tables(HTMLParser):
    """Counts the elements of a text, and refuses wrong nesting."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells.append(data)


def test_a_dataset_is_shown_as_its_answer_and_verdicts(pairs: tussle.Dataset):
    page = pairs._repr_html_()
    parser = _Tables()
    parser.feed(page)
    assert parser.open == []
    assert tussle.summary(pairs).answer in page
    assert {"first \\ second", "reno", "vegas"} <= set(parser.cells)
    assert not _ADDRESS.search(page)


def test_names_from_outside_are_escaped_in_notebooks():
    made = tussle.Scenario.from_dict({**SCENARIO, "question": "<script>alert(1)</script>"})
    assert "<script>" not in made._repr_html_()


def test_a_figure_is_shown_as_svg_without_a_network(pairs: tussle.Dataset, tmp_path: Path):
    picture = tussle.figure(pairs, "matrix")
    assert picture._repr_svg_().startswith("<svg")
    assert not _ADDRESS.search(picture._repr_svg_())
    assert picture.save(tmp_path / "matrix.png").read_bytes().startswith(b"\x89PNG")


def test_a_metric_has_the_axes_beside_its_values(pairs: tussle.Dataset):
    table = tussle.metric(pairs, "jain")
    assert table.columns[:3] == ["point", "flows.0.algorithm", "flows.1.algorithm"]
    runs = tussle.metric(pairs, "jain", per="run")
    medians = runs.group_by("point").agg(pl.col("jain_index").median()).sort("point")["jain_index"]
    assert table["jain_index"].to_list() == pytest.approx(medians.to_list())


def test_the_summary_has_a_row_for_each_flow_point_and_pair(pairs: tussle.Dataset):
    found = tussle.summary(pairs)
    assert (found.flows.height, found.points.height, found.pairs.height) == (8, 4, 4)
    goodput = tussle.metric(pairs, "goodput").sort("point", "flow")["goodput_bit_per_s"]
    assert found.flows["goodput_bit_per_s"].to_list() == goodput.to_list()


def test_differences_between_equal_datasets_are_within_the_threshold(pairs: tussle.Dataset):
    found = tussle.differences(pairs, pairs, metrics=["jain"], thresholds={"goodput": "2%"})
    assert not found.rows.is_empty()
    assert set(found.rows["verdict"]) == {"within threshold"}
    assert set(found.rows["metric"]) == {"jain", "goodput"}


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: METRICS["jayn"], 'unknown metric "jayn"; did you mean "jain"'),
        (lambda: FIGURES["matrx"], 'unknown figure "matrx"; did you mean "matrix"'),
        (lambda: catalog().algorithms["cubik"], 'unknown algorithm "cubik"; did you mean "cubic"'),
        (lambda: catalog().queues["codle"], 'unknown queue "codle"; did you mean "codel"'),
        (lambda: profiles()["dls"], 'unknown profile "dls"; did you mean "dsl"'),
        (lambda: tussle.matrix(["cubik"]), 'unknown algorithm "cubik"; did you mean "cubic"'),
        (lambda: tussle.run(SCENARIO, engine="simm"), 'unknown engine "simm"; did you mean "sim"'),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(mistake, message):
    with pytest.raises(TussleError) as refused:
        mistake()
    assert message in str(refused.value)


STEP = 3


def grown(window: int) -> int:
    return max(window - STEP, 2)


class Gentle(tussle.Algorithm):
    """A class of a module that has a file."""

    name = "gentle"

    def on_congestion(self, cause, flow, control):  # noqa: ARG002
        return grown(control.cwnd)


def test_a_class_of_a_module_is_an_algorithm():
    dataset = tussle.run(SCENARIO, algorithm=Gentle, workers=1)
    assert set(dataset.flows.collect()["algorithm"]) == {"gentle"}


def test_a_class_inside_of_a_function_is_refused_with_what_to_do():
    class Local(tussle.Algorithm):
        pass

    with pytest.raises(TussleError, match="define it at the top of a file or a cell"):
        tussle.run(SCENARIO, algorithm=Local)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """Execute texts as the cells of a notebook: in a main module without a file, each with its source."""
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setenv("TUSSLE_CACHE", str(tmp_path))

    def execute(text: str, file: str = "") -> dict[str, Any]:
        file = file or f"<cell {len(linecache.cache)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), vars(main))  # noqa: S102 (as a notebook does)
        return vars(main)

    return execute


def test_a_class_of_a_cell_is_written_with_all_that_it_uses_of_the_notebook(cell):
    cell("import math, tussle\nfrom tussle.units import time as time_of\nPARTS = {'a': (2, 0.5)}\n")
    cell("def root(x):\n    return int(math.sqrt(x) ** 2 * PARTS['a'][1]) + time_of('0 s')\n")
    cell(
        "class Base(tussle.Algorithm):\n    pass\n\nclass Celled(Base):\n    name = 'celled'\n"
        "    def on_congestion(self, cause, flow, control):\n        return max(root(control.cwnd), 2)\n"
    )
    algorithm = cell("unrelated = object()")["Celled"]
    dataset = tussle.run(SCENARIO, algorithm=algorithm, workers=2)
    assert set(dataset.flows.collect()["algorithm"]) == {"celled"}
    file = Path(str(dataset.scenario.flows[0].algorithm).rpartition(":")[0])
    assert "PARTS = {'a': (2, 0.5)}" in file.read_text()
    assert "unrelated" not in file.read_text()


def test_a_changed_cell_is_another_algorithm(cell):
    text = "import tussle\nclass C(tussle.Algorithm):\n    def on_undo(self, flow, control): return {}\n"
    first = own_sources.reference_of(cell(text.format(2))["C"])
    assert own_sources.reference_of(cell(text.format(2))["C"]) == first
    assert own_sources.reference_of(cell(text.format(3))["C"]) != first


def test_a_cell_that_uses_what_cannot_be_written_is_refused_with_what_to_do(cell):
    made = cell(
        "import tussle\nopened = object()\nclass D(tussle.Algorithm):\n"
        "    def on_undo(self, flow, control): return opened\n"
    )
    with pytest.raises(TussleError, match=r"uses opened, a object .*%%writefile mine\.py, and .* mine\.py:D"):
        own_sources.reference_of(made["D"])


def test_a_class_without_source_is_refused_with_what_to_do(cell):
    text = "import tussle\nclass Typed(tussle.Algorithm):\n    def on_undo(self, flow, control): return 2"
    made = cell(text, "<typed>")
    del linecache.cache["<typed>"]
    with pytest.raises(TussleError, match=r"source of Typed is not known.*mine\.py:Typed"):
        own_sources.reference_of(made["Typed"])


_untyped: Any = tussle
_WRONG_ARGUMENTS = [
    (lambda data: _untyped.metric("goodput", data), 'dataset: "goodput" is not a dataset; tussle.open'),
    (lambda data: _untyped.figure("matrix", data), 'dataset: "matrix" is not a dataset'),
    (lambda data: _untyped.figure(data, 4), "name: 4 is not the name of a figure"),
    (lambda data: _untyped.figure(data, "matrix", beside=3), "beside: 3 is not a dataset, or a list"),
    (lambda data: _untyped.figure(data, "matrix", beside=["here"]), 'beside: "here" is not a dataset'),
    (lambda data: _untyped.figure(data, "matrix").save(3), "path: 3 is not a file"),
    (lambda data: _untyped.figure(data, "window", point="1"), 'point: "1" is not the number of a point'),
    (lambda data: _untyped.figure(data, "box", metric=3), "metric: 3 is not the name of a metric"),
    (
        lambda data: _untyped.figure(data, "window", between_s=3),
        "between_s: 3 is not a start and a later end",
    ),
    (lambda data: _untyped.figure(data, "window", between_s=(2, 1)), "between_s: [2, 1] is not a start"),
    (lambda data: _untyped.figure(data, "window", between_s=("1", None)), 'between_s: ["1", null] is not a'),
    (
        lambda data: _untyped.figure(data, "matrix", width_px=49),
        "width_px: 49 is not a whole number of pixels",
    ),
    (lambda data: _untyped.figure(data, "matrix", height_px=1e9), "height_px: 1000000000.0 is not a whole"),
    (lambda data: _untyped.figure(data, "matrix", title=3), "title: 3 is not a text"),
    (lambda data: _untyped.metric(data, ["jain"]), 'name: ["jain"] is not the name of a metric'),
    (
        lambda data: _untyped.metric(data, "jain", per="runs"),
        'per: unknown value "runs"; did you mean "run"?',
    ),
    (lambda data: _untyped.differences(data, data, axis=3), "axis: 3 is not the name of an axis"),
    (lambda data: _untyped.differences(data, data, metrics="jain"), 'metrics: "jain" is not a list of'),
    (
        lambda data: _untyped.differences(data, data, thresholds=["jain"]),
        'thresholds: ["jain"] is not amounts',
    ),
    (lambda data: _untyped.write_report(data, drawing=3), "drawing: 3 is not a tussle.report.Drawing"),
    (lambda _: _untyped.summary(None), "dataset: null is not a dataset"),
    (lambda _: _untyped.Summary(3), "dataset: 3 is not a dataset"),
    (lambda data: _untyped.differences(data, 3), "second: 3 is not a dataset"),
    (tussle.differences, "or axis with one of its axes"),
    (lambda data: _untyped.write_report("page.html", data), 'dataset: "page.html" is not a dataset'),
    (lambda data: _untyped.write_report(data, 3), "path: 3 is not a file"),
    (lambda _: _untyped.open(3), "folder: 3 is not a folder"),
    (lambda _: _untyped.run(3), "scenario: 3 is not a scenario"),
    (lambda _: _untyped.run(SCENARIO, output=3), "output: 3 is not a folder"),
    (lambda _: _untyped.run(SCENARIO, engine=3), "engine: 3 is not the name of an engine"),
    (lambda _: _untyped.run(SCENARIO, workers=0), "workers: 0 is not a number of processes, at least 1"),
    (lambda _: _untyped.run(SCENARIO, workers=True), "workers: true is not a number of processes"),
    (lambda _: _untyped.run(SCENARIO, engine="hosts", hosts="no.toml"), "give another file to hosts"),
    (
        lambda _: _untyped.run(SCENARIO, engine="kernel", machine="qemu", kernel="no", modules="none"),
        "No such file or directory",
    ),
    (lambda _: _untyped.run(SCENARIO, worker=1), 'unknown argument "worker"; did you mean "workers"?'),
    (lambda _: _untyped.run(SCENARIO, order=3), "order: 3 is not the name of an order"),
    (lambda _: _untyped.run(SCENARIO, order="x"), 'order: unknown order "x"'),
    (lambda _: _untyped.run(SCENARIO, cluster=3), "cluster: 3 is not a text"),
    (lambda _: _untyped.run(SCENARIO, progress="yes"), 'progress: "yes" is not true or false'),
    (lambda _: _untyped.run(SCENARIO, settings=3), "settings: 3 is not values by their keys"),
    (lambda _: _untyped.run(SCENARIO, settings={3: 4}), 'settings: 3 is not a key, like "path.rate"'),
    (
        lambda _: _untyped.run(SCENARIO, kernel="x"),
        'kernel: the engine sim has no kernel; add engine="kernel"',
    ),
    (lambda _: _untyped.run(SCENARIO, hosts="x"), 'hosts is only for the engine hosts; add engine="hosts"'),
    (lambda _: _untyped.matrix(3), "algorithms: 3 is not a list of algorithms"),
    (lambda _: _untyped.matrix(["reno", 3]), "algorithms: 3 is not the name of an algorithm, or a class"),
    (lambda _: _untyped.matrix(["renno"]), 'algorithms: unknown algorithm "renno"; did you mean "reno"?'),
    (lambda _: _untyped.matrix("reno", duration=5), "duration: 5 has no unit"),
    (lambda _: _untyped.matrix("reno", duration=""), 'duration: "" is not a time'),
    (lambda _: _untyped.matrix("reno", stagger=""), 'stagger: "" is not a time'),
    (lambda _: _untyped.matrix("reno", rtt=20), 'rtt: 20 is not a time, like "20 ms", or a list of two'),
    (lambda _: _untyped.matrix("reno", rtt=["20 ms", 3]), 'rtt: 3 is not a time, like "20 ms"'),
    (lambda _: _untyped.matrix("reno", flows=4), "flows: 4 is not two numbers of flows, like (4, 1)"),
    (lambda _: _untyped.Scenario(3), "3 has no name; give values by their names"),
    (lambda _: _untyped.Scenario.load(3), "path: 3 is not a file"),
    (lambda data: _untyped.metric(data, "harm"), 'settings={"baseline": "true"}'),
]


@pytest.mark.parametrize(("call", "sentence"), _WRONG_ARGUMENTS)
def test_a_wrong_argument_is_refused_by_its_name_in_python(pairs: tussle.Dataset, call, sentence: str):
    with pytest.raises(TussleError, match=re.escape(sentence)) as raised:
        call(pairs)
    assert "--" not in str(raised.value)


def test_errors_name_the_options_while_the_command_line_runs():
    with naming_options(), pytest.raises(TussleError, match=r"^--order: unknown order"):
        tussle.run(SCENARIO, order="x")
    with pytest.raises(TussleError, match=r"^order: unknown order"):
        tussle.run(SCENARIO, order="x")


def test_a_folder_with_a_line_break_in_its_name_is_shown_on_one_line(tmp_path: Path):
    assert "\n" not in repr(tussle.run(SCENARIO, output=tmp_path / "two\nlines", workers=1))


def test_one_run_of_one_point_is_no_plural(pairs: tussle.Dataset):
    once = tussle.run(SCENARIO, settings={"path.rate": "5 Mbit/s", "duration": "1 s"}, workers=1)
    assert ": 1 run of 1 point by sim>" in repr(once)
    assert ": 8 runs of 4 points by sim>" in repr(pairs)
    assert ": 2 flows>" in repr(once.scenario)
