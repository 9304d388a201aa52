"""Find words that the glossary replaces: `python tools/words.py`; `--count` only counts them.

The words stand in tools/words.toml.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TABLE = Path(__file__).with_name("words.toml")


class Word(NamedTuple):
    """A word that the project avoids."""

    pattern: re.Pattern[str]
    use: str
    allow: tuple[str, ...]
    """Patterns of the paths where the word is allowed."""


class Hit(NamedTuple):
    """An occurrence of an avoided word."""

    path: str
    line: int
    found: str
    use: str

    def sentence(self) -> str:
        """Return the correction as text."""
        return f'{self.path}:{self.line}: "{self.found}"; write {self.use}'


def words() -> tuple[list[Word], list[str]]:
    """Return the words, and the patterns of excluded paths."""
    table = tomllib.loads(TABLE.read_text("utf-8"))
    found = [
        Word(
            re.compile(each["pattern"], 0 if each.get("case") else re.IGNORECASE),
            each["use"],
            tuple(each.get("allow", ())),
        )
        for each in table["word"]
    ]
    return found, table["skip"]


def hits_in(path: str, text: str, known: list[Word]) -> Iterator[Hit]:
    """Yield the words in a text that are not allowed at its path."""
    here = [word for word in known if word.pattern.search(text) and not _matches(path, word.allow)]
    for number, line in enumerate(text.splitlines(), start=1):
        for word in here:
            for found in word.pattern.finditer(line):
                yield Hit(path, number, found[0], word.use)


def hits() -> Iterator[Hit]:
    """Yield the disallowed words in all text files that git tracks."""
    known, skipped = words()
    # A file that was removed is listed until the removal is committed.
    for path in _tracked():
        file = ROOT / path
        if _matches(path, skipped) or not file.is_file() or file.is_symlink():
            continue
        try:
            text = file.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        yield from hits_in(path, text, known)


def _tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)  # noqa: S607
    return [path for path in listed.stdout.decode().split("\0") if path]


def _matches(path: str, patterns: tuple[str, ...] | list[str]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", action="store_true", help="count the words by folder, and succeed")
    found = list(hits())
    if parser.parse_args().count:
        folders = Counter("/".join(hit.path.split("/")[:2]) for hit in found)
        for folder, count in folders.most_common():
            print(f"{count:5} {folder}")
        return
    for hit in found:
        print(hit.sentence(), file=sys.stderr)
    if found:
        sys.exit(f"words: {len(found)} that the glossary replaces; tools/words.toml lists them")


if __name__ == "__main__":
    _main()
