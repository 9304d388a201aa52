"""What applications write: settings of each kind, what can be wrong with them, what they are in a run."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tussle import units
from tussle.scenario.distributions import run_distribution
from tussle.scenario.fields import UDP
from tussle.scenario.problems import Problem
from tussle.scenario.tables import Application, Flow

SETTINGS: dict[str, dict[str, str]] = {
    "rate": {"rate": "5 Mbit/s"},
    "on_off": {"rate": "5 Mbit/s", "on": "exponential(1 s)", "off": "exponential(1 s)"},
    "chunks": {"size": "2 MB", "every": "4 s"},
    "requests": {"size": "100 kB", "think": "exponential(1 s)"},
}
"""What each kind takes, with an example; it cannot do without."""


def misplaced_application_settings(flows: Iterable[Flow]) -> Iterator[Problem]:
    """Find settings that no kind of their application takes; lists of values may stand in the flows."""
    for index, flow in enumerate(flows):
        if flow.application is None:
            continue
        kind = flow.application.kind
        kinds = [kind] if isinstance(kind, str) else list(kind)
        taken = list(dict.fromkeys(setting for kind in kinds for setting in SETTINGS[kind]))
        for setting in _given(flow.application):
            if setting not in taken:
                takers = [kind for kind, settings in SETTINGS.items() if setting in settings]
                yield Problem(
                    f"flows.{index}.application.{setting}",
                    f"a setting of {' and '.join(takers)}; {' and '.join(kinds)} "
                    f"{'takes' if len(kinds) == 1 else 'take'} {', '.join(taken)}",
                )


def application_problems(flow: Flow, where: str) -> Iterator[Problem]:
    """Find what is wrong with the application of a flow without axes, which stands at `where`."""
    application = flow.application
    if flow.algorithm == UDP:
        yield from _udp_problems(flow, where)
    if application is None:
        return
    for setting, example in SETTINGS[str(application.kind)].items():
        if setting not in _given(application):
            what = f'missing; {application.kind} needs it, like "{example}"'
            yield Problem(f"{where}.application.{setting}", what)


def _udp_problems(flow: Flow, where: str) -> Iterator[Problem]:
    if flow.application is None:
        example = 'application = { kind = "rate", rate = "5 Mbit/s" }'
        what = f"missing; udp sends what its application writes, like {example}"
        yield Problem(f"{where}.application", what)
    elif flow.application.kind == "requests":
        what = "nobody acknowledges a response by udp; write rate, on_off or chunks"
        yield Problem(f"{where}.application.kind", what)
    if flow.bytes is not None:
        what = "udp does not tell the receiver which byte is the last; give a stop instead"
        yield Problem(f"{where}.bytes", what)
    for setting, value in (("ecn", flow.ecn), ("pacing", flow.pacing)):
        if value is True:
            yield Problem(f"{where}.{setting}", "udp has none; leave it out")


def application_of_run(application: Application | None) -> dict[str, Any] | None:
    """Return what a run says of an application without axes."""
    if application is None:
        return None
    written = _given(application)
    taken = [setting for setting in SETTINGS[str(application.kind)] if setting in written]
    return {"kind": str(application.kind)} | {
        name: value_of(written[setting])
        for setting in taken
        for name, value_of in [_in_a_run(str(application.kind), setting)]
    }


def _given(application: Application) -> dict[str, Any]:
    return application.model_dump(exclude_none=True, exclude={"kind"})


def _in_a_run(kind: str, setting: str) -> tuple[str, Callable[[object], Any]]:
    match setting:
        case "rate":
            return "rate_bit_per_s", units.rate
        case "size":
            return "chunk_bytes" if kind == "chunks" else "response_bytes", units.size
        case _:
            return setting, run_distribution
