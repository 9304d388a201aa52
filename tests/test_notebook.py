"""The notebook of the documentation runs from its first cell to its last."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copy

import nbformat

NOTEBOOK = Path(__file__).parent.parent / "docs" / "tutorial" / "dataset.ipynb"


def test_the_notebook_runs_and_shows_a_figure(tmp_path: Path):
    """The notebook runs in its own kernel, without the user's settings."""
    copy(NOTEBOOK, tmp_path)
    own = {
        name: str(tmp_path / name.lower())
        for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")
    }
    command = [Path(sys.executable).parent / "jupyter-execute", "--inplace", NOTEBOOK.name]
    result = subprocess.run(
        command, cwd=tmp_path, env=os.environ | own, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    executed = nbformat.read(tmp_path / NOTEBOOK.name, as_version=4)
    pages = [output["data"].get("text/html", "") for output in executed.cells[-1]["outputs"]]
    assert any("vegaEmbed" in page for page in pages)


def test_the_notebook_is_kept_without_results():
    """Stored results would become outdated, and make diffs unreadable."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in notebook.cells)
