"""The configuration of a kernel: Tussle's recipe, and the check of a tree's configuration against it."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from tussle.errors import TussleError
from tussle.kernel.patches import patches

_RECIPE = Path(__file__).parent / "recipe"
_NEEDED = _RECIPE / "config"
_WANTED = _RECIPE / "config-wanted"
_OLDER = _RECIPE / "config-older"

_OPTION = re.compile(r"^CONFIG_(\w+)=(.*)$", re.MULTILINE)
_EXTENSIONS = [("net/ipv4/Kconfig", "TCP_CONG_"), ("net/sched/Kconfig", "NET_SCH_")]
"""Files in which the tree declares algorithms and queue disciplines, and prefixes of their options."""

PRESETS = "tussle.config"
KCONFIG = "Kconfig.tussle"


@dataclass(frozen=True)
class Recipe:
    """Tussle's part of a kernel's configuration."""

    hz: int

    def digest(self) -> str:
        """SHA-256, in hexadecimal, of the tick rate, the options and the patches."""
        digests = "".join(f"{patch.digest}\n" for patch in patches())
        options = "".join(_text(file) for file in (_NEEDED, _WANTED, _OLDER))
        text = f"{self.hz}\n{options}{digests}"
        return hashlib.sha256(text.encode()).hexdigest()

    def write(self, tree: Path) -> None:
        """Write `PRESETS` and `KCONFIG` into a tree, for `make allnoconfig`."""
        extensions = dict.fromkeys(_extensions(tree), "y")
        presets = extensions | _options(_WANTED) | _options(_OLDER) | _options(_NEEDED)
        lines = [f"CONFIG_{name}={value}\n" for name, value in presets.items()]
        (tree / PRESETS).write_text("".join(lines), "utf-8")
        # User-mode Linux has no option for its tick rate; the first default of an option holds.
        ticks = f"config HZ\n\tint\n\tdefault {self.hz}\n"
        menu = _text(tree / "Kconfig")
        (tree / KCONFIG).write_text(
            re.sub(r"(?m)^mainmenu .*$", rf"\g<0>\n\n{ticks}", menu, count=1), "utf-8"
        )

    def lacks(self, tree: Path) -> list[str]:
        """Return the wanted options that the configuration in a tree does not have.

        Raises TussleError, with their names, when it lacks needed ones.
        """
        held = _options(tree / ".config")
        needed = _options(_NEEDED) | {"HZ": str(self.hz)}
        if missing := [name for name, value in needed.items() if held.get(name) != value]:
            raise TussleError(
                f"the kernel engine cannot use this source: it has no {', '.join(missing)}; give Linux 6.1 "
                "or newer, or undo the change that keeps these options from being set"
            )
        return [name for name, value in _options(_WANTED).items() if held.get(name) != value]


def _options(file: Path) -> dict[str, str]:
    return dict(_OPTION.findall(_text(file)))


def _extensions(tree: Path) -> list[str]:
    """Return every algorithm and queue discipline of the tree, added ones included."""
    return [
        name
        for file, start in _EXTENSIONS
        for name in re.findall(rf"(?m)^config ({start}\w+)$", _text(tree / file))
    ]


def _text(file: Path) -> str:
    return file.read_text("utf-8", errors="replace") if file.exists() else ""
