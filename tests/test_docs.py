"""The documentation: its examples run, it is complete, and its links work."""

import doctest
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer.main

from tussle.catalog import catalog
from tussle.cli import app
from tussle.figures import REGISTRY as FIGURES
from tussle.kernel import kernel_names, remove_kernel
from tussle.metrics import REGISTRY as METRICS
from tussle.profiles import profiles
from tussle.scenario import Scenario, ready_scenarios

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from doc_examples import EXECUTED, WrongPageError, check, needs_kernel, written  # noqa: E402

DOCS = ROOT / "docs"
PAGES = sorted(
    [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "benches" / "README.md", ROOT / "kernel" / "README.md"]
)
MODULES = sorted(file for file in (ROOT / "python").rglob("*.py") if ">>>" in file.read_text("utf-8"))

REMOVED_KERNEL = re.compile(r"tussle kernel remove (\S+)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
MOST_PICTURE_BYTES = 40_960
MEMORY = Path("/dev/shm")  # noqa: S108 (a folder below it is made with a name of its own)
UNPACKED_BYTES = 1_600_000_000


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


@contextmanager
def folder_for(page: Path, tmp_path: Path) -> Iterator[Path]:
    """An empty folder; in memory where a page unpacks Linux, which disks take minutes to remove."""
    unpacks = "tar --extract --file /usr/src" in page.read_text("utf-8")
    if unpacks and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2 * UNPACKED_BYTES:
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            yield Path(folder)
    else:
        yield tmp_path


@pytest.mark.parametrize("page", EXECUTED, ids=name_of)
def test_every_example_of_a_page_prints_the_output_on_the_page(page, tmp_path, request):
    if needs_kernel(page):
        request.getfixturevalue("kernel")
        request.getfixturevalue("kernel_source")
    try:
        with folder_for(page, tmp_path) as folder:
            check(page, folder)
    finally:
        for name in REMOVED_KERNEL.findall(page.read_text("utf-8")):
            if name in kernel_names():
                remove_kernel(name)


@pytest.mark.parametrize(
    ("claim", "page", "measured"),
    [
        ("9.9 million data packets", "speed", "| tussle | 9.87 M |"),
        ("3.3 times as\n  fast as ns-2", "speed", "| ns-2 TCP/Linux | 2.96 M | 338 ns | 3.3 x"),
        ("469 times as fast as ns-3", "speed", "| ns-3 | 21 k | 47,391 ns | 469.1 x"),
        ("0 % for the goodput", "agreement", "| goodput of one flow | 77 | 0 % |"),
        ("With the hosts that Linux ships\n  it is 0 %", "agreement", "| goodput of one flow | 77 | 0 % |"),
        ("0 percentage points", "agreement", "| share of a pair | 237 | 0 points |"),
        ("0.0036 %", "agreement", "| mean RTT | 391 | 0.0036 % |"),
        ("in 402 of them every run", "agreement", "In 402 of the 512 cells"),
        ("0.042 points and 0.021 %", "agreement", "| share of a pair | 237 | 0.042 points |"),
        ("0.042 points and 0.021 %", "agreement", "| mean RTT | 391 | 0.021 % |"),
    ],
    ids=lambda value: value.split("\n")[0],
)
def test_numbers_in_the_readme_equal_the_measured_ones(claim, page, measured):
    assert claim in (ROOT / "README.md").read_text("utf-8")
    assert measured in (DOCS / "explanation" / f"{page}.md").read_text("utf-8")


def test_a_free_network_would_not_halve_the_instructions_of_a_packet():
    page = (DOCS / "explanation" / "speed.md").read_text("utf-8")
    table = dict(re.findall(r"^\| \**([a-z ]+?)\** \| ([\d,]+)(?: \(\d+%\))? \|", page, re.MULTILINE))
    ends, floor, whole = (
        sum(int(table[name].replace(",", "")) for name in names)
        for names in (("sender", "receiver", "algorithm"), ("the floor",), ("together",))
    )
    assert f"Sender, receiver and algorithm take {100 * ends / whole:.0f} % of the instructions" in page
    assert ends + floor > whole / 2


def test_the_readme_counts_all_algorithms():
    readme, count = (ROOT / "README.md").read_text("utf-8"), len(catalog().algorithms)
    assert f"CUBIC, BBR, Reno and {count - 3} more algorithms" in readme
    assert f"**{count} algorithms**" in readme


def page_of(folder: Path, *lines: str) -> Path:
    page = folder / "page.md"
    page.write_text("\n".join(lines) + "\n", "utf-8")
    return page


def test_a_wrong_digit_on_a_page_is_refused_and_can_be_corrected(tmp_path):
    page = page_of(tmp_path, "```console", "$ echo CUBIC gets 10.4", "CUBIC gets 8.23", "```")
    with pytest.raises(WrongPageError, match=r"does not show: CUBIC gets 8\.23"):
        check(page, tmp_path)
    assert written(page, tmp_path) == page.read_text("utf-8").replace("8.23", "10.4")


def test_an_ellipsis_on_a_page_matches_any_output(tmp_path):
    check(
        page_of(tmp_path, "```console", "$ echo 3 of 4, 1.8 s, ready", "3 of 4, … s, ready", "```"), tmp_path
    )
    wrong = page_of(tmp_path, "```console", "$ echo 3 of 4, 1.8 s, ready", "3 of 5, … s, ready", "```")
    with pytest.raises(WrongPageError):
        check(wrong, tmp_path)


def test_hidden_assertions_of_a_page_are_executed(tmp_path):
    check(page_of(tmp_path, "<!-- assert", "assert 1 < 2", "-->"), tmp_path)
    with pytest.raises(WrongPageError, match="AssertionError"):
        check(page_of(tmp_path, "<!-- assert", "assert 1 > 2", "-->"), tmp_path)


def test_a_line_without_a_similar_output_line_must_be_edited_by_hand(tmp_path):
    page = page_of(tmp_path, "```console", "$ echo Vegas", "CUBIC gets 8.23", "```")
    with pytest.raises(WrongPageError, match="shows nothing like: CUBIC"):
        written(page, tmp_path)


def execute(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_pages_of_algorithms_have_one_run_per_point(monkeypatch):
    """Some algorithms are random; by default, a scenario repeats their runs."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    studies = importlib.import_module("algorithm_runs").plan(list(catalog().algorithms))
    for _, scenario in studies:
        assert {planned.repetition for planned in scenario.runs()} == {0}


@pytest.mark.parametrize("name", catalog().algorithms)
def test_every_algorithm_has_a_page_with_its_three_figures(name):
    page = DOCS / "explanation" / "algorithms" / f"{name}.md"
    for kind in ("window", "loss", "share"):
        picture = DOCS / "images" / "algorithms" / f"{name}-{kind}.png"
        assert f"]({os.path.relpath(picture, page.parent)})" in page.read_text("utf-8")
        assert 0 < picture.stat().st_size <= MOST_PICTURE_BYTES


def command_names(name: str, command) -> Iterator[str]:
    yield name
    for each in getattr(command, "commands", {}):
        yield from command_names(f"{name} {each}", command.commands[each])


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("cli", command_names("tussle", typer.main.get_command(app))),
        ("algorithms", catalog().algorithms),
        ("metrics", METRICS),
        ("figures", FIGURES),
        ("profiles", profiles()),
        ("scenarios", ready_scenarios()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_registered_name_has_a_section_in_the_reference(page, names):
    text = (DOCS / "reference" / f"{page}.md").read_text("utf-8")
    assert [name for name in names if f"\n## {name}\n" not in text] == []


@pytest.mark.parametrize(("page", "names"), [("metrics", METRICS), ("figures", FIGURES)])
def test_every_metric_and_every_figure_has_an_example_picture(page, names):
    text = (DOCS / "reference" / f"{page}.md").read_text("utf-8")
    sections = {part.partition("\n")[0]: part for part in text.split("\n## ")[1:]}
    assert set(sections) == set(names)
    for name, section in sections.items():
        pictures = re.findall(r"^!\[.+\]\((.+)\)$", section, re.MULTILINE)
        assert len(pictures) == 1, name
        assert (DOCS / "reference" / pictures[0]).stat().st_size > 0, name


def test_every_queue_has_a_row():
    text = (DOCS / "reference" / "queues.md").read_text("utf-8")
    assert [name for name in catalog().queues if f"\n| `{name}` |" not in text] == []


def test_every_key_of_a_scenario_has_a_row():
    text = (DOCS / "reference" / "scenario.md").read_text("utf-8")
    schema = Scenario.model_json_schema()
    tables = {name: each["properties"] for name, each in schema["$defs"].items()} | {"": schema["properties"]}
    keys = [
        key
        for properties in tables.values()
        for key, field in properties.items()
        if "$ref" not in str(field) and f"\n| `{key}` |" not in text
    ]
    assert keys == []


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_examples_in_docstrings_hold(file):
    module = ".".join(file.relative_to(ROOT / "python").with_suffix("").parts).removesuffix(".__init__")
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted
    assert not results.failed


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_has_an_existing_target(page):
    for link in LINK.findall(page.read_text("utf-8")):
        if link.startswith(("http://", "https://")):
            continue
        file, _, heading = link.partition("#")
        target = (page.parent / file) if file else page
        assert target.exists(), link
        assert not heading or heading in headings(target), link


def headings(page: Path) -> set[str]:
    """Return the anchors that Markdown renderers give to headings."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_is_linked_from_the_index():
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            links = LINK.findall(page.read_text("utf-8"))
            waiting += [
                (page.parent / link.partition("#")[0]).resolve() for link in links if "//" not in link
            ]
    assert set(DOCS.rglob("*.md")) - reached == set()


def test_make_lists_every_target():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^\.PHONY: ([\w-]+)$", makefile, re.MULTILINE))
    listed = execute(["make", "--silent"], ROOT).stdout
    assert targets == {line.split()[1] for line in listed.splitlines()}


@pytest.mark.parametrize("name", ["setup", "test", "lint", "fmt", "docs", "pages", "bench", "fuzz", "kernel"])
def test_contributing_lists_the_main_make_targets(name):
    assert f"`make {name}`" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
