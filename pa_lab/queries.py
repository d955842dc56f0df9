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

from pa_lab.compiled import INLINED
from pa_lab.undo import all_or_nothing

QUERIES = ("all", "margin", "random", "threshold")
ALL, MARGIN, RANDOM, THRESHOLD = range(4)
N_SEEN, N_UPDATES, N_MISTAKES, N_QUERIES, N_UNANSWERED = range(5)  # a learner's counters
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


class QueryMixin:
    """`should_query` for a classifier with the parameters of `QUERY_CONSTRAINTS`.

    The class has counters ``_counts``, set by ``_begin_counts()``, and random streams ``_rng(use)``. It gives
    ``_rows(X, reset)``, the rows checked, and ``_query_scores(X)``, the scores the query rules look at: 0 before the
    first label.
    """

    def _validate_params(self):
        super()._validate_params()
        if self.query == "random" and self.query_rate is None:
            raise ValueError("query='random' needs query_rate, the share of the labels to ask for; got None.")

    def _asking(self):
        """The query rule, without draws."""
        budget = NO_LIMIT if self.label_budget is None else min(self.label_budget, NO_LIMIT)
        return Asking(QUERIES.index(self.query), NO_DRAWS, float(self.delta), float(self.query_rate or 0.0), budget)

    @all_or_nothing
    def should_query(self, X):
        """Say which of the next rows of the stream to ask the label of; their labels then go to ``partial_fit``.

        The rows count as seen and the chosen ones as asked for, and the random draws move on, so that a row at a time
        through ``should_query`` and, if asked, ``partial_fit(x, y, asked=True)`` gives the weights, counters and
        averages of one ``fit``. Rows passed together are judged by the same weights. Works before the first label
        too, when every score is 0.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The next examples.

        Returns
        -------
        ndarray of bool of shape (n_samples,)

        Raises
        ------
        ValueError
            On NaN, infinity, another number of features than before, or parameters out of range.

        Examples
        --------
        >>> from pa_lab import PAClassifier
        >>> model = PAClassifier(query="margin", label_budget=1)
        >>> model.should_query([[1.0], [2.0]]).tolist()
        [True, False]
        >>> model.partial_fit([[1.0]], ["on"], classes=["off", "on"], asked=True).predict([[3.0]]).tolist()
        ['on']
        """
        self._validate_params()
        fresh = not hasattr(self, "_counts")
        X = self._rows(X, reset=fresh, ensure_all_finite=True)
        if fresh:
            self._begin_counts()
        rule = self._asking()
        draws = np.zeros(X.shape[0]) if rule.query == ALL else self._rng("query").random(X.shape[0])
        p = self._query_scores(X)
        asked = np.array([
            u < query_probability(rule.query, v, rule.delta, rule.rate) for u, v in zip(draws, p, strict=True)
        ])  # fmt: skip
        asked &= np.cumsum(asked) <= rule.budget - self._counts[N_QUERIES]
        counts = self._counts.copy()
        counts[N_SEEN] += len(asked)
        counts[[N_QUERIES, N_UNANSWERED]] += asked.sum()
        self._counts = counts
        return asked
