"""The manual page tussle(1), in the macros of man(7), from the help of the commands."""

import re

from commands import Described, Parameter, commands

_NAME = "tussle \\- TCP congestion control simulator and testbed"
_STATUS = {
    0: "The command has done what it was asked for.",
    1: "A difference is real (`compare`), a bound does not hold (`agree`), a criterion fails (`suite`), or a "
    "line of a script fails (`script`).",
    2: "The input is wrong, or something is missing; the message says what, and what to do.",
    130: "The command was interrupted; finished runs are kept.",
}
_CODE = re.compile("`([^`]*)`")


def page() -> str:
    """Return the text of the page."""
    whole, *others = commands()
    lines = [
        '.\\" Written by tools/reference.py from the code (`make docs`). Change it there.',
        '.TH TUSSLE 1 "" Tussle "User Commands"',
        ".SH NAME",
        _NAME,
        ".SH SYNOPSIS",
        ".B tussle",
        _escaped(whole.usage.removeprefix("tussle ")),
        ".SH DESCRIPTION",
        *_paragraphs(whole.about),
        *_listed(whole.parameters),
        ".SH COMMANDS",
    ]
    for command in others:
        lines += _command(command)
    lines.append(".SH EXIT STATUS")
    for status, meaning in _STATUS.items():
        lines += [".TP", f".B {status}", _escaped(meaning)]
    return "\n".join(lines) + "\n"


def _command(command: Described) -> list[str]:
    rest = command.usage.removeprefix(command.name)
    title = f"\\fB{_escaped(command.name)}\\fR {_escaped(rest)}"
    return [f".SS {_quoted(title)}", *_paragraphs(command.about), *_listed(command.parameters)]


def _listed(parameters: list[Parameter]) -> list[str]:
    lines = []
    for each in parameters:
        default = f" Default: {each.default}." if each.default else ""
        lines += [".TP", f"\\fB{_escaped(each.spelling)}\\fR", _escaped(f"{each.about}{default}")]
    return lines


def _paragraphs(text: str) -> list[str]:
    paragraphs = (" ".join(each.split()) for each in text.split("\n\n"))
    return [line for each in paragraphs for line in (".PP", _escaped(each))]


def _escaped(text: str) -> str:
    """Return text that no formatter takes for a request, with hyphens that can be copied and typed."""
    escaped = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    marked = _CODE.sub(r"\\fB\1\\fR", escaped)
    ascii_only = "".join(each if each.isascii() else f"\\[u{ord(each):04X}]" for each in marked)
    return re.sub(r"^([.'])", r"\\&\1", ascii_only)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "\\(dq") + '"'
