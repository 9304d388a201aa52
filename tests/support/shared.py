"""Folders that the tests of a session share, whichever worker of pytest-xdist runs them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def shared_folder(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder `name`, which the first test that asks for it fills. Tests only read it."""
    base = factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, unfinished = root / name, root / f"{name}.unfinished"
    with FileLock(root / f"{name}.lock"):
        if not folder.exists():
            fill(unfinished)
            unfinished.rename(folder)
    return folder
