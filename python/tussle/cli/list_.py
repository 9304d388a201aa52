"""`tussle list`: the names that commands and scenarios accept."""

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any

import typer
from rich.table import Table

from tussle.cli._completion import lists
from tussle.cli._terminal import note, say, show
from tussle.errors import TussleError, unknown

Entry = dict[str, Any]


def _algorithms() -> tuple[list[Entry], str]:
    from tussle.catalog import catalog

    return list(catalog().algorithms.values()), "idea"


def _groups() -> tuple[list[Entry], str]:
    from tussle.catalog import groups

    return [_public(group) for group in groups().values()], "about"


def _queues() -> tuple[list[Entry], str]:
    from tussle.catalog import catalog

    return list(catalog().queues.values()), "idea"


def _elements() -> tuple[list[Entry], str]:
    from tussle.catalog import catalog

    return list(catalog().elements.values()), "idea"


def _profiles() -> tuple[list[Entry], str]:
    from tussle.profiles import profiles

    entries = []
    for each in profiles().values():
        queue = each.path.get("queue", {})
        facts = {"rate": each.path.get("rate"), "rtt": each.path.get("rtt"), "buffer": queue.get("limit")}
        entries.append({**_public(each), **{key: value or "" for key, value in facts.items()}})
    return entries, "about"


def _host_profiles() -> tuple[list[Entry], str]:
    from tussle.host_profiles import host_profiles

    return [_public(profile) for profile in host_profiles().values()], "about"


def _scenarios() -> tuple[list[Entry], str]:
    from tussle.scenario import Scenario, ready_scenarios

    entries = [
        {"name": name, "question": Scenario.load(file).question, "file": str(file)}
        for name, file in ready_scenarios().items()
    ]
    return entries, "question"


def _metrics() -> tuple[list[Entry], str]:
    from tussle.metrics import REGISTRY

    return [_public(metric) for metric in REGISTRY.values()], "definition"


def _figures() -> tuple[list[Entry], str]:
    from tussle.figures import REGISTRY

    return [_public(figure) for figure in REGISTRY.values()], "shows"


def _papers() -> tuple[list[Entry], str]:
    from tussle.papers import Study, studies

    loaded = [Study.load(name) for name in studies()]
    entries = [
        {"name": each.name, "about": each.title, "parts": list(each.parts), "sources": each.sources}
        for each in loaded
    ]
    return entries, "about"


def _suites() -> tuple[list[Entry], str]:
    from tussle.suites import Suite, suites

    loaded = [Suite.load(name) for name in suites()]
    entries = [
        {
            "name": each.name,
            "about": each.title,
            "document": each.document,
            "sources": each.sources,
            "criteria": [criterion.name for criterion in each.criteria],
        }
        for each in loaded
    ]
    return entries, "about"


def _kernels() -> tuple[list[Entry], str]:
    from tussle.kernel import built_kernel, kernel_names

    kernels = [built_kernel(name) for name in kernel_names()]
    return [
        {"name": each.name, "about": each.about, "image": str(each.image), **each.facts} for each in kernels
    ], "about"


def _public(declared: Any) -> Entry:
    """Return the fields of a declaration, without its functions."""
    values = {field.name: getattr(declared, field.name) for field in fields(declared)}
    return {name: value for name, value in values.items() if not callable(value)}


LISTS: dict[str, Callable[[], tuple[list[Entry], str]]] = {
    "algorithms": _algorithms,
    "groups": _groups,
    "queues": _queues,
    "elements": _elements,
    "profiles": _profiles,
    "host-profiles": _host_profiles,
    "scenarios": _scenarios,
    "metrics": _metrics,
    "figures": _figures,
    "papers": _papers,
    "suites": _suites,
    "kernels": _kernels,
}
"""The entries of each list, and the key of the line about each."""

_COLUMNS = {"profiles": ("rate", "rtt", "buffer")}
"""Further columns of a list, before the line about each."""

_REMEDIES = {"kernels": "; `tussle kernel build` builds one"}
"""The remedy for an empty list."""


def show_list(
    what: Annotated[
        str | None,
        typer.Argument(metavar="LIST", help=f"The list to print: {', '.join(LISTS)}.", autocompletion=lists),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print all facts about each, as JSON.")] = False,
) -> None:
    """List algorithms, profiles, metrics and so on, with a line about each."""
    if what is None:
        raise TussleError(f"name a list, as in `tussle list profiles`; there are {', '.join(LISTS)}")
    if what not in LISTS:
        raise TussleError(unknown("list", what, LISTS))
    entries, about = LISTS[what]()
    if as_json:
        typer.echo(json.dumps(entries, indent=2, ensure_ascii=False))
        return
    if not entries:
        note(f"there are no {what} here{_REMEDIES.get(what, '')}")
        return
    shown = ["name", *_COLUMNS.get(what, ()), about]
    table = Table(*shown, box=None, pad_edge=False, header_style="bold")
    for entry in entries:
        table.add_row(*(entry[column] for column in shown))
    show(table)
    if what == "algorithms":
        from tussle.catalog import groups

        say(f"\nGroups, for lists of algorithms: {', '.join(groups())} (`tussle list groups`).")
