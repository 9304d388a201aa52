"""The environment, head and style of the pages of agreement, studies, suites and worst cases."""

from pathlib import Path

from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined


def environment(package: str, folder: Path | None = None) -> Environment:
    """Return the environment of a package's templates, which include `head.html` and `document.css`.

    A template in `folder` comes before one of the package.
    """
    own: list[BaseLoader] = [] if folder is None else [FileSystemLoader(folder)]
    return Environment(
        loader=ChoiceLoader([*own, PackageLoader(package), PackageLoader("tussle.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
