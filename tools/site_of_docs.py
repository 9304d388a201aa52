"""Build the documentation as a site that works from a folder: `python tools/site_of_docs.py FOLDER`.

The site has the pages of `docs` with their search, what they link to in the repository, the notebooks with
their outputs, the studio, and a sample report. Every link between pages is checked, and no page may load
anything from elsewhere.
"""

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import chdir
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

import nbformat
from nbconvert import MarkdownExporter

import tussle
from tussle import report
from tussle.studio import write

ROOT = Path(__file__).parent.parent
START = "README.md"
SHIM = ROOT / "tools" / "iframe-worker" / "shim.js"
STUDIO, SAMPLE = "studio.html", "sample-report.html"
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_BESIDE = """

!!! tip "In this site"
    [The studio](studio.html): the simulator in a page.
    [A sample report](sample-report.html): every pair of four algorithms on a LAN.
"""


def main() -> None:
    """Build the site, and check it."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("folder", type=Path)
    folder = arguments.parse_args().folder.resolve()
    with TemporaryDirectory() as work:
        stage = Path(work) / "docs"
        for file in sorted(pages_and_what_they_link_to()):
            copy(file, stage)
        write(stage / STUDIO)
        sample(stage / SAMPLE, Path(work) / "sample")
        start = stage / START
        start.write_text(start.read_text("utf-8").replace("\n", _BESIDE, 1), "utf-8")
        build(stage, folder)
    for page in folder.rglob("*.html"):
        page.write_text(for_a_folder(page, folder), "utf-8")
    shutil.copyfile(SHIM, folder / SHIM.name)
    problems = list(check(folder))
    if problems:
        sys.exit("\n".join([*problems, f"site: {len(problems)} links lead nowhere, or elsewhere"]))
    print(f"site: {folder / 'index.html'}")


def pages_and_what_they_link_to() -> set[Path]:
    """Return the files of `docs`, and those of the repository that they and the README link to."""
    found = {file for file in (ROOT / "docs").rglob("*") if file.is_file()}
    new = [ROOT / START, *(file for file in found if file.suffix == ".md")]
    while new:
        page = new.pop()
        found.add(page)
        for target in _LINK.findall(page.read_text("utf-8")):
            place = urlsplit(target)
            file = (page.parent / unquote(place.path)).resolve()
            if place.scheme or not place.path or file in found or not file.is_relative_to(ROOT):
                continue
            if file.is_dir():
                found |= {each for each in file.rglob("*") if each.is_file()}
            elif file.is_file():
                found.add(file)
                new += [file] if file.suffix == ".md" else []
    return found


def copy(file: Path, stage: Path) -> None:
    """Copy a file to its place in the repository; a notebook becomes a page."""
    place = stage / file.relative_to(ROOT)
    place.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".ipynb":
        text, resources = MarkdownExporter().from_notebook_node(nbformat.read(file, as_version=4))
        place.with_suffix(".md").write_text(text, "utf-8")
        for name, content in resources["outputs"].items():
            (place.parent / name).write_bytes(content)
    elif file.suffix == ".md":
        place.write_text(file.read_text("utf-8").replace(".ipynb)", ".md)"), "utf-8")
    else:
        shutil.copyfile(file, place)


def sample(place: Path, work: Path) -> None:
    """Write the report of the demonstration."""
    report.write(tussle.matrix(["reno", "cubic", "bic", "vegas"], profile="lan", output=work), place)


def build(stage: Path, folder: Path) -> None:
    """Build the site with the navigation of `docs/index.md`."""
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config

    shutil.rmtree(folder, ignore_errors=True)
    config: Any = load_config(
        str(ROOT / "mkdocs.yml"), docs_dir=str(stage), site_dir=str(folder), nav=navigation(), strict=True
    )
    with chdir(ROOT):
        build_site(config)


def navigation() -> list[dict[str, Any]]:
    """Return the sections of `docs/index.md`, each with its pages."""
    sections: list[dict[str, Any]] = [{"Tussle": [{"Overview": START}, {"Contents": "docs/index.md"}]}]
    for line in (ROOT / "docs" / "index.md").read_text("utf-8").splitlines():
        if line.startswith("## "):
            sections.append({line[3:]: []})
        elif len(sections) > 1:
            pages = next(iter(sections[-1].values()))
            for title, target in re.findall(r"\[([^]]+)\]\(([^)#]+)\)", line):
                pages.append({title: f"docs/{target.replace('.ipynb', '.md')}"})
    return sections


def for_a_folder(page: Path, folder: Path) -> str:
    """Return a page whose links lead to files, since a browser shows the content of a folder."""

    def to_file(found: re.Match[str]) -> str:
        target = (page.parent / found[1]).resolve()
        return f'href="{found[1].rstrip("/")}/index.html"' if (target / "index.html").is_file() else found[0]

    text = re.sub(r'href="([^"#:]*)"', to_file, page.read_text("utf-8"))
    # Without it the search does not start from a folder; the theme loads it from another site.
    here = os.path.relpath(folder / SHIM.name, page.parent)
    return text.replace("https://unpkg.com/iframe-worker/shim", here)


class _Links(HTMLParser):
    """The links, the anchors, and what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the link, the anchor, or the file of a tag."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif "src" in found:
            self.loaded.append(found["src"])
        elif tag == "link" and found.get("rel") in {"stylesheet", "icon", "preload"}:
            self.loaded.append(found["href"])


def check(folder: Path) -> Iterator[str]:
    """Yield the links that lead nowhere, and what pages load from elsewhere."""
    pages = {file: _Links() for file in sorted(folder.rglob("*.html")) if file.name != "404.html"}
    for file, found in pages.items():
        found.feed(file.read_text("utf-8"))
    for file, found in pages.items():
        at = file.relative_to(folder)
        for link in [*found.links, *found.loaded]:
            place = urlsplit(link)
            if place.scheme in {"http", "https"} or link.startswith("//"):
                if link in found.loaded:
                    yield f"{at} loads {link}"
                continue
            if place.scheme:
                continue
            target = (file.parent / unquote(place.path)).resolve() if place.path else file
            if not target.is_file():
                yield f"{at}: {link}"
            # Reports and the studio make their anchors in the browser.
            elif (
                target in pages
                and place.fragment
                and unquote(place.fragment) not in pages[target].anchors | {"__"}
            ):
                yield f"{at}: {link} (no such place in the page)"


if __name__ == "__main__":
    main()
