"""Linear passive-aggressive learners with scikit-learn's interface: `PAClassifier` and `PARegressor`."""

from numbers import Real

import numpy as np

from pa_lab.base import OnlineClassifier, OnlineEstimator, OnlineRegressor, as_weights, not_fitted
from pa_lab.passes import State, run, score_rows
from pa_lab.queries import Number
from pa_lab.rows import make_rows, slices, take
from pa_lab.undo import all_or_nothing

LINEAR_CONSTRAINTS = {
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Number(Real, 0, 1e100, closed="right")],
}


class LinearModel(OnlineEstimator):
    """A hypothesis held as one weight per feature.

    The weights lie feature by feature in ``_weights`` of shape (n_features + 1, n_outputs), the intercepts last;
    ``coef_`` and ``intercept_`` are views of it. With ``average`` the last weights lie there, and what is needed to
    work out their mean in ``_drift``.
    """

    _settled = ("average", "fit_intercept", "intercept_scaling")

    # ---- weights

    def _start(self, n_outputs, X):
        self._weights = np.zeros((X.shape[1] + 1, n_outputs))
        self._drift = np.zeros_like(self._weights) if self.average else np.empty((len(self._weights), 0))

    def _has_started(self):
        return hasattr(self, "_weights")

    def _predicting_weights(self):
        """The weights to predict with: the last, or with ``average`` the mean after each example.

        The mean is ``w_{T+1} - drift / T``, with ``drift = sum (t - 1) (w_{t+1} - w_t)``.
        """
        if not self._has_started():
            raise not_fitted(self)
        if self._drift.shape[1] == 0:
            return self._weights
        mean = self._weights - self._drift / max(self.n_seen_, 1)
        mean.flags.writeable = False  # worked out anew each time it is read: an edit in place would be lost
        return mean

    @all_or_nothing
    def _replace_weights(self, part, values):
        """Take weights from outside: they replace the last weights and, with ``average``, the mean."""
        if not self._has_started():
            raise AttributeError("coef_ and intercept_ can be set once the model has been fitted.")
        weights = np.array(self._predicting_weights())
        name = "intercept_" if part == -1 else "coef_"
        weights[part] = as_weights(values, weights[part].T.shape, name).T
        self._weights, self._drift = weights, np.zeros_like(self._drift)

    @property
    def coef_(self) -> np.ndarray:
        """Weights; setting or, without ``average``, editing them is honoured by the next `partial_fit`."""
        return self._predicting_weights()[:-1].T

    @coef_.setter
    def coef_(self, values):
        self._replace_weights(slice(None, -1), values)

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts; setting or, without ``average``, editing them is honoured by the next `partial_fit`."""
        return self._predicting_weights()[-1]

    @intercept_.setter
    def intercept_(self, values):
        self._replace_weights(-1, values)

    # ---- learning and scoring

    def _make_pass(self, X, y, order, C, rule, asking, counts, trace):
        self._keep_weights(X)
        constant = float(self.intercept_scaling) ** 2 if self.fit_intercept else 0.0
        state = State(self._weights, self._drift, counts)
        one_vs_rest = getattr(self, "multi_class", "direct") == "ovr"
        return run(make_rows(X, constant), y, order, C, rule, asking, state, trace, self.batch_size, one_vs_rest)

    def _keep_weights(self, X):
        """Record the weights that the rows can change, so that a failed call can be undone."""
        if self._undo.parts or self._undo.attributes.get("_weights") is not self._weights:
            return  # on record already, or new in this call
        touched = ...
        if hasattr(X, "indptr") and X.nnz < len(self._weights):
            touched = np.append(X.indices, len(self._weights) - 1)
        self._undo.keep(self._weights, touched)
        self._undo.keep(self._drift, touched)

    def _scores(self, X):
        X = self._rows_to_score(X)
        return self._scores_under(X, self._predicting_weights())

    def _scores_under(self, X, weights):
        rows, weights = make_rows(X), np.ascontiguousarray(weights)
        scores = np.empty((X.shape[0], weights.shape[1]))
        for part in slices(rows, len(scores), weights.shape[1]):
            score_rows(take(rows, part), weights, scores[part])
        return scores

    def _rows_to_score(self, X):
        if self._needs_no_check(X):
            with np.errstate(over="ignore", invalid="ignore"):
                if np.isfinite(X.sum()):
                    return X
        return self._rows(X, reset=False, ensure_all_finite=True)

    def _query_scores(self, X):
        """The score of the last weights; with several classes the lead of the best over the second-best."""
        if not self._has_started():
            return np.zeros(X.shape[0])
        scores = self._scores_under(X, self._weights)
        if scores.shape[1] == 1:
            return scores[:, 0]
        best = np.sort(scores, axis=1)
        return best[:, -1] - best[:, -2]


class PAClassifier(LinearModel, OnlineClassifier):
    """Linear passive-aggressive classifier: each update is the exact solution of its constrained problem.

    On an example with positive loss the weights move by ``tau y x``, the least that solves

        min over w of 1/2 ||w - w_t||^2 (+ C xi for PA-I, + C xi^2 for PA-II)  with  y (w . x) >= 1 (- xi)

    (Crammer et al., 2006, eqs. 2 to 6); PALS asks for equality (Pérez-Suay et al., eqs. 7 and 8). The intercept is a
    weight on a constant, so it counts in the squared norm.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II", "PALS"}, default="PA-I"
        The rule for the step size; see `pa_lab.rules`.
    C : float > 0, default=1.0
        Aggressiveness: the price of slack. PA ignores it.
    fit_intercept : bool, default=True
        Learn an intercept, as a weight on a constant feature.
    intercept_scaling : float > 0, default=1.0
        Value of that constant feature. On rows of length 1, such as TF-IDF, a constant of 1 is as large as the whole
        row and takes half of every step; a smaller one, for example 0.1, leaves the step to the words.
    average : bool, default=False
        Predict with the mean of the weights after each example instead of the last weights.
    max_iter : int >= 1, default=1
        Passes over the data made by `fit`.
    tol : float >= 0 or None, default=None
        Stop when the mean loss of a pass has not fallen by this much for ``n_iter_no_change`` passes; None makes all
        ``max_iter`` passes. With ``early_stopping`` the share of held-out rows predicted wrongly takes its place.
    n_iter_no_change : int >= 1, default=5
        Passes without improvement before stopping.
    early_stopping : bool, default=False
        Judge the passes on rows held out from learning.
    validation_fraction : float in (0, 1), default=0.1
        Share of the rows held out with ``early_stopping``.
    shuffle : bool, default=False
        Whether `fit` draws a new order of the rows for each pass. The algorithm reads rows in the order given, which
        is right for a stream; rows sorted by class need True.
    class_weight : dict, "balanced" or None, default=None
        Factors on ``C``, by class; not with PA, which has no ``C``.
    multi_class : {"direct", "ovr"}, default="direct"
        With more than two classes, one problem that sets the right class against the highest-scoring wrong one
        (Crammer et al., section 7), or one problem for each class against the rest. "direct" makes fewer updates and
        is usually the better in one pass; "ovr" suits classes that overlap and scores to be read one by one.
    batch_size : int >= 1, default=1
        Rows that share one update, the exact solution of their joint problem (Pérez-Suay et al., section 3.2; see
        `pa_lab.batch`); not with ``variant="PA"``, whose joint constraints may contradict each other. Scores, queries
        and mistakes are those of the weights before the batch; only the labels asked for enter the problem;
        ``n_updates_`` counts examples with a step; ``average`` counts the weights after the batch for each of its
        rows. A batch never spans two calls: a last one with fewer rows is processed as it is.
    query : {"all", "margin", "random", "threshold"}, default="all"
        Which labels to ask for: every one, with probability ``delta / (delta + |p|)``, with a fixed rate, or exactly
        where ``|p| <= delta``. A label not asked for is not used. Each of several passes asks anew, and a label asked
        for again counts again, so that one pass is the rule here.
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

    _parameter_constraints = OnlineClassifier._parameter_constraints | LINEAR_CONSTRAINTS

    def __init__(
        self,
        variant="PA-I",
        C=1.0,
        fit_intercept=True,
        intercept_scaling=1.0,
        average=False,
        max_iter=1,
        tol=None,
        n_iter_no_change=5,
        early_stopping=False,
        validation_fraction=0.1,
        shuffle=False,
        class_weight=None,
        multi_class="direct",
        batch_size=1,
        query="all",
        delta=1.0,
        query_rate=None,
        label_budget=None,
        warm_start=False,
        random_state=None,
    ):
        self.variant = variant
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.batch_size = batch_size
        self.query = query
        self.delta = delta
        self.query_rate = query_rate
        self.label_budget = label_budget
        self.warm_start = warm_start
        self.random_state = random_state


class PARegressor(LinearModel, OnlineRegressor):
    """Linear passive-aggressive regressor with an epsilon-insensitive tube (Crammer et al., 2006, section 5).

    Outside the tube ``|y - w . x| <= epsilon`` the weights move by ``sign(y - p) tau x``, with the same step sizes as
    in classification; the intercept is a weight on a constant and counts in the squared norm.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II", "PALS"}, default="PA-I"
        The rule for the step size. PALS is PA-II with ``epsilon`` taken as 0.
    C : float > 0, default=1.0
        Aggressiveness. PA ignores it.
    epsilon : float >= 0, default=0.1
        Half-width of the tube, in units of ``y``.
    fit_intercept : bool, default=True
        Learn an intercept, as a weight on a constant feature.
    intercept_scaling : float > 0, default=1.0
        Value of that constant feature.
    average : bool, default=False
        Predict with the mean of the weights after each example instead of the last weights.
    max_iter : int >= 1, default=1
        Passes over the data made by `fit`.
    tol : float >= 0 or None, default=None
        Stop when the mean loss of a pass has not fallen by this much for ``n_iter_no_change`` passes; None makes all
        ``max_iter`` passes.
    n_iter_no_change : int >= 1, default=5
        Passes without improvement before stopping.
    early_stopping : bool, default=False
        Judge the passes on rows held out from learning, by their mean squared error.
    validation_fraction : float in (0, 1), default=0.1
        Share of the rows held out with ``early_stopping``.
    shuffle : bool, default=False
        Whether `fit` draws a new order of the rows for each pass.
    batch_size : int >= 1, default=1
        Rows that share one update, the exact solution of their joint problem; not with PA.
    warm_start : bool, default=False
        Let `fit` go on from the weights and counters of the last call.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the orders.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : ndarray of shape (1,)
        Intercept.
    n_features_in_, feature_names_in_
        As in scikit-learn.
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

    _parameter_constraints = OnlineRegressor._parameter_constraints | LINEAR_CONSTRAINTS

    def __init__(
        self,
        variant="PA-I",
        C=1.0,
        epsilon=0.1,
        fit_intercept=True,
        intercept_scaling=1.0,
        average=False,
        max_iter=1,
        tol=None,
        n_iter_no_change=5,
        early_stopping=False,
        validation_fraction=0.1,
        shuffle=False,
        batch_size=1,
        warm_start=False,
        random_state=None,
    ):
        self.variant = variant
        self.C = C
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.shuffle = shuffle
        self.batch_size = batch_size
        self.warm_start = warm_start
        self.random_state = random_state

    @property
    def coef_(self) -> np.ndarray:
        """Weights; setting or, without ``average``, editing them is honoured by the next `partial_fit`."""
        return self._predicting_weights()[:-1, 0]

    @coef_.setter
    def coef_(self, values):
        self._replace_weights(slice(None, -1), values)
