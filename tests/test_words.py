"""The check of words that the glossary replaces."""

import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
import words


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("the dice decide", ["dice"]),
        ("the packet is sent again", ["sent again"]),
        ("on the way back", ["way back"]),
        ("fn on_sample(", ["on_sample"]),
        ("[[path.effects]]", ["path.effects"]),
        ("diet and predict", []),
        ("an exception is raised", []),
    ],
)
def test_replaced_words_and_only_those_are_found(line: str, found: list[str]):
    known, _ = words.words()
    assert [hit.found for hit in words.hits_in("docs/index.md", line, known)] == found


def test_a_hit_names_its_place_and_the_word_to_write():
    known, _ = words.words()
    (hit,) = words.hits_in("docs/index.md", "first\na solo run\n", known)
    assert hit.sentence() == 'docs/index.md:2: "solo"; write baseline'


def test_a_word_is_permitted_at_the_paths_that_the_table_allows():
    known, _ = words.words()
    assert list(words.hits_in("docs/page.html", "an error is thrown", known)) == []


@pytest.mark.parametrize(
    "page", ["docs/papers/lan-pairs.md", "docs/explanation/agreement.md", "docs/agreement/notes.md"]
)
def test_generated_results_are_checked_as_well(page: str):
    _, skipped = words.words()
    assert not any(fnmatch(page, pattern) for pattern in skipped)
