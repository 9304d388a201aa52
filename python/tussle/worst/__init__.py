"""The search for the worst case: the scenario of a space in which an algorithm does worst, or most harm."""

from tussle.worst._evaluate import Execution
from tussle.worst._objectives import OBJECTIVES, Objective, objective
from tussle.worst._problem import Problem, check_algorithm, short
from tussle.worst._result import PAGE, Result
from tussle.worst._search import Budget, Request, partial_of, search
from tussle.worst._space import Space, load_space
from tussle.worst._words import summary, value_words

__all__ = [
    "OBJECTIVES",
    "PAGE",
    "Budget",
    "Execution",
    "Objective",
    "Problem",
    "Request",
    "Result",
    "Space",
    "check_algorithm",
    "load_space",
    "objective",
    "partial_of",
    "search",
    "short",
    "summary",
    "value_words",
]
