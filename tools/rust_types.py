"""Reads the fields of Rust types that are serialized to JSON, from their source."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TYPE = re.compile(
    r"(?P<about>(?:^///.*\n)+)(?P<attributes>(?:^#\[.*\n)*)^pub (?P<kind>struct|enum) (?P<name>\w+) \{\n"
    r"(?P<body>(?:^ .*\n|^\n)*)^\}",
    re.MULTILINE,
)
_PART = re.compile(
    r"(?P<about>(?:^ +///.*\n)+)(?P<attributes>(?:^ +#\[.*\n)*)"
    r"^ +(?:pub )?(?P<name>\w+)(?P<type>: .+|\(.+\))?,$",
    re.MULTILINE,
)
_RENAMED = re.compile(r'rename = "([^"]+)"')


@dataclass(frozen=True)
class RustType:
    """A struct or an enum."""

    name: str
    about: str
    parts: list[tuple[str, str, str]]
    """Name in JSON, Rust type ("" for a unit variant), and description."""


def serialized(source: str) -> Iterator[RustType]:
    """Yield the types of a file that derive `Serialize`, in order."""
    for found in _TYPE.finditer(source):
        if "Serialize" in found["attributes"]:
            parts = [_part(part, found["kind"]) for part in _PART.finditer(found["body"])]
            yield RustType(found["name"], _words(found["about"]), parts)


def _part(part: re.Match[str], kind: str) -> tuple[str, str, str]:
    """Describe a field of a struct, or a variant of an enum."""
    renamed = _RENAMED.search(part["attributes"])
    name = renamed[1] if renamed else _snake_case(part["name"]) if kind == "enum" else part["name"]
    return name, (part["type"] or "").strip(": ()"), _words(part["about"])


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _words(comments: str) -> str:
    """Return doc comments as one paragraph; links to items become code."""
    text = " ".join(line.strip().removeprefix("///").strip() for line in comments.splitlines())
    return re.sub(r"\[(`[^`]+`)\](?!\()", r"\1", text)
