"""Neighbours of PA: other linear learners that read a stream once and keep one weight per feature.

``online("SCW-I", C=0.5, covariance="full")`` gives one of them; the names are ``RULES``. `choices` lists what to try
when one is tuned.

First order, which move along the row: perceptron (Rosenblatt, 1958; averaged: Freund and Schapire, 1999); ROMMA and
its aggressive version aROMMA (Li and Long, 2002); ALMA (Gentile, 2001); OGD, gradient steps on the hinge loss
(Zinkevich, 2003); AdaGrad with the hinge or the logistic loss (Duchi, Hazan and Singer, 2011), whose steps are the
shorter for a weight the more its gradients add up to.

Second order, which also keep a covariance of the weights, small where many rows have been: SOP (Cesa-Bianchi, Conconi
and Gentile, 2005), IELLIP (Yang, Jin and Ye, 2009), CW (Crammer, Dredze and Pereira, 2008), AROW (Crammer, Kulesza and
Dredze, 2009), NHERD (Crammer and Lee, 2010), NAROW (Orabona and Crammer, 2010), SCW-I and SCW-II (Wang, Zhao and Hoi,
2012).

scikit-learn's ``SGDClassifier`` has the perceptron too, and the tests compare with it. It is not used here because it
makes the intercept's steps a hundred times shorter on sparse rows, so that its dense and its sparse model differ.
"""

from math import exp, sqrt

import numpy as np
import scipy.sparse as sp
from numba import njit
from scipy.special import ndtri
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_X_y, validate_data

from pa_lab import PAClassifier, compiled
from pa_lab.rules import VARIANTS

FIRST_ORDER = ("perceptron", "ROMMA", "aROMMA", "ALMA", "OGD", "AdaGrad hinge", "AdaGrad logistic")
SECOND_ORDER = ("SOP", "IELLIP", "CW", "NHERD", "AROW", "NAROW", "SCW-I", "SCW-II")
RULES = FIRST_ORDER + SECOND_ORDER
PERCEPTRON, ROMMA, AROMMA, ALMA, OGD, HINGE, LOGISTIC, SOP, IELLIP, CW, NHERD, AROW, NAROW, SCW1, SCW2 = range(15)
WITHOUT_C = ("PA", "perceptron", "ROMMA", "aROMMA", "SOP", "IELLIP", "CW")
DEFAULTS = {"ALMA": {"C": sqrt(2.0), "eta": 0.9}, "IELLIP": {"eta": 0.3}, "CW": {"eta": 0.7}, "SCW-II": {"eta": 0.9}}
POWERS = tuple(range(-14, 3, 2))
PASSIVE = 1.0, 0.0, 0.0
COMPILED = compiled.COMPILED | {"_nrt": True}  # functions here make arrays
INNER = compiled.INNER | {"_nrt": True}


def choices(rule, powers=POWERS):
    """Return the settings to try when a rule is tuned, here or in `PAClassifier`: for all the same values of ``C``.

    They are nine powers of 4, from 2^-14 to 2^2, or your powers of 2, and for each some values of ``eta`` where the
    rule has one: three for SCW, ALMA and IELLIP, nine for CW. A rule without parameters has one setting. The name may
    say more after the rule.

    >>> len(choices("AROW")), len(choices("SCW-I averaged")), choices("CW")[0], choices("perceptron")
    (9, 27, {'eta': 0.55}, [{}])
    """
    name = rule.split()[0]
    some, many = (0.55, 0.75, 0.95), tuple(0.55 + 0.05 * i for i in range(9))
    etas = {"CW": many, "SCW-I": some, "SCW-II": some, "ALMA": (0.5, 0.75, 0.9), "IELLIP": (0.1, 0.3, 0.9)}
    caps = [{"C": 2.0**power} for power in powers] if name not in WITHOUT_C else [{}]
    return [setting | {"eta": round(eta, 2)} for setting in caps for eta in etas[name]] if name in etas else caps


def online(rule, **settings):
    """Return an unfitted learner of one of ``RULES``, or of a rule of `PAClassifier`, with its usual settings or yours.

    >>> online("PA-I", average=True), online("AROW", C=0.5), online("CW")
    (PAClassifier(average=True), OnlineClassifier(C=0.5, rule='AROW'), OnlineClassifier(eta=0.7, rule='CW'))
    """
    if rule in VARIANTS:
        return PAClassifier(rule, **settings)
    if rule not in RULES:
        raise ValueError(f"there is no rule {rule!r}; choose one of {', '.join(VARIANTS + RULES)}.")
    return OnlineClassifier(rule, **DEFAULTS.get(rule, {}) | settings)


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
    rule : one of ``RULES``, default="perceptron"
    C : float > 0, default=1.0
        How far one row may move the weights. AROW: its ``r`` is ``1 / (2 C)``, so that its first step is that of
        PA-II. NHERD, SCW-I, SCW-II, ALMA: the paper's C. AdaGrad, OGD: the learning rate. NAROW: its ``b``. The rules
        in ``WITHOUT_C`` have no use for it.
    eta : float, default=0.75
        CW, SCW-I, SCW-II: the probability, between 0.5 and 1, with which a row is to be on its side. ALMA: its
        ``alpha``, from 0 to 1: how much of the largest margin may be missing (its B is 1 / alpha). IELLIP: its ``b``.
    covariance : {"diagonal", "full"}, default="diagonal"
        What the second order keeps: a variance per weight, or the whole matrix, of (d + 1)^2 numbers. A step on the
        diagonal is the diagonal of the whole step.
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

    def __init__(self, rule="perceptron", C=1.0, eta=0.75, covariance="diagonal", fit_intercept=True, average=False):
        self.rule = rule
        self.C = C
        self.eta = eta
        self.covariance = covariance
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
        if self.rule not in RULES or not self.C > 0:
            raise ValueError(f"rule must be one of {RULES} and C be > 0; got {self.rule!r} and {self.C!r}.")
        if len(classes) != 2:
            raise ValueError(f"{self.rule} is for two classes, these labels have {len(classes)}; for more take "
                             "sklearn.multiclass.OneVsRestClassifier(model).")  # fmt: skip
        if self.covariance not in ("diagonal", "full") or not 0 < self.eta <= 1:
            raise ValueError(f'covariance must be "diagonal" or "full", and eta above 0 and at most 1; '
                             f"got {self.covariance!r} and {self.eta!r}.")  # fmt: skip
        X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64, order="C")
        is_second = y == classes[1]
        if not (is_second | (y == classes[0])).all():
            raise ValueError(f"y must hold the labels {classes.tolist()}; got {np.unique(y).tolist()}.")
        validate_data(self, X, accept_sparse="csr", reset=starts, skip_check_array=True)
        if starts:
            self.classes_ = classes
            self._weights, self._drift = np.zeros((2, X.shape[1] + 1))
            self._memory = self._first_memory(X.shape[1] + 1)
            self._counts = np.zeros(3, dtype=np.int64)
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        rows = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X, None, None)
        signs = np.where(is_second, 1.0, -1.0)
        state = self._weights, self._drift, self._memory, self._counts
        _learn(*self._how(), (*rows, int(self.fit_intercept)), signs, state)
        self.n_seen_, self.n_updates_, self.n_mistakes_ = self._counts.tolist()
        self.n_queries_ = self.n_seen_
        shown = self._weights - self._drift / self.n_seen_ if self.average else self._weights
        self.coef_, self.intercept_ = shown[None, :-1].copy(), shown[-1:].copy()
        return self

    def _first_memory(self, size):
        """Return a row of numbers per weight, or a matrix: variances in the second order, squared gradients else."""
        if self.rule not in SECOND_ORDER:
            return np.zeros((1, size))
        return np.eye(size) if self.covariance == "full" else np.ones((1, size))

    def _how(self):
        is_probability = self.rule in ("CW", "SCW-I", "SCW-II")
        return RULES.index(self.rule), float(self.C), float(ndtri(self.eta) if is_probability else self.eta)


# ---------------------------------------------------------------- the rules
# Each takes the margin m and the variance v = x' Sigma x of a row (its squared norm in the first order), and returns
# (keep, alpha, beta). First order: w becomes keep w + alpha y x. Second: w gains alpha y Sigma x, and Sigma becomes
# keep (Sigma - beta Sigma x x' Sigma). PASSIVE leaves both as they are.


@njit(**INNER)
def _romma(m, v, w):
    """Return the shortest weights w' with w'.w >= w.w and margin 1, from weights w."""
    norm = np.sum(w * w)
    if norm == 0.0 and v > 0.0:
        return 1.0, 1.0 / v, 0.0
    det = v * norm - m * m
    return ((v * norm - m) / det, norm * (1.0 - m) / det, 0.0) if det > 0.0 else PASSIVE


@njit(**INNER)
def _alma(m, v, w, k, C, alpha):
    root = sqrt(v)
    if v == 0.0 or m / root > (1.0 - alpha) / alpha / sqrt(k):
        return PASSIVE
    tau = C / sqrt(k) / root
    keep = 1.0 / max(1.0, sqrt(np.sum(w * w) + 2.0 * tau * m + tau * tau * v))
    return keep, keep * tau, 0.0


@njit(**INNER)
def _arow(m, v, r):
    beta = 1.0 / (v + r)
    return 1.0, (1.0 - m) * beta, beta


@njit(**INNER)
def _iellip(m, v, t, b):
    c = 0.1 * b ** (t - 1.0)
    return (1.0 / (1.0 - c), (1.0 - m) / v, c / v) if v > 0.0 else PASSIVE


@njit(**INNER)
def _nherd(m, v, C):
    beta = 1.0 / (v + 1.0 / C)
    return 1.0, (1.0 - m) * beta, beta * beta * (v + 2.0 / C)


@njit(**INNER)
def _narow(m, v, b):
    beta = (1.0 - 1.0 / (b * v)) / v if b * v > 1.0 else 0.0
    return 1.0, 1.0 - beta * (v + m), beta


@njit(**INNER)
def _cw(m, v, phi, most):
    xi, psi = 1.0 + phi * phi, 1.0 + phi * phi / 2.0
    alpha = (sqrt(m * m * phi**4 / 4.0 + v * phi * phi * xi) - m * psi) / (v * xi)
    return _confident(min(max(0.0, alpha), most), v, phi)


@njit(**INNER)
def _scw2(m, v, phi, C):
    n, square = v + 0.5 / C, phi * phi
    root = phi * sqrt(square * m * m * v * v + 4.0 * n * v * (n + v * square))
    alpha = (root - (2.0 * m * n + square * m * v)) / (2.0 * (n * n + n * v * square))
    return _confident(max(0.0, alpha), v, phi)


@njit(**INNER)
def _confident(alpha, v, phi):
    """Return the step of length ``alpha``; the variance of the row is ``u`` after it."""
    root_of_u = (sqrt((alpha * v * phi) ** 2 + 4.0 * v) - alpha * v * phi) / 2.0
    return 1.0, alpha, alpha * phi / (root_of_u + alpha * phi * v)


@njit(**INNER)
def _first_order(rule, m, v, w, counts, C, eta):
    if rule == ROMMA or rule == AROMMA:
        return PASSIVE if m > 0.0 and (m >= 1.0 or rule == ROMMA) else _romma(m, v, w)
    if rule == ALMA:
        return _alma(m, v, w, counts[1] + 1.0, C, eta)
    if rule == LOGISTIC:
        return 1.0, 1.0 / (1.0 + exp(m)), 0.0
    if m > 0.0 and (m >= 1.0 or rule == PERCEPTRON):
        return PASSIVE
    return 1.0, (C / sqrt(float(counts[0])) if rule == OGD else 1.0), 0.0


@njit(**INNER)
def _second_order(rule, m, v, t, C, eta):
    if rule >= SCW1 or rule == CW:
        if m >= eta * sqrt(v):
            return PASSIVE
        return _scw2(m, v, eta, C) if rule == SCW2 else _cw(m, v, eta, C if rule == SCW1 else np.inf)
    if m > 0.0 and (m >= 1.0 or rule == SOP or rule == IELLIP):
        return PASSIVE
    if rule == NHERD:
        return _nherd(m, v, C)
    if rule == NAROW:
        return _narow(m, v, C)
    return _iellip(m, v, t, eta) if rule == IELLIP else _arow(m, v, 1.0 if rule == SOP else 0.5 / C)


# ---------------------------------------------------------------- the pass


@njit(**COMPILED)
def _learn(rule, C, eta, rows, y, state):
    """Make one pass, in place. ``drift`` sums ``(t - 1)(w_{t+1} - w_t)``; the mean weights are ``w - drift / t``."""
    w, drift, memory, counts = state
    x, at = np.empty(len(w)), np.empty(len(w), dtype=np.int64)
    for i in range(len(y)):
        n = _take(rows[0], rows[1], rows[2], i, x, at)
        x[n], at[n] = 1.0, len(w) - 1
        n += rows[3]  # 1 with an intercept
        m = 0.0
        for j in range(n):
            m += x[j] * w[at[j]]
        v = _variance(x[:n], at, memory, rule < SOP)
        counts[0] += 1
        counts[2] += (m > 0.0) != (y[i] > 0.0)
        m *= y[i]
        if rule < SOP:
            keep, alpha, beta = _first_order(rule, m, v, w, counts, C, eta)
        else:
            keep, alpha, beta = _second_order(rule, m, v, counts[0], C, eta)
        if alpha == 0.0 or v == 0.0:
            continue
        counts[1] += 1
        lag = counts[0] - 1
        if rule < SOP:
            _add(rule, C, keep, alpha * y[i], (x[:n], at), (w, drift, memory[0]), lag)
        elif len(memory) == 1:
            _add_diagonal(keep, alpha * y[i], beta, (x[:n], at), (w, drift, memory[0]), lag)
        else:
            _add_full(keep, alpha * y[i], beta, (x[:n], at), (w, drift, memory), lag)


@njit(**INNER)
def _take(data, indices, indptr, i, x, at):
    """Copy the entries of a row that are not 0, and their places; return how many."""
    n = 0
    if data.ndim == 2:
        for j in range(data.shape[1]):
            value = data[i, j]
            x[n], at[n] = value, j
            n += value != 0.0
    else:
        for j in range(indptr[i], indptr[i + 1]):
            value = data[j]
            x[n], at[n] = value, indices[j]
            n += value != 0.0
    return n


@njit(**INNER)
def _variance(x, at, memory, is_norm):
    """Return x' Sigma x, or x'x."""
    v = 0.0
    if is_norm:
        for j in range(len(x)):
            v += x[j] * x[j]
    elif len(memory) == 1:
        for j in range(len(x)):
            v += x[j] * x[j] * memory[0, at[j]]
    else:
        for j in range(len(x)):
            total = 0.0
            for k in range(j):
                total += memory[at[j], at[k]] * x[k]
            v += x[j] * (2.0 * total + memory[at[j], at[j]] * x[j])
    return v


@njit(**INNER)
def _add(rule, C, keep, step, entries, state, lag):
    x, at = entries
    w, drift, memory = state
    if keep != 1.0:
        for k in range(len(w)):
            drift[k] += lag * (keep - 1.0) * w[k]
            w[k] *= keep
    for j in range(len(x)):
        k, change = at[j], step * x[j]
        if rule == HINGE or rule == LOGISTIC:
            memory[k] += change * change
            change *= C / sqrt(memory[k]) if memory[k] > 0.0 else 0.0  # a square may be too small to store
        w[k] += change
        drift[k] += lag * change


@njit(**INNER)
def _add_diagonal(keep, step, beta, entries, state, lag):
    x, at = entries
    w, drift, memory = state
    for j in range(len(x)):
        k = at[j]
        change, reach = step * memory[k] * x[j], memory[k] * x[j]
        w[k] += change
        drift[k] += lag * change
        memory[k] -= beta * (reach * reach)
    if keep != 1.0:
        memory *= keep


@njit(**INNER)
def _add_full(keep, step, beta, entries, state, lag):
    x, at = entries
    w, drift, memory = state
    reach = np.zeros(len(w))
    for j in range(len(x)):
        for k in range(len(w)):
            reach[k] += memory[at[j], k] * x[j]
    for k in range(len(w)):
        w[k] += step * reach[k]
        drift[k] += lag * (step * reach[k])
        for other in range(len(w)):
            memory[k, other] = keep * (memory[k, other] - beta * reach[k] * reach[other])
