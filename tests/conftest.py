"""Puts this folder on the import path, for the helpers that several tests share."""

import sys
from pathlib import Path

import pytest

from commandline import Answer
from tussle.cli import main


@pytest.fixture
def tussle_(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Call the command in this process, from an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["tussle", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else 0
        printed = capsys.readouterr()
        return Answer(status, printed.out, printed.err)

    return call
