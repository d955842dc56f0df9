"""Linear passive-aggressive learners: compiled loops over dense or CSR rows, behind scikit-learn's interface.

Glossary: ``W`` weights, a row per class (one row for two classes), whose last column is the intercept; ``p`` score;
``tau`` step size; ``one`` the constant feature behind the intercept (1.0, or 0.0 without one); ``drift`` what lazy
averaging needs; ``counts`` examples seen, updates, mistakes and labels asked for.
"""

from numbers import Integral, Real

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils import assert_all_finite, column_or_1d, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from pa_lab.active import (
    ALL,
    MISTAKES,
    NO_BUDGET,
    NO_DRAWS,
    QUERIED,
    QUERY_CONSTRAINTS,
    SEEN,
    UNANSWERED,
    UPDATES,
    Asks,
    query_probability,
)
from pa_lab.batch import learn_batches
from pa_lab.rows import as_rows, rank, score, shift, squared_norm
from pa_lab.rules import PALS, VARIANTS, epsilon_insensitive, hinge, step
from pa_lab.undo import all_or_nothing

NO_TRACE = np.empty((0, 2))
NO_ORDER = np.empty(0, dtype=np.int64)  # the rows as they stand; None would have each loop compiled twice


@njit(cache=True, error_model="numpy")
def learn_two(data, indices, indptr, y, order, W, drift, counts, trace, one, variant, C, epsilon,
              query, draws, delta, query_rate, label_budget):  # fmt: skip
    """One pass of two-class PA (``y`` in {-1, +1}, ``epsilon`` < 0) or of PA regression, in place.

    ``C`` holds the aggressiveness for negative and for positive targets; ``order`` the rows in the
    order they come (empty: as they stand).
    Labels not asked for are not read. A ``trace`` with a row per example records the score before the update and tau,
    which is NaN if the label was not asked for.
    Returns a number that is finite exactly if every score was.
    """
    classifies = epsilon < 0.0
    by_residual = not classifies or variant == PALS
    tube = max(epsilon, 0.0)
    finite = 0.0
    for t in range(y.shape[0]):
        i = order[t] if order.shape[0] > 0 else t
        p = score(data, indices, indptr, i, one, W, 0)
        finite += p - p
        if trace.shape[0] > 0:
            trace[t, 0] = p
            trace[t, 1] = np.nan
        counts[SEEN] += 1
        # Asking stands in each of the loops: as a function of its own, even inlined, it slows this pass by a tenth.
        if counts[QUERIED] >= label_budget:
            continue
        if query != ALL and draws[t] >= query_probability(query, p, delta, query_rate):
            continue
        counts[QUERIED] += 1
        if trace.shape[0] > 0:
            trace[t, 1] = 0.0
        target = y[i]
        loss = epsilon_insensitive(target, p, tube) if by_residual else hinge(target, p)
        if loss == 0.0:
            continue
        counts[MISTAKES] += not classifies or (p > 0.0) != (target > 0.0)
        tau = step(variant, loss, squared_norm(data, indices, indptr, i, one), C[int(target > 0.0)])
        if tau == 0.0:
            continue
        counts[UPDATES] += 1
        if trace.shape[0] > 0:
            trace[t, 1] = tau
        upwards = p < target if by_residual else target > 0.0
        shift(data, indices, indptr, i, one, tau if upwards else -tau, W, drift, 0, counts[SEEN] - 1)
    return finite


@njit(cache=True, error_model="numpy")
def learn_many(data, indices, indptr, y, order, W, drift, counts, trace, one, variant, C, epsilon,
               query, draws, delta, query_rate, label_budget):  # fmt: skip
    """One pass of multiclass PA, as `learn_two`; ``y`` holds class indices (Crammer et al., section 7).

    The right class is set against the highest-scoring wrong one; both move, so the squared norm counts twice.
    """
    scores = np.empty(W.shape[0])
    finite = 0.0
    for t in range(y.shape[0]):
        i = order[t] if order.shape[0] > 0 else t
        first, second, total = rank(data, indices, indptr, i, one, W, scores)
        finite += total
        p = scores[first] - scores[second]
        if trace.shape[0] > 0:
            trace[t, 0] = p
            trace[t, 1] = np.nan
        counts[SEEN] += 1
        if counts[QUERIED] >= label_budget:
            continue
        if query != ALL and draws[t] >= query_probability(query, p, delta, query_rate):
            continue
        counts[QUERIED] += 1
        if trace.shape[0] > 0:
            trace[t, 1] = 0.0
        right = int(y[i])
        wrong = second if first == right else first
        margin = scores[right] - scores[wrong]
        loss = epsilon_insensitive(1.0, margin, 0.0) if variant == PALS else hinge(1.0, margin)
        if loss == 0.0:
            continue
        counts[MISTAKES] += first != right
        tau = step(variant, loss, 2.0 * squared_norm(data, indices, indptr, i, one), C[right])
        if tau == 0.0:
            continue
        counts[UPDATES] += 1
        if trace.shape[0] > 0:
            trace[t, 1] = tau
        towards = tau if margin < 1.0 else -tau
        shift(data, indices, indptr, i, one, towards, W, drift, right, counts[SEEN] - 1)
        shift(data, indices, indptr, i, one, -towards, W, drift, wrong, counts[SEEN] - 1)
    return finite


def run(rows, y, order, W, drift, draws, trace, one, settings):
    """One pass of the loop that fits; ``settings`` are the arguments that stay the same from pass to pass."""
    loop = learn_batches if "batch_size" in settings else learn_two if len(W) == 1 else learn_many
    return loop(*rows, y, order, W, drift, trace=trace, one=one, draws=draws, **settings)


def averaged(W, drift, n_seen):
    """Mean of the weights after each example: ``w_{T+1} - drift / T``, with ``drift = sum (t - 1)(w_{t+1} - w_t)``.

    >>> averaged(np.array([[4.0]]), np.array([[6.0]]), 3)
    array([[2.]])
    """
    return W - drift / max(n_seen, 1)


def keep(arguments):
    """Keep the arguments of an estimator's ``__init__`` under their own names, as scikit-learn wants them."""
    vars(arguments.pop("self")).update(arguments)


class _Stream(BaseEstimator):
    """What the learners share: weights, counters, random draws, and the passes over the data."""

    _settled = ("average",)  # parameters that cannot change once there are weights

    def _begin(self, n_rows, n_features):
        """Start from zero weights."""
        self._began_with = {name: getattr(self, name) for name in self._settled}
        self._weights = np.zeros((n_rows, n_features + 1))
        self._drift = np.zeros_like(self._weights) if self.average else np.empty((0, n_features + 1))

    def _begin_counts(self):
        """Start from zero counters, with a random stream for orders and one for queries."""
        self._counts = np.zeros(5, dtype=np.int64)
        self._order_rng, self._query_rng = _generator(self.random_state).spawn(2)

    def _validate_changes(self):
        """Check parameters that changed in mid-stream, which scikit-learn leaves to the next ``fit``."""
        values = [getattr(self, name) for name in self._parameter_constraints]
        known = getattr(self, "_validated", [object()] * len(values))
        if any(a is not b for a, b in zip(values, known, strict=True)):
            self._validate_params()
            self._validated = values

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_weights")

    def _check(self, X, y, reset):
        """Rows and targets as the loops want them; NaN and infinity in X are found by the loop, in its one pass."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        X = self._rows(X, reset)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return X, y

    def _rows(self, X, reset, ensure_all_finite=False):
        """Rows as the loops want them."""
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=ensure_all_finite,
        )
        if hasattr(X, "indptr") and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X

    def _query_settings(self):
        return ALL, 1.0, 0.0, NO_BUDGET

    def _passes(self, n, C, epochs, shuffle, epsilon, asked):
        """What a run over ``n`` rows begins with: settings of the loops, orders of the passes, draws for each."""
        counts = self._counts.copy()
        query, delta, query_rate, label_budget = self._query_settings()
        if asked:
            self._take_answers(n, counts)
            query, label_budget = ALL, NO_BUDGET
        settings = {
            "counts": counts, "variant": VARIANTS.index(self.variant), "C": C, "epsilon": epsilon, "query": query,
            "delta": delta, "query_rate": query_rate, "label_budget": label_budget,
        }  # fmt: skip
        if self._batched():
            settings["batch_size"] = self.batch_size
        for name, value in self._began_with.items():
            now = getattr(self, name)
            if now is not value and not np.array_equal(now, value):
                raise ValueError(f"{name} cannot change while the model learns on: it began with {value!r}, now it is "
                                 f"{now!r}. Call fit without warm_start to begin anew.")  # fmt: skip
        self.n_iter_ = epochs
        return settings, (
            (self._order_rng.permutation(n) if shuffle else NO_ORDER,
             NO_DRAWS if query == ALL else self._query_rng.random(n)) for _ in range(epochs)
        )  # fmt: skip

    def _stream(self, X, y, C, epochs=1, shuffle=False, epsilon=-1.0, trace=NO_TRACE, asked=False):
        """Run the loop over the rows; on bad numbers raise and leave the model as it was."""
        W, drift = self._weights.copy(), self._drift.copy()
        settings, passes = self._passes(X.shape[0], C, epochs, shuffle, epsilon, asked)
        for order, draws in passes:
            finite = run(as_rows(X), y, order, W, drift, draws, trace, float(self.fit_intercept), settings)
            if not (np.isfinite(finite) and np.isfinite(W).all() and np.isfinite(drift).all()):
                assert_all_finite(X, input_name="X")
                targets = "" if epsilon < 0.0 else f" (or y: up to {abs(y).max():.3g})"
                raise ValueError(f"X holds values so large or so small (up to {abs(X).max():.3g}){targets} that the "
                                 "weights overflow: scale the features, for example with StandardScaler.")  # fmt: skip
        self._weights, self._drift, self._counts = W, drift, settings["counts"]
        self._publish()
        return self

    def _batched(self):
        """Whether rows share updates."""
        if self.batch_size > 1 and self.variant == "PA":
            raise ValueError(f"batch_size={self.batch_size} with variant='PA' has no solution where the constraints of "
                             "a batch contradict each other: choose variant='PA-I', 'PA-II' or 'PALS'.")  # fmt: skip
        return self.batch_size > 1

    def _publish(self):
        """Show counters and, once there are any, weights under scikit-learn's names."""
        self.n_seen_, self.n_updates_, self.n_mistakes_, self.n_queries_ = self._counts[:UNANSWERED].tolist()
        if self.__sklearn_is_fitted__():
            self._show()

    def _show(self):
        """Show the weights."""
        W = averaged(self._weights, self._drift, self._counts[SEEN]) if len(self._drift) else self._weights
        self.coef_, self.intercept_ = W[:, :-1].copy(), W[:, -1].copy()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


_SHARED_CONSTRAINTS = {
    "variant": [StrOptions(set(VARIANTS))],
    "C": [Interval(Real, 0, None, closed="neither")],
    "fit_intercept": ["boolean"],
    "average": ["boolean"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "shuffle": ["boolean"],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "warm_start": ["boolean"],
    "random_state": ["random_state", np.random.Generator],
}


class PAClassifier(LinearClassifierMixin, Asks, _Stream):
    """Linear passive-aggressive classifier: each update is the exact solution of its constrained problem.

    On an example with positive loss the weights move by ``tau y x``, the least that solves

        min over w of 1/2 ||w - w_t||^2 (+ C xi for PA-I, + C xi^2 for PA-II)  with  y (w . x) >= 1 (- xi)

    (Crammer et al., 2006, eqs. 2 to 6); PALS asks for equality (Pérez-Suay et al., eqs. 7 and 8). The intercept is a
    weight on a constant 1, so it counts in the squared norm. With more than two classes, the right class is set
    against the highest-scoring wrong one (Crammer et al., section 7).

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II", "PALS"}, default="PA-I"
        The rule for the step size; see `pa_lab.rules`.
    C : float > 0, default=1.0
        Aggressiveness: the price of slack. PA ignores it.
    fit_intercept : bool, default=True
        Learn an intercept, as a weight on a constant feature 1.
    average : bool, default=False
        Predict with the mean of the weights after each example instead of the last weights.
    max_iter : int >= 1, default=1
        Passes over the data made by `fit`.
    shuffle : bool, default=False
        Whether `fit` draws a new order of the rows for each pass.
    class_weight : dict, "balanced" or None, default=None
        Factors on ``C``, by class.
    batch_size : int >= 1, default=1
        Rows that share one update, the exact solution of their joint problem (Pérez-Suay et al., section 3.2; see
        `pa_lab.batch`); not with ``variant="PA"``, whose joint constraints may contradict each other. Scores, queries
        and mistakes are those of the weights before the batch; only the labels asked for enter the problem;
        ``n_updates_`` counts examples with a step; ``average`` counts the weights after the batch for each of its
        rows. A batch never spans two calls: a last one with fewer rows is processed as it is.
    query : {"all", "margin", "random", "threshold"}, default="all"
        Which labels to ask for: every one, with probability ``delta / (delta + |p|)``, with a fixed rate, or exactly
        where ``|p| <= delta``. A label not asked for is not used.
    delta : float > 0, default=1.0
        Smoothing of ``query="margin"``; the theory of Lu, Zhao and Hoi (2014) wants at least 1.
    query_rate : float in [0, 1] or None, default=None
        Probability of asking with ``query="random"``.
    label_budget : int >= 0 or None, default=None
        Number of labels after which no more are asked for.
    warm_start : bool, default=False
        Let `fit` go on from the weights and counters of the last call.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the orders and the queries.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    n_seen_, n_updates_, n_mistakes_, n_queries_ : int
        Examples seen, updates made, mistakes made before each update (among the labels asked for), labels asked for.
    n_iter_ : int
        Passes made by the last call.

    Examples
    --------
    >>> import numpy as np
    >>> from pa_lab import PAClassifier
    >>> model = PAClassifier(variant="PA").fit(np.array([[2.0], [-2.0]]), ["on", "off"])
    >>> model.coef_.round(3), model.intercept_.round(3), model.n_updates_
    (array([[0.56]]), array([0.12]), 2)
    >>> model.predict([[1.0]]).tolist()
    ['on']
    """

    _parameter_constraints = (
        _SHARED_CONSTRAINTS | QUERY_CONSTRAINTS | {"class_weight": [StrOptions({"balanced"}), dict, None]}
    )

    def __init__(self, variant="PA-I", C=1.0, fit_intercept=True, average=False, max_iter=1, shuffle=False,
                 class_weight=None, batch_size=1, query="all", delta=1.0, query_rate=None, label_budget=None,
                 warm_start=False, random_state=None):  # fmt: skip
        keep(locals())

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X, y):
        """Learn from scratch (or on, with ``warm_start``) in ``max_iter`` passes.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples, in the order of the stream.
        y : array of shape (n_samples,)
            Labels: any two or more, numbers or strings.

        Returns
        -------
        self : PAClassifier

        Raises
        ------
        ValueError
            On NaN or infinity, empty input, fewer than two classes, continuous labels, or parameters out of range.
        """
        goes_on = self.warm_start and hasattr(self, "_weights")
        X, y = self._check(X, y, reset=not goes_on)
        if not goes_on:
            self.classes_ = _classes(y)
            self._begin(1 if len(self.classes_) == 2 else len(self.classes_), X.shape[1])
            self._begin_counts()
        codes = _encode(y, self.classes_)
        return self._stream(X, codes, self._C_by_class(codes), self.max_iter, self.shuffle)

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X, y, classes=None, *, asked=False):
        """Learn from the next rows of the stream, in the order given; fewer than ``batch_size`` are one batch.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples.
        y : array of shape (n_samples,)
            Labels.
        classes : array of shape (n_classes,), default=None
            All labels that may ever come; needed at the first call.
        asked : bool, default=False
            The rows are those `should_query` asked for, already counted: learn from every one, ask for none again.

        Returns
        -------
        self : PAClassifier

        Raises
        ------
        ValueError
            As for `fit`; also for ``classes`` missing at the first call or changed later, for a label that is not
            among them, and for ``class_weight="balanced"``, which needs all labels at once.
        """
        self._validate_changes()
        first = not hasattr(self, "_weights")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        fresh = not hasattr(self, "_counts")
        X, y = self._check(X, y, reset=fresh)
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' is not supported for partial_fit, which does not see all "
                             "labels at once: pass a dict of weights.")  # fmt: skip
        if classes is not None:
            classes = _at_least_two(np.unique(classes), "classes")
            assert_all_finite(classes, input_name="classes")
            if not first and not np.array_equal(classes, self.classes_):
                raise ValueError(f"classes={classes!r} is not the same as on the last call: {self.classes_!r}.")
        if first:
            self.classes_ = classes
            self._begin(1 if len(classes) == 2 else len(classes), X.shape[1])
        if fresh:
            self._begin_counts()
        codes = _encode(y, self.classes_)
        return self._stream(X, codes, self._C_by_class(codes), asked=asked)

    def decision_function(self, X):
        """Scores ``w . x``: above 0 stands for ``classes_[1]``; with more than two classes the highest wins.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite(super().decision_function(X))

    def _scores(self, X):
        """The score the query rules look at: the loop's own, run with no label to spend."""
        trace = np.zeros((X.shape[0], 2))
        if hasattr(self, "_weights"):
            loop = learn_two if len(self._weights) == 1 else learn_many
            loop(
                *as_rows(X), np.zeros(X.shape[0]), NO_ORDER, self._weights, self._drift, self._counts.copy(), trace,
                float(self.fit_intercept), 0, np.ones(2), -1.0, ALL, NO_DRAWS, 1.0, 0.0, 0,
            )  # fmt: skip
        return trace[:, 0]

    def _C_by_class(self, codes):
        """``C`` times the class weight, by class; the labels are counted here, which is sooner than sorting them."""
        if self.class_weight is None:
            return np.full(len(self.classes_), float(self.C))
        counts = np.bincount(np.maximum(codes, 0.0).astype(np.intp), minlength=len(self.classes_))
        y, times = self.classes_[counts > 0], counts[counts > 0]
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y, sample_weight=times)
        if not (np.isfinite(factors) & (factors >= 0.0)).all():
            raise ValueError(f"class_weight must hold finite numbers >= 0; got {self.class_weight!r}.")
        return self.C * factors


class PARegressor(RegressorMixin, _Stream):
    """Linear passive-aggressive regressor with an epsilon-insensitive tube (Crammer et al., 2006, section 5).

    Outside the tube ``|y - w . x| <= epsilon`` the weights move by ``sign(y - p) tau x``, with the same step sizes as
    in classification; the intercept is a weight on a constant 1 and counts in the squared norm.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II", "PALS"}, default="PA-I"
        The rule for the step size. PALS is PA-II with ``epsilon`` taken as 0.
    C : float > 0, default=1.0
        Aggressiveness. PA ignores it.
    epsilon : float >= 0, default=0.1
        Half-width of the tube, in units of ``y``.
    fit_intercept, average, max_iter, shuffle, batch_size, warm_start, random_state
        As in `PAClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : ndarray of shape (1,)
        Intercept.
    n_seen_, n_updates_, n_mistakes_, n_queries_, n_iter_ : int
        Examples seen, updates made, predictions outside the tube, labels used; passes made by the last call.

    Examples
    --------
    >>> import numpy as np
    >>> from pa_lab import PARegressor
    >>> model = PARegressor(variant="PA", epsilon=0.0).fit(np.array([[1.0], [3.0]]), [2.0, 4.0])
    >>> model.predict([[3.0]]).round(6).tolist()
    [4.0]
    """

    _parameter_constraints = _SHARED_CONSTRAINTS | {"epsilon": [Interval(Real, 0, None, closed="left")]}

    def __init__(self, variant="PA-I", C=1.0, epsilon=0.1, fit_intercept=True, average=False, max_iter=1,
                 shuffle=False, batch_size=1, warm_start=False, random_state=None):  # fmt: skip
        keep(locals())

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X, y):
        """Learn as `PAClassifier.fit` does, from targets ``y``, finite numbers; returns self.

        >>> PARegressor(C=0.5, epsilon=0.0).fit([[1.0], [3.0]], [2.0, 4.0]).coef_.tolist()
        [1.1]
        """
        return self._learn(X, y, not (self.warm_start and hasattr(self, "_weights")), self.max_iter, self.shuffle)

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X, y):
        """Learn from the next rows of the stream, in the order given; parameters and result as for `fit`."""
        self._validate_changes()
        return self._learn(X, y, not hasattr(self, "_weights"))

    def _learn(self, X, y, starts, *passes):
        X, y = self._check(X, y, reset=starts)
        y = y.astype(np.float64, copy=False)
        assert_all_finite(y, input_name="y")
        if starts:
            self._begin(1, X.shape[1])
            self._begin_counts()
        epsilon = 0.0 if self.variant == "PALS" else float(self.epsilon)
        return self._stream(X, y, np.full(2, float(self.C)), *passes, epsilon=epsilon)

    def _show(self):
        super()._show()
        self.coef_ = self.coef_[0]

    def predict(self, X):
        """Predicted targets, an array of shape (n_samples,); parameters as for `PAClassifier.decision_function`."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite(X @ self.coef_ + self.intercept_)


def _finite(scores):
    """Scores of new rows, unless they overflow."""
    if not np.isfinite(scores).all():
        raise ValueError("X holds values so large that scores overflow: scale the features as in training.")
    return scores


def _generator(random_state):
    """A Generator from anything scikit-learn or NumPy accepts as a seed."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(np.iinfo(np.int32).max)
    return np.random.default_rng(random_state)


def _at_least_two(classes, name="y"):
    if len(classes) < 2:
        raise ValueError(f"{name} must hold at least 2 classes; got {len(classes)} class: {classes!r}.")
    return classes


def _classes(y):
    """Sorted labels. Two whole numbers, the usual case, are found without sorting."""
    if y.dtype.kind in "iubf":
        classes = np.array([y.min(), y.max()])
        whole = (np.isfinite(classes) & (classes == np.floor(classes))).all()
        if whole and ((y == classes[0]) | (y == classes[1])).all():
            return _at_least_two(np.unique(classes))
        assert_all_finite(y, input_name="y")
    try:
        check_classification_targets(y)
    except TypeError as error:
        raise ValueError(f"y must hold labels of one kind, text or numbers; got {set(y.tolist())}: {error}") from error
    return _at_least_two(np.unique(y))


def _encode(y, classes):
    """Labels as the loops want them: -1.0 and 1.0 for two classes, else class indices; unknown labels are named."""
    if len(classes) == 2:
        high = y == classes[1]
        known = high | (y == classes[0])
        codes = np.where(high, 1.0, -1.0)
    else:
        try:
            index = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        except TypeError as error:
            raise ValueError(f"y holds labels not of one kind with the classes {classes!r}: {error}") from error
        known = classes[index] == y
        codes = index.astype(np.float64)
    if not known.all():
        raise ValueError(f"y holds the label {y[~known].tolist()[0]!r}, which is not among the classes {classes!r}.")
    return codes
