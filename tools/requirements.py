"""Print what pyproject.toml asks for, one requirement a line.

`python tools/requirements.py`: dependencies and extras, but for `wheel`, whose compiler has 20 000 files.
`python tools/requirements.py EXTRA`: what an extra asks for.
"""

import sys
import tomllib
from pathlib import Path

_LARGE = "wheel"

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
if len(sys.argv) > 1:
    wanted = extras[sys.argv[1]]
else:
    wanted = project["dependencies"] + [
        each for name, extra in extras.items() if name != _LARGE for each in extra
    ]
print(*wanted, sep="\n")
