"""Predicates over metrics: the language of the studies' conclusions and of the suites' criteria.

A quantity is a column of a metric; a predicate compares it, point by point, with a bound or with another
algorithm's.
"""

from tussle.predicates._model import Predicate, Quantity, Strict
from tussle.predicates._values import at_values, values

__all__ = ["Predicate", "Quantity", "Strict", "at_values", "values"]
