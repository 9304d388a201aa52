"""Packet scripts: the packets that the peer of a TCP sends, step by step, and the expected responses.

crates/tussle-core/src/script defines the format, and checks the responses of both engines.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from tussle import _core
from tussle.errors import TussleError, unknown
from tussle.kernel import DEFAULT_HZ, built_kernel
from tussle.kernel.guest import UserMode
from tussle.scenario.text import read_toml

ENGINES = ("sim", "kernel")


@dataclass(frozen=True)
class Verdict:
    """The result of a script."""

    file: Path
    claim: str
    outcome: Literal["holds", "fails", "is skipped"]
    words: str = ""
    """Step, time, actual and expected response; or the reason for skipping the script."""


def play(files: Sequence[Path], engine: str, kernel: str | None = None) -> list[Verdict]:
    """Play scripts on `engine`, one of `ENGINES`; `kernel` names the kernel (`None`: the default one).

    Raises TussleError when a file is not a valid script, or the engine cannot play it.
    """
    if engine not in ENGINES:
        raise TussleError(unknown("engine", engine, ENGINES))
    if kernel is not None and engine != "kernel":
        raise TussleError("--kernel needs --engine kernel; give both or neither")
    scripts = {file: read_toml(file, str(file)) for file in files}
    # The simulator refuses invalid scripts, among them those that are skipped.
    found = _on_simulator(scripts)
    played = {file: script for file, script in scripts.items() if engine not in script.get("skip", {})}
    if engine == "kernel":
        found = _on_kernel(played, kernel)
    return [
        _verdict(file, script, found[file])
        if file in played
        else Verdict(file, script["claim"], "is skipped", script["skip"][engine])
        for file, script in scripts.items()
    ]


def _verdict(file: Path, script: Mapping[str, Any], answer: Mapping[str, str]) -> Verdict:
    if answer["verdict"] == "refused":
        raise TussleError(f"{file}: {answer['words']}")
    outcome = "holds" if answer["verdict"] == "holds" else "fails"
    return Verdict(file, script["claim"], outcome, answer.get("words", ""))


def _on_simulator(scripts: Mapping[Path, Mapping[str, Any]]) -> dict[Path, dict[str, str]]:
    found = {}
    for file, script in scripts.items():
        try:
            found[file] = json.loads(_core.play_script(json.dumps(script, default=_refuse)))
        except ValueError as error:
            raise TussleError(f"{file}: {error}") from error
    return found


def _refuse(value: object) -> NoReturn:
    """Refuse a date or a time of TOML, the only values that JSON lacks."""
    raise ValueError(f"{value} without quotes is a date or a time, which no key of a script expects")


def _on_kernel(scripts: Mapping[Path, Mapping[str, Any]], kernel: str | None) -> dict[Path, dict[str, str]]:
    built = built_kernel(kernel)
    if built.facts["hz"] != str(DEFAULT_HZ):
        raise TussleError(
            f"packet scripts need a kernel with {DEFAULT_HZ} timer ticks a second, and kernel {built.name} "
            f"has {built.facts['hz']}; build it with --hz {DEFAULT_HZ}"
        )
    names = {f"{place:05}": file for place, file in enumerate(scripts)}
    found = UserMode(kernel).play({name: scripts[file] for name, file in names.items()})
    return {names[name]: answer for name, answer in found.items()}
