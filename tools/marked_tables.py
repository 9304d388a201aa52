"""Tables in Markdown, and the marks between which a page has its measured ones."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

_MARKED = re.compile(r"<!-- measured: (?P<name>[\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def filled(text: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with the tables between its marks replaced by those of their names."""
    return _MARKED.sub(
        lambda block: f"<!-- measured: {block['name']} -->\n\n{tables[block['name']]()}\n\n<!-- end -->", text
    )
