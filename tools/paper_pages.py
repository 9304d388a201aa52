"""Write the page of a study in docs/papers from the results of `tussle paper`.

`python tools/paper_pages.py STUDY DIR`: the study, and the folder that the command filled.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path

import tussle
from tussle.papers import About, Study, content, results_in, save, write_markdown

PAGES = Path(__file__).resolve().parent.parent / "docs" / "papers"


def main() -> None:
    """Write the Markdown page, its figures and its numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study")
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    study = Study.load(given.study)
    about = About(f"tussle paper {study.name}", datetime.now(UTC).date().isoformat(), tussle.__version__)
    for figure in (PAGES / study.name).glob("*.svg"):
        figure.unlink()
    files = write_markdown(content(study, results_in(study, given.folder), about))
    print(save(files, PAGES, f"{study.name}.md"))


if __name__ == "__main__":
    main()
