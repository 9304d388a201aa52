"""The packets of a run of a dataset: datasets do not contain packets, so that the run is simulated again.

A table of packets would be a thousand times as large as the others, and is needed for few runs. The simulator
repeats a run to the byte; this module compares the results with those of the dataset.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from tussle.dataset import Dataset
from tussle.errors import TussleError, unknown
from tussle.own_algorithms import files_sha256, is_own

if TYPE_CHECKING:
    from tussle.exports import QueueLog, RunPackets

_SIDES = ("sender", "receiver")


@dataclass(frozen=True)
class Repetition:
    """The run of a dataset that is simulated again."""

    dataset: Dataset
    number: int
    """Number of the run in the dataset."""
    executes_files: bool = False
    """Whether Python files of the run's algorithms may be executed: a dataset may come from a stranger."""

    @property
    def title(self) -> str:
        """The question of the scenario, and the number of the run."""
        return f"{self.dataset.scenario.question or 'a scenario'} Run {self.number}"

    @property
    def tool(self) -> str:
        """The program that produced the run, with its version."""
        return f"Tussle {self.dataset.provenance['tussle']}"

    def planned(self) -> Mapping[str, Any]:
        """Return the run; raises TussleError when there is none, or it may not or cannot be simulated."""
        from tussle.engines.sim import ENGINE

        folder, engine = self.dataset.folder, self.dataset.provenance["engine"]["name"]
        if engine != ENGINE.name:
            raise TussleError(
                f"{folder} comes from the engine {engine}, and only the simulator captures packets; run its "
                f"scenario with --engine {ENGINE.name}"
            )
        planned = self.dataset.scenario.runs()
        if self.number >= len(planned):
            raise TussleError(
                f"{folder} has no run {self.number}; its runs are 0 to {len(planned) - 1} (--run)"
            )
        self._refuse_files(planned[self.number].run)
        return planned[self.number].run

    def tables(self, simulate: Callable[[], dict[str, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
        """Simulate; raises TussleError when that fails, or does not come out as in the dataset."""
        try:
            tables = simulate()
        except TussleError as error:
            raise TussleError(
                f"run {self.number}: {error}; export another run, or one of a shorter scenario"
            ) from error
        self._check_same(tables["flows"])
        return tables

    def _refuse_files(self, run: Mapping[str, Any]) -> None:
        """Raise TussleError unless the Python files of the algorithms may be executed, and are the same."""
        own = [flow["algorithm"] for flow in run["flows"] if is_own(flow["algorithm"])]
        if own and not self.executes_files:
            raise TussleError(
                f"the run has the algorithm {own[0]}, a Python file that would be executed; read it, and add "
                "--execute-algorithms if you trust it"
            )
        recorded = set(self.dataset.provenance.get("own_algorithms_sha256", {}).values())
        for file, digest in files_sha256(own).items():
            if digest not in recorded:
                raise TussleError(
                    f"{file} is not the file that the dataset was made with; run the scenario again"
                )

    def _check_same(self, again: pl.DataFrame) -> None:
        baseline = self.dataset.baseline
        flows = [self.dataset.flows] if baseline is None else [self.dataset.flows, baseline.flows]
        before = pl.concat(flows).filter(pl.col("run") == self.number).select(again.columns).collect()
        if not before.equals(again.cast(dict(before.schema.items()))):
            raise TussleError(
                f"run {self.number} of {self.dataset.folder} has other results with this version of Tussle; "
                "run the scenario again"
            )


def run_packets(repetition: Repetition, side: str) -> "RunPackets":
    """Simulate a run of a dataset again, and return the packets at the hosts of one side.

    Raises TussleError when there is no such run or side, the run was not simulated, has too many packets,
    has algorithms in Python files that may not be executed, or does not come out as in the dataset.
    """
    from tussle.engines.sim import ENGINE
    from tussle.exports import RunPackets, header_bytes

    if side not in _SIDES:
        raise TussleError(f"--at: {unknown('side', side, _SIDES)}")
    run = repetition.planned()
    tables = repetition.tables(lambda: ENGINE.capture(run))
    return RunPackets(
        title=repetition.title,
        tool=repetition.tool,
        side=side,
        segments_bytes=[flow["mss_bytes"] for flow in run["flows"]],
        headers_bytes=[header_bytes(run, flow) for flow in run["flows"]],
        table=tables["packets"],
    )


def run_queue_log(repetition: Repetition, link: str) -> "QueueLog":
    """Simulate a run of a dataset again, and return the packets at the queue of a link.

    Raises TussleError when there is no such link, and where `run_packets` does.
    """
    from tussle.engines.sim import ENGINE
    from tussle.exports import QueueLog

    run = repetition.planned()
    links = {element["name"]: element for element in run["elements"] if "queue" in element}
    if link not in links:
        raise TussleError(f"--link: {unknown('link', link, links)}")
    tables = repetition.tables(lambda: ENGINE.log_queue(run, link))
    return QueueLog(
        title=repetition.title,
        tool=repetition.tool,
        link=links[link],
        duration_ns=run["duration_ns"],
        table=tables["queue"],
    )
