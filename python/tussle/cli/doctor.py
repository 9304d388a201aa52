"""`tussle doctor`: what works on this machine."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from tussle.cli._terminal import show


def doctor(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what works on this machine (simulator, kernels, other engines), and what each missing part needs.

    The exit status is 0 if the simulator works, whatever else is missing.
    """
    from tussle.doctor import findings

    found = list(findings())
    if as_json:
        typer.echo(json.dumps([asdict(each) for each in found], indent=2))
    else:
        table = Table("part", "works", "what was found, or what to do")
        for each in found:
            table.add_row(each.part, "yes" if each.works else "no", each.about)
        show(table)
    if not found[0].works:
        raise typer.Exit(1)
