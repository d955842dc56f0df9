"""Which labels to ask for: the query rules.

``"all"`` asks always; ``"margin"`` with probability ``delta / (delta + |p|)``, so most often where the score ``p`` is
close to 0 (Lu, Zhao and Hoi, 2014, Algorithm 1; their analysis wants ``delta >= 1``); ``"random"`` with a fixed rate;
``"threshold"`` exactly where ``|p| <= delta``.

Inside ``fit`` the compiled pass asks, and learns from no other label (``early_stopping`` reads those of the rows it
holds out). Each pass asks anew, and a label asked for again counts again, so that one pass is the rule. Where a person
or a service labels,
``should_query(X)`` says which rows to ask for and ``partial_fit(X, y, asked=True)`` takes the answers.
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numba import njit
from sklearn.utils._param_validation import Interval, StrOptions

from pa_lab.compiled import COMPILED, INLINED

QUERIES = ("all", "margin", "random", "threshold")
ALL, MARGIN, RANDOM, THRESHOLD = range(4)
# A learner's counters. Rows that count in the mean of the weights are counted apart from those seen.
N_SEEN, N_UPDATES, N_MISTAKES, N_QUERIES, N_UNANSWERED, N_AVERAGED = range(6)
N_COUNTERS = 6
NO_LIMIT = np.iinfo(np.int64).max
NO_DRAWS = np.empty(0)


class Asking(NamedTuple):
    """A query rule as the compiled passes take it: ``draws`` holds a uniform number for each example of the pass."""

    query: int
    draws: np.ndarray
    delta: float
    rate: float
    budget: int


ASK_ALL = Asking(ALL, NO_DRAWS, 1.0, 0.0, NO_LIMIT)


class Number(Interval):
    """A range of numbers, as scikit-learn's `Interval`: fractions too, but not True and not what is no double.

    >>> from fractions import Fraction
    >>> [Number(Real, 0, None, closed="neither").is_satisfied_by(C) for C in (Fraction(1, 2), 2, True, 10**400)]
    [True, True, False, False]
    """

    def is_satisfied_by(self, val):
        """Say whether a parameter has a type and value in the range."""
        if isinstance(val, bool) or not isinstance(val, self.type):
            return False
        try:
            return val in self if self.type is Integral else float(val) in self
        except OverflowError:
            return False


class _Delta(Number):
    """The range of delta, with what an error message should add."""

    def __str__(self):
        return f"{super().__str__()}, and at least 1 for the mistake bounds of Lu, Zhao and Hoi (2014) to hold"


QUERY_CONSTRAINTS = {
    "query": [StrOptions(set(QUERIES))],
    "delta": [_Delta(Real, 0, None, closed="neither")],
    "query_rate": [Number(Real, 0, 1, closed="both"), None],
    "label_budget": [Number(Integral, 0, None, closed="left"), None],
}


@njit(**INLINED)
def query_probability(query, p, delta, rate):
    """Probability that the label of an example with score ``p`` is asked for.

    >>> query_probability(MARGIN, -3.0, 1.0, 0.0)
    0.25
    """
    if query == MARGIN:
        return delta / (delta + abs(p))
    if query == RANDOM:
        return rate
    if query == THRESHOLD:
        return 1.0 if abs(p) <= delta else 0.0
    return 1.0


@njit(**COMPILED, forceinline=True)
def is_asked(query, draws, delta, rate, budget, counts, t, p):
    """Whether the label of the example ``t`` of a pass, with score ``p``, is asked for: the fields of `Asking` say.

    They come one by one, as a tuple of them doubles the time of a pass.
    """
    if counts[N_QUERIES] >= budget:
        return False
    return query == ALL or draws[t] < query_probability(query, p, delta, rate)
