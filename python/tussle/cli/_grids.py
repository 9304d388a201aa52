"""Tables in the terminal, none wider than it: columns that do not fit follow in further tables."""

from collections.abc import Iterable, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Column, Table
from rich.text import Text

from tussle.answers import Cell, Grid, Heading
from tussle.cli._terminal import columns, show_whole

_COLOURS = {"no": "red", "unclear": "yellow", "": ""}
_PADDING = 1
_APART = 2
"""Columns between one column of a table and the next."""
_BORDER = 2


def show_grids(grids: Iterable[Grid]) -> None:
    """Print tables to the standard output, each as wide as fits."""
    for grid in grids:
        for part in _parts(grid, columns()):
            if part.title:
                # Rich would wrap the title of a table at the width of the table.
                show_whole(Text(part.title), columns())
            show_whole(_table(part))
        if grid.caption:
            show_whole(Text(grid.caption), columns())


def _parts(grid: Grid, width: int) -> Iterator[Grid]:
    """Yield the grid, or, where it is too wide, its columns in blocks, each beside the names of the rows."""
    widths = _widths(grid)
    if sum(widths) + _BORDER <= width:
        yield grid
        return
    if grid.keys > 1 and sum(widths[: grid.keys]) > width // 2:
        yield from _parts(_stacked(grid), width)
        return
    names, title = widths[: grid.keys], grid.title
    chosen: list[int] = []
    for index in range(grid.keys, len(widths)):
        if chosen and sum(names) + sum(widths[each] for each in [*chosen, index]) + _BORDER > width:
            yield _of_columns(grid, title, chosen)
            chosen, title = [], ""
        chosen.append(index)
    yield _of_columns(grid, title, chosen)


def _of_columns(grid: Grid, title: str, chosen: Sequence[int]) -> Grid:
    kept = [*range(grid.keys), *chosen]
    rows = [[row[index] for index in kept] for row in grid.rows]
    return Grid(title, [grid.headings[index] for index in kept], rows, keys=grid.keys)


def _stacked(grid: Grid) -> Grid:
    """Return the grid with one column for all that names a row, a line for each."""
    titles = [each.title.replace("-\n", "").replace("\n", "") for each in grid.headings[: grid.keys]]
    rows = []
    for row in grid.rows:
        named = zip(titles, row[: grid.keys], strict=True)
        lines = [f"{title} {cell.text}" for title, cell in named if cell.text]
        rows.append([Cell("\n".join(lines)), *row[grid.keys :]])
    return Grid(grid.title, [Heading(""), *grid.headings[grid.keys :]], rows, grid.caption)


def _widths(grid: Grid) -> list[int]:
    columns = zip(*([Cell(each.title) for each in grid.headings], *grid.rows), strict=True)
    return [
        _APART + max(len(line) for cell in column for line in f"{cell.text}\n{cell.detail}".split("\n"))
        for column in columns
    ]


def _table(grid: Grid) -> Table:
    columns = [
        Column(each.title, justify="right" if each.kind == "number" else "left", no_wrap=False)
        for each in grid.headings
    ]
    table = Table(*columns, box=SIMPLE_HEAD, padding=(0, 0, 0, _PADDING))
    for row in grid.rows:
        table.add_row(*map(_text, row))
    return table


def _text(cell: Cell) -> Text:
    text = Text(cell.text, _COLOURS[cell.verdict])
    return text.append(f"\n{cell.detail}", "dim") if cell.detail else text
