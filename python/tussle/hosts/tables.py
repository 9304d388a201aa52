"""Conversion of the machines' results to the tables of a dataset."""

import io
from collections.abc import Mapping
from typing import Any

import polars as pl

from tussle.dataset import ENGINE_TABLES, OPTIONAL_TABLES, flows_frame
from tussle.hosts.fleet import Outcome

_NS = 1e9
_SCHEMAS = {
    name: {column: dtype for column, dtype in table.schema().items() if column != "run"}
    for name, table in (ENGINE_TABLES | OPTIONAL_TABLES).items()
}
_COUNTED = ("sent_packets", "retransmitted_packets", "timeouts")
"""Counters that a sender reports for the steady interval, too."""


def tables_of(run: Mapping[str, Any], outcome: Outcome) -> dict[str, pl.DataFrame]:
    """Return the tables of a run over real machines; the table of links is empty."""
    flows = range(len(run["flows"]))
    steady_ns = run["steady"]["to_ns"] - run["steady"]["from_ns"]
    return {
        "flows": flows_frame((_flow_row(run, outcome, flow) for flow in flows), steady_ns),
        "samples": _samples(outcome),
        "links": _frame("links", []),
        "events": _events(run, outcome),
        "validity": _frame("validity", [_validity_row(run, outcome, flow) for flow in flows]),
    }


def _frame(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=_SCHEMAS[name])


def _flow_row(run: Mapping[str, Any], outcome: Outcome, flow: int) -> dict[str, Any]:
    spec, sent, received = run["flows"][flow], outcome.sent.get(flow), outcome.received.get(flow)
    steady = run["steady"]["from_ns"], run["steady"]["to_ns"]
    delivered = _delivered(run, sent, received)
    row: dict[str, Any] = {
        "name": spec["name"],
        "algorithm": spec["algorithm"],
        "path": spec["forward"],
        "start_ns": spec["start_ns"],
        "stop_ns": spec.get("stop_ns"),
        "delivered_bytes": delivered[run["duration_ns"]],
        "counts": {},
        "steady": {"delivered_bytes": delivered[steady[1]] - delivered[steady[0]]},
    }
    if received and received["completed_ns"] is not None:
        row["completion_ns"] = received["completed_ns"] - spec["start_ns"]
    if sent:
        first, last, end = sent["from"], sent["to"], sent["end"]
        row |= {"algorithm": sent["validity"]["algorithm"], "rtt": sent["rtt"]}
        row["counts"] |= {key: end[key] for key in (*_COUNTED, "recoveries")}
        row["steady"] |= {key: last[key] - first[key] for key in _COUNTED}
        if received and sent["drained_packets"] is not None:
            row["counts"]["dropped_packets"] = max(0, sent["drained_packets"] - received["packets"])
    return row


def _delivered(
    run: Mapping[str, Any], sent: Mapping[str, Any] | None, received: Mapping[str, Any] | None
) -> dict[int, int]:
    """Return the bytes delivered until the start and end of the steady interval and of the run.

    The receiver's counters are used, else the acknowledged bytes.
    """
    edges = {"from": run["steady"]["from_ns"], "to": run["steady"]["to_ns"], "end": run["duration_ns"]}
    if received:
        counted = dict(received["delivered_bytes"])
        return {at_ns: counted[at_ns] for at_ns in edges.values()}
    if sent:
        return {at_ns: sent[edge]["acked_bytes"] for edge, at_ns in edges.items()}
    return dict.fromkeys(edges.values(), 0)


def _samples(outcome: Outcome) -> pl.DataFrame:
    streams = [pl.read_ipc_stream(io.BytesIO(arrow)) for arrow in outcome.samples]
    if not streams:
        return _frame("samples", [])
    # Each stream has its own encoding of states.
    samples = pl.concat([frame.with_columns(pl.col("state").cast(pl.String)) for frame in streams])
    arrived = pl.DataFrame(
        [
            (flow, at_ns / _NS, count)
            for flow, received in outcome.received.items()
            for at_ns, count in received["delivered_bytes"]
        ],
        schema={"flow": pl.UInt32, "time_s": pl.Float64, "arrived": pl.UInt64},
        orient="row",
    )
    joined = samples.join(arrived, on=["flow", "time_s"], how="left", maintain_order="left")
    delivered = pl.coalesce("arrived", "delivered_bytes").alias("delivered_bytes")
    return joined.with_columns(delivered).drop("arrived").sort("time_s", "flow", maintain_order=True)


def _events(run: Mapping[str, Any], outcome: Outcome) -> pl.DataFrame:
    if not run["record"]["events"]:
        return _frame("events", [])
    rows = []
    for flow, spec in enumerate(run["flows"]):
        sent, received = outcome.sent.get(flow, {}), outcome.received.get(flow, {})
        times = [("start", spec["start_ns"]), ("complete", received.get("completed_ns"))]
        times += [("request", at_ns) for at_ns in sent.get("messages_ns", [])]
        times += [("response", at_ns) for at_ns in received.get("messages_ns", [])]
        rows += [
            {"time_s": at_ns / _NS, "kind": kind, "flow": flow}
            for kind, at_ns in times
            if at_ns is not None and at_ns <= run["duration_ns"]
        ]
    own = [
        pl.read_ipc_stream(io.BytesIO(arrow)).cast(_SCHEMAS["events"])  # pyright: ignore[reportArgumentType] (a schema is a mapping)
        for arrow in outcome.events
    ]
    return pl.concat([_frame("events", rows), *own]).sort("time_s", maintain_order=True)


def _validity_row(run: Mapping[str, Any], outcome: Outcome, flow: int) -> dict[str, Any]:
    host, sent, received = outcome.senders[flow], outcome.sent.get(flow), outcome.received.get(flow)
    ahead_s, error_s = outcome.offsets_s.get(host.name, (None, None))
    shortfalls = [
        outcome.lost.get(host.name),
        sent["problem"] if sent else None,
        sent["shortfall"] if sent else None,
        received["problem"]
        if received
        else "the receiver is lost: delivered bytes are the acknowledged ones",
        outcome.receiver_shortfall,
    ]
    shortfall = next((each for each in shortfalls if each), None)
    row = {
        "flow": flow,
        "host": host.name,
        "kernel": outcome.hello.get(host.name, {}).get("kernel"),
        "receiver_host": outcome.receiver.name,
        "receiver_kernel": outcome.hello.get(outcome.receiver.name, {}).get("kernel"),
        "algorithm": run["flows"][flow]["algorithm"],
        "clock_offset_s": ahead_s,
        "clock_offset_error_s": error_s,
        "kept_up": shortfall is None,
        "shortfall": shortfall,
    }
    if sent:
        validity = sent["validity"]
        row |= {key: validity[key] for key in validity if key in _SCHEMAS["validity"] and key != "host"}
        row |= validity["load"]
    return row
