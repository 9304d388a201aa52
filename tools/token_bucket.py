"""Write docs/papers/linux-variants/token-bucket.csv, and the tables of docs/explanation/token-bucket.md.

`python tools/token_bucket.py DIR`: builds Linux 6.1 with the token bucket and the segments of the study's
time, and runs a flow of each variant on it, in DIR. Without a folder the tables are written from the CSV.
"""

import csv
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

import marked_tables
import tussle
from marked_tables import table
from tussle.kernel.patches import Edit
from tussle.papers import Study

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "papers" / "linux-variants" / "token-bucket.csv"
PAGE = ROOT / "docs" / "explanation" / "token-bucket.md"
STUDY = Study.load("linux-variants")
TARBALL = Path("/usr/src/linux-source-6.1.tar.xz")

SCENARIO = """\
duration = "60 s"
steady.from = "10 s"
repetitions = 1
record.samples = "off"
path = {{ rate = "{rate_mbit_per_s} Mbit/s", rtt = "100 ms", queue.limit = "1000 packets" }}
hosts = {{ offloads = true, timestamps = "synchronised", initial_cwnd = 3{recovery} }}

[[flows]]
algorithm = [{variants}]
"""
"""The hosts have no random offsets of timestamps, and the first window of Linux before 2.6.39."""

WHOLE_SEGMENTS = Edit("net/core/dev.c", "if (netif_needs_gso(skb, features)) {", "if (0) {")
"""Devices do not cut segments into packets, as if each were a network card with TSO."""
DROPPED = Edit(
    "net/sched/sch_tbf.c",
    "\t\tif (skb_is_gso(skb) &&\n\t\t    skb_gso_validate_mac_len(skb, q->max_size))\n"
    "\t\t\treturn tbf_segment(skb, sch, to_free);\n",
    "",
)
"""The token bucket drops what is larger than its burst, instead of cutting it into packets."""
NO_AUTOSIZING = Edit(
    "net/ipv4/tcp_ipv4.c",
    "sysctl_tcp_min_tso_segs = 2;",
    "sysctl_tcp_min_tso_segs = 255;",
)
"""Segments are as large as the window allows, whatever the rate of the flow, as before Linux 3.12."""


def burst_of(size_bytes: int) -> Edit:
    """Return the edit that gives every token bucket a burst."""
    return Edit(
        "net/sched/sch_tbf.c", "max_size = nla_get_u32(tb[TCA_TBF_BURST]);", f"max_size = {size_bytes};"
    )


RECOVERY = {
    "today": "",
    "rfc6675": ', recovery = "rfc6675"',
    "rfc6675, no probes": ', recovery = "rfc6675", tlp = false',
}
"""Settings of the hosts by loss recovery: that of Linux 6.1, and two nearer to that of the study's time."""


@dataclass(frozen=True)
class Experiment:
    """A kernel, the rate of the link, and the loss recovery of the hosts: a row of the table."""

    burst_bytes: int
    """Burst of the token bucket, which drops larger segments; 0: they are cut into packets, as today."""
    autosizing: bool
    rate_mbit_per_s: int
    recovery: str = "today"
    """One of `RECOVERY`."""

    @property
    def edits(self) -> Iterator[Edit]:
        """The edits of Linux's source."""
        if not self.autosizing:
            yield NO_AUTOSIZING
        if self.burst_bytes:
            yield from (WHOLE_SEGMENTS, DROPPED, burst_of(self.burst_bytes))

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        sizes = "autosized" if self.autosizing else "large"
        return f"bucket-{self.burst_bytes or 'cuts'}-{sizes}"


CUTS = Experiment(burst_bytes=0, autosizing=False, rate_mbit_per_s=100)
TABLE_4_AUTOSIZED = Experiment(burst_bytes=1540, autosizing=True, rate_mbit_per_s=100)
TABLE_4 = Experiment(burst_bytes=1540, autosizing=False, rate_mbit_per_s=100)
TABLE_4_RFC6675 = replace(TABLE_4, recovery="rfc6675")
TABLE_4_NO_PROBES = replace(TABLE_4, recovery="rfc6675, no probes")
TABLE_5_AUTOSIZED = Experiment(burst_bytes=10240, autosizing=True, rate_mbit_per_s=500)
TABLE_5 = Experiment(burst_bytes=10240, autosizing=False, rate_mbit_per_s=500)
EXPERIMENTS: Sequence[Experiment] = (
    CUTS,
    TABLE_4_AUTOSIZED,
    TABLE_4,
    TABLE_4_RFC6675,
    TABLE_4_NO_PROBES,
    Experiment(burst_bytes=5120, autosizing=False, rate_mbit_per_s=500),
    TABLE_5_AUTOSIZED,
    TABLE_5,
)
PRINTED = {100: ("Table 4", "throughput_as_printed"), 500: ("Table 5", "during_mbit_per_s")}
"""Table of the study and its column, by the rate of the link."""


def run(experiment: Experiment, folder: Path) -> Iterator[dict[str, object]]:
    """Run the flows on the kernel of an experiment, unless that is done, and yield a row for each."""
    recovery = experiment.recovery.replace(", ", "-").replace(" ", "-")
    out = folder / f"{experiment.kernel}-{experiment.rate_mbit_per_s}-{recovery}"
    if not out.exists():
        _build(experiment, folder / "linux")
        scenario = folder / "bucket.toml"
        names = STUDY.published().filter(pl.col("table") == "Table 4")["flows.0.algorithm"]
        text = SCENARIO.format(
            rate_mbit_per_s=experiment.rate_mbit_per_s,
            variants=", ".join(f'"{name}"' for name in names),
            recovery=RECOVERY[experiment.recovery],
        )
        scenario.write_text(text, "utf-8")
        on_linux = ("--engine", "kernel", "--network", "qdisc", "--kernel", experiment.kernel)
        _tussle("run", scenario, *on_linux, "-o", out)
        _tussle("kernel", "remove", experiment.kernel)
    for row in tussle.open(out).flows.collect().sort("run").iter_rows(named=True):
        yield {
            "rate_mbit_per_s": experiment.rate_mbit_per_s,
            "burst_bytes": experiment.burst_bytes,
            "autosizing": experiment.autosizing,
            "recovery": experiment.recovery,
            "algorithm": row["algorithm"],
            "goodput_mbit_per_s": f"{row['goodput_bit_per_s'] / 1e6:.3f}",
        }


def _build(experiment: Experiment, tree: Path) -> None:
    """Build the kernel of an experiment from Linux's source, which is unpacked anew into `tree`."""
    if not TARBALL.exists():
        raise SystemExit(f"there is no {TARBALL}; `apt-get install linux-source-6.1` installs it")
    tree.mkdir(parents=True, exist_ok=True)
    unpack = ["tar", "xf", TARBALL, "-C", tree, "--strip-components", "1"]
    subprocess.run(unpack, check=True)  # noqa: S603
    for edit in experiment.edits:
        file = tree / edit.file
        text = file.read_text("utf-8")
        if text.count(edit.find) != edit.times:
            raise SystemExit(
                f"{edit.file} of {TARBALL} has another text than {edit.find!r}; adapt {__file__}"
            )
        file.write_text(text.replace(edit.find, edit.replace), "utf-8")
    _tussle("kernel", "build", "--source", tree, "--name", experiment.kernel)


def _tussle(*arguments: object) -> None:
    subprocess.run([Path(sys.executable).parent / "tussle", *map(str, arguments)], check=True)  # noqa: S603


def results() -> pl.DataFrame:
    """Return the stored rows, with the numbers that the study prints."""
    study = STUDY.published()
    printed = pl.concat(
        study.filter(pl.col("table") == table).select(
            rate_mbit_per_s=pl.lit(rate, pl.Int64),
            algorithm=pl.col("flows.0.algorithm"),
            printed_mbit_per_s=pl.col(column).cast(pl.Float64),
        )
        for rate, (table, column) in PRINTED.items()
    )
    return pl.read_csv(RESULTS).join(
        printed, on=["rate_mbit_per_s", "algorithm"], how="left", maintain_order="left"
    )


def of(experiment: Experiment) -> pl.DataFrame:
    """Return the stored rows of an experiment."""
    return results().filter(
        pl.col("rate_mbit_per_s") == experiment.rate_mbit_per_s,
        pl.col("burst_bytes") == experiment.burst_bytes,
        pl.col("autosizing") == experiment.autosizing,
        pl.col("recovery") == experiment.recovery,
    )


def median_ratio(experiment: Experiment) -> float:
    """Return the median of the goodputs, each divided by the printed one."""
    rows = of(experiment)
    return (rows["goodput_mbit_per_s"] / rows["printed_mbit_per_s"]).to_frame().median().item()


def overview() -> str:
    """Tabulate the goodputs of each experiment beside print."""
    lines = []
    for experiment in EXPERIMENTS:
        rows = of(experiment)
        ours, printed = (rows[f"{column}_mbit_per_s"].sort() for column in ("goodput", "printed"))
        ranks = rows.select(pl.corr("goodput_mbit_per_s", "printed_mbit_per_s", method="spearman")).item()
        lines.append(
            (
                f"{experiment.rate_mbit_per_s} Mbit/s",
                f"drops more than {experiment.burst_bytes} B" if experiment.burst_bytes else "cuts segments",
                "yes" if experiment.autosizing else "no",
                experiment.recovery,
                f"{ours.item(0):.3g} to {ours.item(-1):.3g}",
                f"{printed.item(0):.3g} to {printed.item(-1):.3g} ({PRINTED[experiment.rate_mbit_per_s][0]})",
                f"{median_ratio(experiment):.3g}",
                f"{ranks:.2f}",
            )
        )
    ours = ("link", "token bucket", "autosizing", "recovery", "goodput, Mbit/s")
    return table((*ours, "printed", "median ratio", "rank correlation"), lines)


def variants() -> str:
    """Tabulate the two experiments that are nearest to print, by variant."""
    nearest = [
        each.select("algorithm", "goodput_mbit_per_s", "printed_mbit_per_s").rows()
        for each in (of(TABLE_4), of(TABLE_5))
    ]
    lines = [
        (name, f"{printed:.3f}", f"{ours:.3f}", f"{printed_5:.2f}", f"{ours_5:.2f}")
        for (name, ours, printed), (_, ours_5, printed_5) in zip(*nearest, strict=True)
    ]
    return table(("variant", "Table 4", "burst of 1540 B", "Table 5, during", "burst of 10 240 B"), lines)


def filled(text: str) -> str:
    """Return the page with the tables between its marks replaced."""
    return marked_tables.filled(text, {"overview": overview, "variants": variants})


def main() -> None:
    """Run the experiments if a folder is given, and write the page."""
    if len(sys.argv) > 1:
        rows = [row for experiment in EXPERIMENTS for row in run(experiment, Path(sys.argv[1]))]
        with RESULTS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
