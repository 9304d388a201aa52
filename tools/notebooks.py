"""Executes the notebooks of the docs and stores what their cells show: `python tools/notebooks.py`.

A cell shows the same on every machine: results come from the simulator, and its folders are relative.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
_TIMEOUT_S = 300
_PICTURE = "image/svg+xml"


def executed(notebook: Path, folder: Path) -> Any:
    """Return a notebook with what its cells show, executed in an empty folder.

    It runs in a kernel of its own, without the user's settings; raises CellExecutionError when a cell fails.
    """
    made = nbformat.read(notebook, as_version=4)
    settings = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")
    own = {name: str(folder / name.lower()) for name in settings}
    before = dict(os.environ)
    os.environ.update(own)
    try:
        place = {"metadata": {"path": str(folder)}}
        NotebookClient(made, timeout=_TIMEOUT_S, kernel_name="python3", resources=place).execute()
    finally:
        os.environ.clear()
        os.environ.update(before)
    for cell in made.cells:
        cell.metadata = {}
    made.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return made


def shown(notebook: Any) -> Iterator[tuple[int, str, str]]:
    """Yield what each cell shows: its number, the kind, and the text; of a picture, that it is one."""
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output["output_type"] == "stream":
                yield number, output["name"], output["text"]
            data: Mapping[str, str] = output.get("data", {})
            for kind, text in sorted(data.items()):
                # Fonts and versions of the drawing library change the bytes of a picture.
                yield number, kind, "a picture" if kind == _PICTURE else text


def main() -> None:
    """Execute every notebook, and write it with what its cells show."""
    for notebook in NOTEBOOKS:
        with tempfile.TemporaryDirectory(prefix="tussle-") as folder:
            made = executed(notebook, Path(folder))
        nbformat.write(made, notebook)
        print(notebook.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
