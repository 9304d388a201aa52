"""Agreement: one engine compared with another, over cells sampled from the whole space.

The cells are ordinary scenarios (`scenarios`), executed by both engines with the same seeds. `compare`
computes the differences of their results, and `write` shows them in HTML pages.
"""

from tussle.agreement._bounds import BOUNDED, BOUNDS, Bound, Verdict
from tussle.agreement._cells import GRIDS, HOSTS, REPETITIONS, Grid, scenarios
from tussle.agreement._charts import distribution
from tussle.agreement._compare import Agreement, Pair, compare
from tussle.agreement._pages import About, save_differences, write
from tussle.agreement._quantities import QUANTITIES, Quantity
from tussle.agreement._words import amount, number, signed

__all__ = [
    "BOUNDED",
    "BOUNDS",
    "GRIDS",
    "HOSTS",
    "QUANTITIES",
    "REPETITIONS",
    "About",
    "Agreement",
    "Bound",
    "Grid",
    "Pair",
    "Quantity",
    "Verdict",
    "amount",
    "compare",
    "distribution",
    "number",
    "save_differences",
    "scenarios",
    "signed",
    "write",
]
