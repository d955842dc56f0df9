"""Which labels to ask for: the query rules.

``"all"`` asks always; ``"margin"`` with probability ``delta / (delta + |p|)``, so most where the score ``p`` is least
sure (Lu, Zhao and Hoi, 2014, Algorithm 1; their analysis wants ``delta >= 1``); ``"random"`` with a fixed rate;
``"threshold"`` exactly where ``|p| <= delta``.

Inside ``fit`` the compiled loop asks, and reads no other label. Where a person or a service labels,
``should_query(X)`` says which rows to ask for and ``partial_fit(X, y, asked=True)`` takes the answers.
"""

from numbers import Integral, Real

import numpy as np
from numba import njit
from sklearn.utils._param_validation import Interval, StrOptions

from pa_lab.undo import all_or_nothing

QUERIES = ("all", "margin", "random", "threshold")
ALL, MARGIN, RANDOM, THRESHOLD = range(4)
SEEN, UPDATES, MISTAKES, QUERIED, UNANSWERED = range(5)  # a learner's counters
NO_BUDGET = np.iinfo(np.int64).max
NO_DRAWS = np.empty(0)


class _Delta(Interval):
    """The range of delta, with what an error message should add."""

    def __str__(self):
        return f"{super().__str__()}, and at least 1 for the mistake bounds of Lu, Zhao and Hoi (2014) to hold"


QUERY_CONSTRAINTS = {
    "query": [StrOptions(set(QUERIES))],
    "delta": [_Delta(Real, 0, None, closed="neither")],
    "query_rate": [Interval(Real, 0, 1, closed="both"), None],
    "label_budget": [Interval(Integral, 0, None, closed="left"), None],
}


@njit(cache=True, forceinline=True, error_model="numpy")
def query_probability(query, p, delta, query_rate):
    """Probability that the label of an example with score ``p`` is asked for.

    >>> query_probability(MARGIN, -3.0, 1.0, 0.0)
    0.25
    """
    if query == MARGIN:
        return delta / (delta + abs(p))
    if query == RANDOM:
        return query_rate
    if query == THRESHOLD:
        return 1.0 if abs(p) <= delta else 0.0
    return 1.0


class Asks:
    """`should_query` for a classifier with the parameters of `QUERY_CONSTRAINTS`.

    The class has ``_counts`` and ``_query_rng``, set by its ``_begin_counts()`` and shown by ``_publish()``, and gives
    ``_rows(X, reset)``, the rows checked, and ``_scores(X)``, the score the query rules look at: 0 before the first
    label.
    """

    def _validate_params(self):
        super()._validate_params()
        if self.query == "random" and self.query_rate is None:
            raise ValueError("query='random' needs query_rate, the share of the labels to ask for; got None.")

    def _query_settings(self):
        """``query``, ``delta``, ``query_rate`` and ``label_budget`` as the compiled loops take them."""
        budget = NO_BUDGET if self.label_budget is None else min(self.label_budget, NO_BUDGET)
        return QUERIES.index(self.query), float(self.delta), float(self.query_rate or 0.0), budget

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
        query, delta, query_rate, budget = self._query_settings()
        draws = np.zeros(X.shape[0]) if query == ALL else self._query_rng.random(X.shape[0])
        p = self._scores(X)
        asked = np.array([u < query_probability(query, v, delta, query_rate) for u, v in zip(draws, p, strict=True)])
        asked &= np.cumsum(asked) <= budget - self._counts[QUERIED]
        counts = self._counts.copy()
        counts[SEEN] += len(asked)
        counts[[QUERIED, UNANSWERED]] += asked.sum()
        self._counts = counts
        self._publish()
        return asked

    def _take_answers(self, n_rows, counts):
        """Take rows already counted by `should_query` out of ``counts``: the loop will count them."""
        if n_rows > counts[UNANSWERED]:
            raise ValueError(f"y holds {n_rows} labels with asked=True, but only {counts[UNANSWERED]} of those that "
                             "should_query asked for are still without an answer.")  # fmt: skip
        counts[[SEEN, QUERIED, UNANSWERED]] -= n_rows
