"""Linear passive-aggressive learners with scikit-learn's interface: `PAClassifier` and `PARegressor`."""

from numbers import Real
from types import SimpleNamespace

import numpy as np
from sklearn.utils._param_validation import Interval

from pa_lab.base import OnlineClassifier, OnlineEstimator, OnlineRegressor
from pa_lab.calls import all_or_nothing, before_or_after
from pa_lab.data import finite_numbers
from pa_lab.parameters import documented
from pa_lab.passes import NO_FADING, State, fading_of, mean, room, run, score_rows, widen
from pa_lab.queries import N_AVERAGED
from pa_lab.rows import make_rows

LINEAR_CONSTRAINTS = {
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, 1e100, closed="right")],
}


class LinearWeights:
    """One weight per feature and output, the model of the linear learners.

    ``last`` of shape (n_features + 1, n_outputs) holds the last weights, the intercepts at the end, and ``drift`` and
    ``fading`` what their mean needs, see `pa_lab.passes.mean`. ``constant`` is the square of the constant feature
    behind the intercept, 0 without one.
    """

    def __init__(self, last, drift, constant, fading=NO_FADING):
        self.last, self.drift, self.constant, self.fading = last, drift, constant, fading

    def part(self, rows=slice(None)):
        """Return a model of the weights in some rows, with memory of its own."""
        last, drift = (np.array(array[rows], order="C") for array in (self.last, self.drift))
        return LinearWeights(last, drift, self.constant, self.fading)

    def learn(self, X, examples, way, counts):
        """Make one pass in place; see `pa_lab.passes.run`."""
        return run(make_rows(X, self.constant), examples, way, State(self.last, self.drift, counts, self.fading))

    def widened(self, places, n, half):
        """Return a model of more classes; see `pa_lab.passes.widen`."""
        last, drift = (widen(array, places, n, half) for array in (self.last, self.drift))
        return LinearWeights(last, drift, self.constant, self.fading)

    def mean(self, counts):
        """Return the weights to predict with."""
        return mean(self.last, self.drift, counts, self.fading)


def narrowed(X, size):
    """Return the rows and which weights they need: if they are short beside ``size``, those of their own features.

    Their columns are then numbered anew. To copy all weights takes longer if there are more than 16 for each entry.
    """
    if not hasattr(X, "indptr") or X.nnz * 16 >= size:
        return X, slice(None)
    columns, indices = np.unique(X.indices, return_inverse=True)
    shape, indices = (X.shape[0], len(columns)), indices.astype(X.indices.dtype)
    return SimpleNamespace(data=X.data, indices=indices, indptr=X.indptr, shape=shape), np.append(columns, X.shape[1])


def shown(name, part, what):
    """Return the property that shows, and sets, a part of the weights."""

    @before_or_after
    def get(self) -> np.ndarray:
        weights = self._shown_weights()
        if self.average:
            weights.flags.writeable = False  # worked out anew each time it is read: an edit in place would be lost
        return weights[part].T

    def put(self, values):
        self._replace_weights(name, part, values)

    text = f"{what}; setting or, without ``average``, editing them is honoured by the next `partial_fit`."
    return property(get, put, doc=text)


class LinearEstimator(OnlineEstimator):
    """A learner whose model is `LinearWeights`."""

    _settled = ("average", "half_life", "fit_intercept", "intercept_scaling")

    def _open_model(self, X, passes):
        """Give the call weights of its own: all or, for short sparse rows of a stream, those of the rows' features.

        Returns the rows, whose columns are then those of the part.
        """
        if self._model is None:
            last = np.zeros((X.shape[1] + 1, self._n_outputs))
            constant = float(self.intercept_scaling) ** 2 if self.fit_intercept else 0.0
            drift = np.zeros_like(last) if self.average else last[:, :0].copy()
            self._model = LinearWeights(last, drift, constant, fading_of(self.half_life))
            return X
        whole, part, rows = self._model, X, slice(None)
        if passes == 1 and whole.last.flags.writeable and self._counts[N_AVERAGED] + X.shape[0] <= room(whole.fading):
            part, rows = narrowed(X, whole.last.size)
        self._model = whole.part(rows)
        if part is not X:
            self._patch = SimpleNamespace(whole=whole, part=self._model, rows=rows)
        return part

    def _close_model(self, X):
        if "_patch" in vars(self):
            self._model = self._patch.whole

    def _make_pass(self, X, examples, way):
        return self._model.learn(X, examples, way, self._counts)

    @np.errstate(over="ignore", invalid="ignore")
    def _scores(self, X, weights):
        return score_rows(make_rows(X), X.shape[0], weights)

    def _shown_scores(self, X):
        """Scores under the weights to predict with; of a mean only what short rows need is worked out."""
        model = self._started()
        X, rows = narrowed(X, model.drift.size)
        return self._scores(X, mean(model.last[rows], model.drift[rows], self._counts, model.fading))

    @all_or_nothing
    def _replace_weights(self, name, part, values):
        """Take weights from outside: they replace the last weights and, with ``average``, the mean."""
        weights, model = np.array(self._shown_weights()), self._model
        weights[part] = finite_numbers(values, weights[part].T.shape, name).T
        self._model = LinearWeights(weights, np.zeros_like(model.drift), model.constant, model.fading)

    coef_ = shown("coef_", slice(None, -1), "Weights")
    intercept_ = shown("intercept_", -1, "Intercepts")


@documented
class PAClassifier(LinearEstimator, OnlineClassifier):
    """Linear passive-aggressive classifier: each update is the exact solution of its constrained problem.

    On an example with positive loss the weights move by ``tau y x``, the least that solves

        min over w of 1/2 ||w - w_t||^2 (+ C xi for PA-I, + C xi^2 for PA-II)  with  y (w . x) >= 1 (- xi)

    (Crammer et al., 2006, eqs. 2 to 6); PALS asks for equality (Pérez-Suay et al., eqs. 7 and 8). The intercept is a
    weight on a constant, so it counts in the squared norm.

    {parameters}

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; in regression of shape (n_features,).
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    n_seen_, n_updates_, n_mistakes_, n_queries_, n_capped_ : int
        Examples seen, updates made, mistakes made before each update (among the labels asked for; in regression
        predictions outside the tube), labels asked for, updates that C shortened by more than a tenth.
    n_iter_, n_features_in_, feature_names_in_
        Passes made by the last call, and as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from pa_lab import PAClassifier
    >>> model = PAClassifier(variant="PA").fit(np.array([[2.0], [-2.0]]), ["on", "off"])
    >>> model.coef_.round(3), model.intercept_.round(3), model.predict([[1.0]]).tolist()
    (array([[0.56]]), array([0.12]), ['on'])
    """

    _parameter_constraints = OnlineClassifier._parameter_constraints | LINEAR_CONSTRAINTS

    def __init__(
        self,
        variant="PA-I",
        C=1.0,
        fit_intercept=True,
        intercept_scaling=1.0,
        average=False,
        half_life=None,
        max_iter=1,
        tol=None,
        n_iter_no_change=5,
        early_stopping=False,
        validation_fraction=0.1,
        shuffle=False,
        class_weight=None,
        cost=None,
        multi_class="direct",
        batch_size=1,
        query="all",
        delta=1.0,
        query_rate=None,
        label_budget=None,
        n_rows=None,
        warm_start=False,
        random_state=None,
    ):
        self._keep(locals())


@documented
class PARegressor(LinearEstimator, OnlineRegressor):
    """Linear passive-aggressive regressor with an epsilon-insensitive tube (Crammer et al., 2006, section 5).

    Outside the tube ``|y - w . x| <= epsilon`` the weights move by ``sign(y - p) tau x``, with the same step sizes as
    in classification; the intercept is a weight on a constant and counts in the squared norm.

    {parameters}

    Attributes
    ----------
    coef_, intercept_, n_seen_, n_updates_, n_mistakes_, n_queries_, n_capped_, n_iter_, n_features_in_, \
    feature_names_in_
        As in `PAClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from pa_lab import PARegressor
    >>> model = PARegressor(variant="PA", epsilon=0.0).fit(np.array([[1.0], [3.0]]), [2.0, 4.0])
    >>> model.predict([[3.0]]).round(6).tolist()
    [4.0]
    """

    _parameter_constraints = OnlineRegressor._parameter_constraints | LINEAR_CONSTRAINTS
    coef_ = shown("coef_", (slice(None, -1), 0), "Weights")

    def __init__(
        self,
        variant="PA-I",
        C=1.0,
        epsilon=0.1,
        fit_intercept=True,
        intercept_scaling=1.0,
        average=False,
        half_life=None,
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
        self._keep(locals())
