"""Neighbours of PA: other linear learners that read a stream once and keep one weight per feature.

- perceptron (Rosenblatt, 1958; averaged: Freund and Schapire, 1999): add ``y x`` after a mistake.
- AROW (Crammer, Kulesza and Dredze, 2009), diagonal: PA-II with a shrinking variance for each weight.
- AdaGrad (Duchi, Hazan and Singer, 2011), hinge or logistic loss: gradient steps, the shorter for a weight the more
  its gradients add up to.

scikit-learn's ``SGDClassifier`` has the perceptron too, and the tests compare with it. It is not used here because it
makes the intercept's steps a hundred times shorter on sparse rows, so that its dense and its sparse model differ.
"""

from math import exp, sqrt

import numpy as np
import scipy.sparse as sp
from numba import njit
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_X_y, validate_data

from pa_lab import PAClassifier

RULES = ("perceptron", "AROW", "AdaGrad hinge", "AdaGrad logistic")
PERCEPTRON, AROW, HINGE, LOGISTIC = range(4)
POWERS = tuple(range(-14, 3, 2))


def tuning_grid(rule):
    """Return the values to try for the ``C`` of a rule, here or in `PAClassifier`: for all the same nine.

    They are the powers of 4 from 2^-14 to 2^2. The perceptron and PA have no C, so the list has one entry. The name
    may say more after the rule.

    >>> len(tuning_grid("AROW")), tuning_grid("PA averaged")
    (9, [1.0])
    """
    return [1.0] if rule.split()[0] in ("perceptron", "PA") else [2.0**power for power in POWERS]


def online(rule, **settings):
    """Return an unfitted learner of one of ``RULES``, or of a rule of `PAClassifier`.

    >>> online("PA-I", average=True), online("AROW", C=0.5)
    (PAClassifier(average=True), OnlineClassifier(C=0.5, rule='AROW'))
    """
    return OnlineClassifier(rule, **settings) if rule in RULES else PAClassifier(rule, **settings)


def liblinear(loss, tol):
    """Return the unfitted classifier of LIBLINEAR with a loss: "hinge", "squared hinge" or "logistic".

    >>> liblinear("logistic", tol=0.01)
    LogisticRegression(solver='liblinear', tol=0.01)
    """
    if loss == "logistic":
        return LogisticRegression(solver="liblinear", tol=tol)
    return LinearSVC(loss=loss.replace(" ", "_"), tol=tol, max_iter=100_000, random_state=0)


def with_balanced(methods, starts):
    """Return a dict of estimators, with copies in which both classes have the same total weight.

    Parameters
    ----------
    methods : dict of str to estimator
    starts : sequence of str
        Names that begin with one of these get such a copy.

    Examples
    --------
    >>> list(with_balanced({"PA": PAClassifier("PA"), "PA-I": PAClassifier()}, ["PA-"]))
    ['PA', 'PA-I', 'PA-I, balanced']
    """
    names = [name for start in starts for name in methods if name.startswith(start)]
    balanced = {f"{name}, balanced": clone(methods[name]).set_params(class_weight="balanced") for name in names}
    return methods | balanced


class OnlineClassifier(LinearClassifierMixin, BaseEstimator):
    """A linear classifier for two classes that reads each row once, in the order given.

    Parameters
    ----------
    rule : {"perceptron", "AROW", "AdaGrad hinge", "AdaGrad logistic"}
    C : float > 0, default=1.0
        How far one row may move the weights. AROW: its ``r`` is ``1 / (2 C)``, so that its first step is that of
        PA-II. AdaGrad: the learning rate. The perceptron has no use for it: from zero weights, longer steps only
        stretch the scores.
    fit_intercept : bool, default=True
        Learn the weight of a constant 1 too.
    average : bool, default=False
        Predict with the mean of the weights after each row instead of the last ones.

    Attributes
    ----------
    coef_, intercept_, classes_
        Learned.
    n_seen_, n_updates_, n_mistakes_, n_queries_ : int
        Counted by every call, as `PAClassifier` does: ``n_mistakes_`` before the update (a score of 0 counts as the
        first class); ``n_queries_`` is ``n_seen_``.

    Examples
    --------
    >>> OnlineClassifier("perceptron", fit_intercept=False).fit([[2.0], [1.0]], [1, -1]).coef_.tolist()
    [[1.0]]
    """

    def __init__(self, rule="perceptron", C=1.0, fit_intercept=True, average=False):
        self.rule = rule
        self.C = C
        self.fit_intercept = fit_intercept
        self.average = average

    def fit(self, X, y):
        """Learn from zero weights in one pass over rows ``X``, dense or sparse, with two labels; returns self."""
        return self._learn(X, y, np.unique(y), starts=True)

    def partial_fit(self, X, y, classes=None):
        """Learn on from the next rows; the first call needs both ``classes`` unless ``y`` holds them. Returns self."""
        starts = not hasattr(self, "coef_")
        classes = np.unique(y if classes is None else classes) if starts else self.classes_
        return self._learn(X, y, classes, starts)

    def _learn(self, X, y, classes, starts):
        if self.rule not in RULES or not self.C > 0 or len(classes) != 2:
            raise ValueError(f"rule must be one of {RULES}, C be > 0 and the labels be two; "
                             f"got {self.rule!r}, {self.C!r} and {classes!r}.")  # fmt: skip
        X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
        if not np.isin(y, classes).all():
            raise ValueError(f"y must hold the labels {classes.tolist()}; got {np.unique(y).tolist()}.")
        validate_data(self, X, accept_sparse="csr", reset=starts, skip_check_array=True)
        if starts:
            self.classes_ = classes
            self._weights, self._drift = np.zeros((2, X.shape[1] + 1))
            self._memory = np.full(X.shape[1] + 1, float(self.rule == "AROW"))
            self._counts = np.zeros(3, dtype=np.int64)
        state = self._weights, self._drift, self._memory, self._counts
        _learn(RULES.index(self.rule), float(self.C), *_rows(X, self.fit_intercept), _signs(y, classes), *state)
        self.n_seen_, self.n_updates_, self.n_mistakes_ = self._counts.tolist()
        self.n_queries_ = self.n_seen_
        shown = self._weights - self._drift / self.n_seen_ if self.average else self._weights
        self.coef_, self.intercept_ = shown[None, :-1].copy(), shown[-1:].copy()
        return self


def _signs(y, classes):
    return np.where(y == classes[1], 1.0, -1.0)


def _rows(X, fit_intercept):
    """Return the rows as CSR arrays, with the constant feature of the intercept as last column.

    >>> _rows(np.array([[2.0, 0.0]]), True)[0].tolist()
    [2.0, 0.0, 1.0]
    """
    n, d = X.shape
    if sp.issparse(X):
        X = sp.hstack([X, np.full((n, 1), float(fit_intercept))], format="csr")
        return X.data, X.indices, X.indptr
    data = np.column_stack([X, np.full(n, float(fit_intercept))]).ravel()
    return data, np.tile(np.arange(d + 1, dtype=np.int32), n), np.arange(0, len(data) + 1, d + 1)


@njit(cache=True, error_model="numpy")
def _learn(rule, C, data, indices, indptr, y, w, drift, memory, counts):
    """One pass, in place. ``drift`` is the sum of ``(t - 1)(w_{t+1} - w_t)``; the mean weights are ``w - drift / t``.

    ``memory`` holds a number per weight: its variance in AROW, the sum of its squared gradients in AdaGrad.
    """
    for i in range(len(y)):
        x, at = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        p, variance = 0.0, 0.0
        for j in range(len(x)):
            p += x[j] * w[at[j]]
            variance += x[j] * x[j] * memory[at[j]]
        counts[0] += 1
        counts[2] += (p > 0.0) != (y[i] > 0.0)
        margin = y[i] * p
        if (rule == PERCEPTRON and margin > 0.0) or (rule in (AROW, HINGE) and margin >= 1.0):
            continue
        counts[1] += 1
        beta = 1.0 / (variance + 0.5 / C)
        slope = 1.0 / (1.0 + exp(margin)) if rule == LOGISTIC else 1.0
        for j in range(len(x)):
            k, change = at[j], slope * x[j]
            if rule == AROW:
                change = (1.0 - margin) * beta * memory[k] * x[j]
                memory[k] -= beta * (memory[k] * x[j]) ** 2
            elif rule != PERCEPTRON and change != 0.0:
                memory[k] += change * change
                change *= C / sqrt(memory[k])
            w[k] += y[i] * change
            drift[k] += (counts[0] - 1) * y[i] * change
