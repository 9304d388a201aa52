"""Applications of flows: checks of their settings."""

from collections.abc import Iterable, Iterator

from tussle.scenario.application_kinds import APPLICATIONS
from tussle.scenario.fields import UDP
from tussle.scenario.problems import Problem
from tussle.scenario.tables import Flow


def misplaced_application_settings(flows: Iterable[Flow]) -> Iterator[Problem]:
    """Find settings that no kind of their application takes; the flows may have axes."""
    for index, flow in enumerate(flows):
        if flow.application is not None:
            kind = flow.application.kind
            kinds = [kind] if isinstance(kind, str) else list(kind)
            yield from APPLICATIONS.misplaced(flow.application, kinds, f"flows.{index}.application")


def application_problems(flow: Flow, where: str) -> Iterator[Problem]:
    """Find what is wrong with the application of a flow without axes, which stands at `where`."""
    if flow.algorithm == UDP:
        yield from _udp_problems(flow, where)
    if flow.application is not None:
        for setting, needed in flow.application.missing().items():
            what = f"missing; {flow.application.kind} needs it, like {needed.in_toml()}"
            yield Problem(f"{where}.application.{setting}", what)


def _udp_problems(flow: Flow, where: str) -> Iterator[Problem]:
    if flow.application is None:
        example = 'application = { kind = "rate", rate = "5 Mbit/s" }'
        what = f"missing; udp sends what its application writes, like {example}"
        yield Problem(f"{where}.application", what)
    elif flow.application.kind == "requests":
        what = "udp does not acknowledge a response; write rate, on_off or chunks"
        yield Problem(f"{where}.application.kind", what)
    if flow.bytes is not None:
        what = "a udp receiver cannot detect the last byte; give a stop instead"
        yield Problem(f"{where}.bytes", what)
    for setting in ("ecn", "pacing"):
        if flow.sender is not None and getattr(flow.sender, setting) is True:
            yield Problem(f"{where}.sender.{setting}", f"udp has no {setting}; leave it out")
