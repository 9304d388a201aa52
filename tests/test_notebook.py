"""The notebooks of the documentation run, and show what is stored in them."""

import re
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from notebooks import NOTEBOOKS, executed, shown  # noqa: E402

MOST_BYTES = 100_000


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_shows_what_is_stored_in_it(notebook: Path, tmp_path: Path):
    """`make docs` stores new output."""
    stored = list(shown(nbformat.read(notebook, as_version=4)))
    assert list(shown(executed(notebook, tmp_path))) == stored


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_small_and_needs_no_network_to_be_shown(notebook: Path):
    text = notebook.read_text("utf-8")
    assert len(text) < MOST_BYTES
    kinds = {kind for _, kind, _ in shown(nbformat.read(notebook, as_version=4))}
    assert kinds <= {"text/plain", "text/html", "image/svg+xml"}
    assert "<script" not in text


def test_there_is_a_notebook_for_each_step():
    names = [notebook.stem for notebook in NOTEBOOKS]
    assert names == ["a-first-comparison", "a-sweep-to-a-figure", "an-algorithm-of-your-own"]


def test_a_changed_output_is_noticed(tmp_path: Path):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(1 + 1)\n'text'")])
    nbformat.write(made, tmp_path / "sum.ipynb")
    found = list(shown(executed(tmp_path / "sum.ipynb", tmp_path)))
    assert found == [(0, "stdout", "2\n"), (0, "text/plain", "'text'")]


def test_no_notebook_has_a_path_of_the_machine_that_stored_it():
    private = re.compile(r"/(?:root|home|Users|tmp)/")
    assert [file.name for file in NOTEBOOKS if private.search(file.read_text("utf-8"))] == []
