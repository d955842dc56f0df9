"""Drop-in replacements for scikit-learn's passive-aggressive estimators, which its release 1.10 no longer has.

Parameters, defaults, attributes and results are those of scikit-learn 1.9: the same seeds give the same weights, dense
and CSR. Change the import and nothing else::

    from pa_lab.compat import PassiveAggressiveClassifier, PassiveAggressiveRegressor

One parameter is new. ``intercept="scikit-learn"`` keeps scikit-learn's intercept, which moves with the weights but does
not count in the squared norm, so a step on a short row goes too far; on CSR rows it moves by a hundredth.
``intercept="exact"`` solves the passive-aggressive problem: the intercept is a weight on a constant 1 and counts, and a
class weight is a factor on ``C``, not on the step. With ``fit_intercept=False`` and no class weights the two agree.

Two results differ on purpose. With ``average``, scikit-learn's classifier loses its last intercept between two calls of
``partial_fit``; here a stream in blocks gives what one pass over it gives. And rows so large that their squared norm
overflows, which scikit-learn passes over without a word, are refused.

For a stream in its own order, active learning, mini-batches or one joint problem for several classes see
`pa_lab.PAClassifier`.
"""

import warnings
from numbers import Integral, Real

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from pa_lab.base import as_weights, refuse_damaged
from pa_lab.compiled import COMPILED
from pa_lab.rows import Rows, add, make_rows, score, squared_norm
from pa_lab.rules import Rule, direction, loss_of, make_rule, step

SPARSE_INTERCEPT_STEP = 0.01  # of the weights' step: scikit-learn's intercept is slow on CSR rows
MAX_INT = np.iinfo(np.int32).max


@njit(**COMPILED)
def shuffle(order, seed):
    """Shuffle ``order`` in place: a Fisher-Yates shuffle on 32-bit xorshift numbers, as in scikit-learn."""
    state = np.uint32(seed if seed != 0 else 1)
    n = order.shape[0]
    for i in range(n - 1):
        state ^= np.uint32(state << np.uint32(13))
        state ^= np.uint32(state >> np.uint32(17))
        state ^= np.uint32(state << np.uint32(5))
        j = i + int(state % np.uint32(2**31)) % (n - i)
        order[i], order[j] = order[j], order[i]


@njit(**COMPILED, nogil=True)
def learn_epoch(rows, y, order, C, factor, rule, w, mean, lazy, average, t):
    """One pass over the rows ``order``, in place; returns ``t`` after it and the sum of the losses (NaN: overflow).

    ``factor`` multiplies the step on each row. ``mean`` (empty: not wanted) holds the mean weights, up to the two
    numbers ``lazy``, of all examples from number ``average`` on. The last entries of ``w`` and ``mean`` are the
    intercepts.
    """
    data, indices, indptr, base, norm_one, step_one = rows
    losses, last = 0.0, w.shape[0] - 1
    for i in order:
        p = score(data, indices, indptr, base, i, w)
        loss = loss_of(rule, y[i], p)
        losses += loss
        sqnorm = squared_norm(data, indices, indptr, base, i, norm_one)
        if sqnorm == 0.0:
            continue
        if sqnorm == np.inf:
            return t, np.nan
        move = step(rule.variant, loss, sqnorm, C[i]) * direction(rule, y[i], p) * factor[i]
        if move != 0.0:
            add(data, indices, indptr, base, i, step_one, move, w)
        if mean.shape[0] > 0 and t >= average:
            kept, share = mean[last], 1.0 / (t - average + 1.0)
            if move != 0.0:
                add(data, indices, indptr, base, i, 0.0, -lazy[0] * move, mean)
            mean[last] = kept + (w[last] - kept) * share
            if share < 1.0:
                lazy[1] /= 1.0 - share
            lazy[0] += share * lazy[1]
        t += 1.0
    return t, losses


class PassiveAggressive(SparseCoefMixin, BaseEstimator):
    """What the two drop-in estimators share."""

    _parameter_constraints = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "average": [Interval(Integral, 0, None, closed="neither"), "boolean"],
        "intercept": [StrOptions({"scikit-learn", "exact"})],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _rows(self, X) -> Rows:
        """Rows with the constant feature behind the intercept, as the parameter ``intercept`` has it."""
        if not self.fit_intercept:
            return make_rows(X)
        if self.intercept == "exact":
            return make_rows(X, 1.0)
        return make_rows(X, 0.0, SPARSE_INTERCEPT_STEP if hasattr(X, "indptr") else 1.0)

    def _begin(self, shape, coef_init, intercept_init):
        """Allocate weights of shape (n_outputs, n_features)."""
        coef = np.zeros(shape) if coef_init is None else as_weights(coef_init, shape, "coef_init")
        intercept = (
            np.zeros(shape[0]) if intercept_init is None else as_weights(intercept_init, shape[:1], "intercept_init")
        )
        self._last = np.ascontiguousarray(np.c_[coef, intercept])
        self._mean = np.zeros((shape[0], shape[1] + 1 if self.average else 0))
        self.t_ = 1.0
        self._show(self._last)

    def _learn_output(self, X, y, k, C, factor, rule, max_iter, held_out, random_state):
        """Learn the weights of output ``k`` in up to ``max_iter`` passes; returns their number."""
        order, w, mean = np.flatnonzero(~held_out), self._last[k], self._mean[k]
        everything, t, lazy = np.arange(len(y)), self.t_, np.array([0.0, 1.0])
        seed, best, without_gain = self._shuffle_seed(random_state), np.inf, 0
        for epoch in range(1, max_iter + 1):
            if self.shuffle:
                shuffle(everything, seed)
                order = everything[~held_out[everything]]
            t, losses = learn_epoch(self._rows(X), y, order, C, factor, rule, w, mean, lazy, int(self.average), t)
            if not (np.isfinite(w).all() and np.isfinite(losses)):
                raise ValueError(f"Floating-point under-/overflow occurred at epoch #{epoch}. Scaling input data with "
                                 "StandardScaler or MinMaxScaler might help.")  # fmt: skip
            badness = losses / len(order)
            if self.early_stopping:
                p = np.asarray(X[held_out] @ w[:-1]) + w[-1]
                badness = -self._validation_score(y[held_out], p)
            if self.verbose:
                print(f"-- Epoch {epoch}: bias {w[-1]:.6f}, T {int(t) - 1}, average loss {losses / len(order):.6f}")
            if self.tol is not None:
                worse = badness > best - self.tol
                without_gain = without_gain + 1 if worse else 0
            best = min(best, badness)
            if without_gain >= self.n_iter_no_change:
                break
        if len(mean):
            mean[:-1] = (mean[:-1] + lazy[0] * w[:-1]) / lazy[1]
        return epoch

    def _finish(self, n_iter, n_rows):
        self.n_iter_ = n_iter
        self.t_ += n_iter * n_rows
        self._show(self._shown())

    def _shown(self):
        """Return the weights to predict with, of which ``coef_`` and ``intercept_`` are copies."""
        return self._mean if self.average and self.average <= self.t_ - 1 else self._last

    def _take_back(self):
        """Learn on from ``coef_`` and ``intercept_`` as they are now, which may have been edited."""
        if self.average and not self._mean.size:
            self._mean = np.zeros_like(self._last)
        shown = self._shown()
        shown[:, :-1] = as_weights(self.coef_, shown[:, :-1].shape, "coef_")
        shown[:, -1] = as_weights(self.intercept_, shown[:, -1].shape, "intercept_")

    def _hold_out(self, y, splitter):
        """Which rows early stopping keeps for validation."""
        held_out = np.zeros(len(y), bool)
        if self.early_stopping:
            split = splitter(test_size=self.validation_fraction, random_state=self.random_state)
            held_out[next(split.split(np.zeros((len(y), 1)), y))[1]] = True
        return held_out

    def _warn_unless_converged(self):
        if self.tol is not None and self.n_iter_ == self.max_iter:
            warnings.warn("Maximum number of iteration reached before convergence. Consider increasing max_iter to "
                          "improve the fit.", ConvergenceWarning, stacklevel=4)  # fmt: skip

    # scikit-learn's names for the two sets of weights, which some code looks for
    _standard_coef = property(lambda self: self._last[:, :-1])
    _standard_intercept = property(lambda self: self._last[:, -1])
    _average_coef = property(lambda self: self._mean[:, :-1] if self.average else None)
    _average_intercept = property(lambda self: self._mean[:, -1] if self.average else None)


class PassiveAggressiveClassifier(LinearClassifierMixin, PassiveAggressive):
    """Passive-aggressive classifier with the interface and the results of scikit-learn 1.9.

    Parameters
    ----------
    C : float > 0, default=1.0
        Aggressiveness.
    fit_intercept : bool, default=True
        Learn an intercept.
    max_iter : int, default=1000
        Most passes of `fit` over the data.
    tol : float or None, default=1e-3
        Stop when a pass does not lower the loss by this much, ``n_iter_no_change`` times in a row.
    early_stopping : bool, default=False
        Judge the passes by the accuracy on held-out rows instead.
    validation_fraction : float, default=0.1
        Share of the rows held out.
    n_iter_no_change : int, default=5
        Passes without improvement before stopping.
    shuffle : bool, default=True
        Shuffle the rows before each pass.
    verbose : int, default=0
        Print a line for each pass.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        PA-I or PA-II.
    n_jobs : int or None, default=None
        Threads for the classes.
    random_state : int, RandomState or None, default=None
        Seeds the shuffles.
    warm_start : bool, default=False
        Let `fit` start from the last weights.
    class_weight : dict, "balanced" or None, default=None
        Factors by class: on the step with ``intercept="scikit-learn"``, on ``C`` with ``"exact"``.
    average : bool or int, default=False
        Predict with the mean of the weights, from this many examples on.
    intercept : {"scikit-learn", "exact"}, default="scikit-learn"
        How the intercept moves; see `pa_lab.compat`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, t_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from pa_lab.compat import PassiveAggressiveClassifier
    >>> X, y = make_classification(n_features=4, random_state=0)
    >>> model = PassiveAggressiveClassifier(max_iter=1000, random_state=0, tol=1e-3).fit(X, y)
    >>> model.coef_.round(4), model.intercept_.round(4)
    (array([[0.2664, 0.4507, 0.6725, 0.6419]]), array([1.8413]))
    """

    _parameter_constraints = PassiveAggressive._parameter_constraints | {
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "n_jobs": [Integral, None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        *,
        C=1.0,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        shuffle=True,
        verbose=0,
        loss="hinge",
        n_jobs=None,
        random_state=None,
        warm_start=False,
        class_weight=None,
        average=False,
        intercept="scikit-learn",
    ):
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.verbose = verbose
        self.loss = loss
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.average = average
        self.intercept = intercept

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, coef_init=None, intercept_init=None):
        """Learn in up to ``max_iter`` passes, from scratch unless ``warm_start``.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples.
        y : array of shape (n_samples,)
            Labels.
        coef_init : array of shape (1, n_features) or (n_classes, n_features), default=None
            Weights to start from.
        intercept_init : array of shape (1,) or (n_classes,), default=None
            Intercepts to start from.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            On NaN or infinity, initial weights of another shape, weights that overflow, or parameters out of range.

        Warns
        -----
        ConvergenceWarning
            If ``max_iter`` passes were made before the stopping rule said enough.

        Examples
        --------
        >>> from pa_lab.compat import PassiveAggressiveClassifier
        >>> PassiveAggressiveClassifier(random_state=0).fit([[2.0], [-2.0]], ["on", "off"]).predict([[1.0]]).tolist()
        ['on']
        """
        if self.warm_start and hasattr(self, "classes_"):
            coef_init = self.coef_ if coef_init is None else coef_init
            intercept_init = self.intercept_ if intercept_init is None else intercept_init
        vars(self).pop("classes_", None)
        classes = np.unique(validate_data(self, y=y))
        self._learn(X, y, classes, self.max_iter, coef_init, intercept_init)
        self._warn_unless_converged()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None):
        """Learn in one pass from the next rows.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples.
        y : array of shape (n_samples,)
            Labels.
        classes : array of shape (n_classes,), default=None
            All labels that may ever come; needed at the first call.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            As for `fit`; also for ``early_stopping``, for ``class_weight="balanced"``, for classes missing at the first
            call, and for a label that is not among them.
        """
        if not hasattr(self, "classes_"):
            if self.early_stopping:
                raise ValueError("early_stopping should be False with partial_fit")
            if self.class_weight == "balanced":
                raise ValueError("class_weight='balanced' is not supported for partial_fit, which does not see all "
                                 "labels at once: pass a dict of weights.")  # fmt: skip
        return self._learn(X, y, classes, 1)

    def _learn(self, X, y, classes, max_iter, coef_init=None, intercept_init=None):
        first = not hasattr(self, "classes_")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
                             accept_large_sparse=False, reset=first)  # fmt: skip
        if hasattr(X, "indptr"):
            refuse_damaged(X)
        _check_partial_fit_first_call(self, classes)
        if len(self.classes_) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(self.classes_)} class")
        outputs = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        if first:
            self._begin((len(outputs), X.shape[1]), coef_init, intercept_init)
        else:
            self._take_back()
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        rule = make_rule("PA-I" if self.loss == "hinge" else "PA-II")
        if len(outputs) == 1:
            jobs = [(1, check_random_state(self.random_state))]
            held_out, rest = None, weights[0]
        else:
            held_out, rest = self._hold_out(y, StratifiedShuffleSplit), 1.0
            seeds = check_random_state(self.random_state).randint(MAX_INT, size=len(outputs))
            jobs = [(k, np.random.RandomState(seed)) for k, seed in zip(outputs, seeds, strict=True)]
        n_iter = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(self._learn_class)(X, y, k, weights[k], rest, rule, max_iter, held_out, random_state)
            for k, random_state in jobs
        )
        self._finish(max(n_iter), X.shape[0])
        return self

    def _learn_class(self, X, y, k, weight, rest, rule: Rule, max_iter, held_out, random_state):
        side = np.where(y == self.classes_[k], 1.0, -1.0)
        random_state.randint(1, MAX_INT)  # scikit-learn draws one number that it does not use
        if held_out is None:
            held_out = self._hold_out(side, StratifiedShuffleSplit)
        factor = np.where(side > 0, float(weight), float(rest))
        C, ones = np.full(len(y), float(self.C)), np.ones(len(y))
        C, factor = (C * factor, ones) if self.intercept == "exact" else (C, factor)
        output = 0 if len(self._last) == 1 else k
        return self._learn_output(X, side, output, C, factor, rule, max_iter, held_out, random_state)

    def _shuffle_seed(self, random_state):
        return random_state.randint(MAX_INT)

    def _validation_score(self, y, p):
        return accuracy_score(y, np.where(p > 0, 1.0, -1.0))

    def _show(self, weights):
        self.coef_, self.intercept_ = weights[:, :-1].copy(), weights[:, -1].copy()


class PassiveAggressiveRegressor(RegressorMixin, PassiveAggressive):
    """Passive-aggressive regressor with the interface and the results of scikit-learn 1.9.

    Parameters
    ----------
    C, fit_intercept, max_iter, tol, early_stopping, validation_fraction, n_iter_no_change, shuffle, verbose, \
    random_state, warm_start, average, intercept
        As in `PassiveAggressiveClassifier`; early stopping judges by R squared.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        PA-I or PA-II.
    epsilon : float >= 0, default=0.1
        Half-width of the tube.

    Attributes
    ----------
    coef_, intercept_, n_iter_, t_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from pa_lab.compat import PassiveAggressiveRegressor
    >>> model = PassiveAggressiveRegressor(epsilon=0.0, shuffle=False, tol=None, max_iter=1, fit_intercept=False)
    >>> model.fit([[1.0], [2.0]], [0.5, 1.0]).coef_.tolist()
    [0.5]
    """

    _parameter_constraints = PassiveAggressive._parameter_constraints | {
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        C=1.0,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        shuffle=True,
        verbose=0,
        loss="epsilon_insensitive",
        epsilon=0.1,
        random_state=None,
        warm_start=False,
        average=False,
        intercept="scikit-learn",
    ):
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.verbose = verbose
        self.loss = loss
        self.epsilon = epsilon
        self.random_state = random_state
        self.warm_start = warm_start
        self.average = average
        self.intercept = intercept

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, coef_init=None, intercept_init=None):
        """Learn in up to ``max_iter`` passes, from scratch unless ``warm_start``.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples.
        y : array of shape (n_samples,)
            Targets.
        coef_init : array of shape (n_features,), default=None
            Weights to start from; like scikit-learn's, a warm start passes over them.
        intercept_init : array of shape (1,), default=None
            Intercept to start from.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            On NaN or infinity, initial weights of another shape, weights that overflow, or parameters out of range.

        Warns
        -----
        ConvergenceWarning
            If ``max_iter`` passes were made before the stopping rule said enough.
        """
        self._learn(X, y, self.max_iter, coef_init, intercept_init, fit=True)
        self._warn_unless_converged()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y):
        """Learn in one pass from the next rows.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples.
        y : array of shape (n_samples,)
            Targets.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            As for `fit`; also for ``early_stopping``.
        """
        if not hasattr(self, "coef_") and self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")
        return self._learn(X, y, 1)

    def _learn(self, X, y, max_iter, coef_init=None, intercept_init=None, fit=False):
        first = not hasattr(self, "coef_") or (fit and not self.warm_start)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
                             accept_large_sparse=False, y_numeric=True, reset=first)  # fmt: skip
        if hasattr(X, "indptr"):
            refuse_damaged(X)
        y = y.astype(np.float64, copy=False)
        if first:
            self._begin((1, X.shape[1]), coef_init, intercept_init)
        else:
            self._take_back()
            self.t_ = 1.0 if fit else self.t_  # as scikit-learn, which goes on from the last weights and the old mean
        rule = make_rule("PA-I" if self.loss == "epsilon_insensitive" else "PA-II", self.epsilon)
        held_out = self._hold_out(y, ShuffleSplit)
        C, ones = np.full(len(y), float(self.C)), np.ones(len(y))
        n_iter = self._learn_output(X, y, 0, C, ones, rule, max_iter, held_out, check_random_state(self.random_state))
        self._finish(n_iter, X.shape[0])
        return self

    def predict(self, X):
        """Predict a target for each row.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_).ravel()

    def _shuffle_seed(self, random_state):
        return random_state.randint(0, MAX_INT)

    def _validation_score(self, y, p):
        return r2_score(y, p)

    def _show(self, weights):
        self.coef_, self.intercept_ = weights[0, :-1].copy(), weights[0, -1:].copy()
