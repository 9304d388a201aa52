"""Agreement: one engine held against another, over cells drawn from the whole space.

The cells are scenarios like any other (`scenarios`), executed by both engines with the same seeds. `compare`
finds how far their results are from each other, `write` lays that out as pages.
"""

from tussle.agreement._bounds import BOUNDED, BOUNDS, Bound, Verdict
from tussle.agreement._cells import GRIDS, REPETITIONS, Grid, scenarios
from tussle.agreement._compare import Agreement, Pair, compare
from tussle.agreement._pages import About, write
from tussle.agreement._quantities import QUANTITIES, Quantity
from tussle.agreement._words import amount, number, signed

__all__ = [
    "BOUNDED",
    "BOUNDS",
    "GRIDS",
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
    "number",
    "scenarios",
    "signed",
    "write",
]
