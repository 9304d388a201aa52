"""The site of the documentation, as `make site` builds it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tussle.studio import is_built

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from site_of_docs import STUDIO, check  # noqa: E402

pytestmark = pytest.mark.skipif(not is_built(), reason="the site needs the studio, which is not built")


def test_the_site_has_every_page_of_the_contents_and_no_link_that_leads_nowhere(tmp_path: Path):
    built = subprocess.run(
        [sys.executable, ROOT / "tools" / "site_of_docs.py", tmp_path / "site"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    assert built.stdout == f"site: {tmp_path / 'site' / 'index.html'}\n"
    start = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert f'href="{STUDIO}"' in start
    assert 'href="docs/notebooks/a-first-comparison.html"' in start
    assert "Who shares fairly with whom" in (tmp_path / "site" / "sample-report.html").read_text("utf-8")


def test_a_link_that_leads_nowhere_or_elsewhere_is_named(tmp_path: Path):
    (tmp_path / "one.html").write_text(
        '<a href="two.html#here">1</a> <a href="two.html#there">2</a> <a href="three.html">3</a> '
        '<a href="https://example.org">4</a> <img src="https://example.org/5.png">',
        "utf-8",
    )
    (tmp_path / "two.html").write_text('<p id="here">', "utf-8")
    assert list(check(tmp_path)) == [
        "one.html: two.html#there (no such place in the page)",
        "one.html: three.html",
        "one.html loads https://example.org/5.png",
    ]
