"""Print what pyproject.toml asks for, extras and development tools included, one requirement a line."""

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"].values()
print(*project["dependencies"], *(each for extra in extras for each in extra), sep="\n")
