"""Time to write and to open the report of thirteen algorithms (see README.md)."""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tussle.dataset import Dataset
from tussle.report import write

MATRIX = "--algorithms linux13 --profile lan --duration 40s"
FIRST_CHART = ".detail.shown .chart svg.marks"


def main() -> None:
    """Simulate the matrix unless one is given, write its report, and open it several times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", nargs="?", type=Path, help=f"made by tussle matrix {MATRIX} (made now)")
    parser.add_argument("--repetitions", type=int, default=5, help="how often it is opened (5)")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = arguments.dataset or _simulated(Path(scratch) / "matrix")
        start = time.perf_counter()
        page = write(Dataset.open(folder), Path(scratch) / "report.html")
        _say(f"written in {time.perf_counter() - start:.1f} s, {page.stat().st_size / 1e6:.2f} MB")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = [_open(browser, page) for _ in range(arguments.repetitions)]
        browser.close()
    for stage, times in zip(("loaded", "first charts drawn"), zip(*opened, strict=True), strict=True):
        _say(f"{stage} after {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f})")


def _simulated(folder: Path) -> Path:
    command = [str(Path(sys.executable).with_name("tussle")), "matrix", *MATRIX.split(), "-o", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 (the command is ours)
    return folder


def _open(browser: Browser, page: Path) -> tuple[float, float]:
    """Return the seconds until the page is loaded, and until the first chart is drawn."""
    tab = browser.new_page()
    start = time.perf_counter()
    tab.goto(page.as_uri())
    loaded_s = time.perf_counter() - start
    tab.wait_for_selector(FIRST_CHART)
    drawn_s = time.perf_counter() - start
    tab.close()
    return loaded_s, drawn_s


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
