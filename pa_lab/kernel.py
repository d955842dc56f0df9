import copy
from functools import partial
from numbers import Integral, Real

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.spatial.distance import cdist
from sklearn.base import _fit_context
from sklearn.cluster import KMeans
from sklearn.utils import assert_all_finite
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from pa_lab.active import ALL, QUERIES
from pa_lab.budget import POLICIES, Budget
from pa_lab.linear import (
    NO_BUDGET,
    NO_DRAWS,
    NO_TRACE,
    SEEN,
    PAClassifier,
    PARegressor,
    averaged,
    learn_many,
    learn_two,
)
from pa_lab.rules import VARIANTS

_threads = ThreadpoolController()


class _KernelStream:
    """What the kernel learners put in place of the linear ones' weights: a way to hold the model, fed in blocks."""

    fit_intercept = warm_start = False

    def _check(self, X, y, reset):
        X, y = super()._check(X, y, reset)
        assert_all_finite(X, input_name="X")
        if self.kernel == "precomputed":
            if not reset or not X.shape[0] == X.shape[1] or hasattr(X, "indptr"):
                raise ValueError("kernel='precomputed' needs the square matrix of kernel values of all rows, dense, and "
                                 f"fit, not partial_fit; got X of shape {X.shape}.")  # fmt: skip
            gap = abs(X - X.T).max()
            if gap > 1e-5 * abs(X).max():
                raise ValueError(f"X must be symmetric with kernel='precomputed'; X and its transpose differ by {gap}.")
        return X, y

    def _begin(self, n_rows, n_features):
        super()._begin(n_rows, 0)
        self._model = None
        if self.landmarks is not None and self.budget is not None:
            raise ValueError("landmarks and budget exclude each other: a budget chooses its own vectors.")
        if self.budget is not None and self.average:
            raise ValueError("average=True needs every vector ever held, which budget does not keep.")

    def _start(self, X, order):
        """The empty model, once the first rows of the stream are there."""
        dtype = X.dtype
        first = _dense(X[:1])[0]
        gamma = self.gamma
        if gamma in ("scale", "auto"):
            spread = _variance(X) if gamma == "scale" else 1.0
            gamma = 1.0 / (X.shape[1] * spread) if spread > 0 else 1.0
        kernel = Kernel(self.kernel, float(gamma), self.degree, float(self.coef0), first)
        self.gamma_, n_rows = kernel.gamma, len(self._weights)
        if self.landmarks is None:
            rows = _dense(X[:1])
            if self.budget is None:
                return Growing(kernel, n_rows, rows, self.average)
            return Budget(kernel, n_rows, rows, self.budget, POLICIES.index(self.budget_policy))
        rows, ids = self._landmark_rows(X, np.arange(X.shape[0]) if order is None else order)
        return Landmarks(kernel, n_rows, rows.astype(dtype, copy=False), ids, self.average, self.landmark_norm)

    def _landmark_rows(self, X, order):
        m = self.landmarks
        if not isinstance(m, Integral):
            ids = np.asarray(m)
            if self.kernel == "precomputed":
                return X[ids], ids
            rows = validate_data(self, m, reset=False, dtype=X.dtype, order="C")
            return rows, np.full(len(rows), -1)
        if m > X.shape[0]:
            raise ValueError(f"landmarks={m} is more than the {X.shape[0]} rows they are drawn from.")
        if self.landmark_choice == "start":
            return _dense(X[order[:m]]), order[:m]
        if self.kernel == "precomputed":
            raise ValueError("landmark_choice='kmeans' needs rows, not kernel='precomputed'.")
        seed = int(self._order_rng.integers(np.iinfo(np.int32).max))
        with _threads.limit(limits=1):
            means = KMeans(m, n_init=1, max_iter=20, random_state=seed).fit(X[order[: 10 * m]])
        return means.cluster_centers_, np.full(m, -1)

    def _stream(self, X, y, C, epochs=1, shuffle=False, epsilon=-1.0, trace=NO_TRACE):
        """Run the blocks through the model; on bad numbers raise and leave the model as it was."""
        n, counts = X.shape[0], self._counts.copy()
        loop = learn_two if len(self._weights) == 1 else learn_many
        query = QUERIES.index(getattr(self, "query", "all"))
        budget = getattr(self, "label_budget", None)
        orders = [self._order_rng.permutation(n) if shuffle else None for _ in range(epochs)]
        model = self._start(X, orders[0]) if self._model is None else self._model.copy()
        if self._model is not None:
            X = X.astype(model.kernel.origin.dtype, copy=False)
        run = partial(
            loop, counts=counts, one=0.0, variant=VARIANTS.index(self.variant), C=C, epsilon=epsilon, query=query,
            delta=float(getattr(self, "delta", 1.0)), query_rate=float(getattr(self, "query_rate", None) or 0.0),
            label_budget=NO_BUDGET if budget is None else budget,
        )  # fmt: skip
        start = 0 if self.kernel == "precomputed" else counts[SEEN]
        with _threads.limit(limits=None if isinstance(model, Landmarks) else 1, user_api="blas"):
            for order in orders:
                draws = NO_DRAWS if query == ALL else self._query_rng.random(n)
                for at in range(0, n, model.block):
                    block = slice(at, at + model.block)
                    rows = np.arange(n)[block] if order is None else order[block]
                    finite = model.learn(
                        _dense(X[rows]), start + rows, y[rows], lambda data, *a, **k: run(*data, *a, **k), trace[block],
                        draws[block],
                    )
                    if not np.isfinite(finite):
                        raise ValueError("Kernel values or scores overflow: scale the features or choose a tamer kernel.")
        self._model, self._weights, self._counts = model, model.W, counts
        self._publish()
        return self

    def _publish(self):
        """Show vectors, coefficients and counters under scikit-learn's names."""
        model = self._model
        self.dual_coef_ = model.coefficients(self._counts[SEEN]).copy()
        self.support_ = model.ids[: model.n].copy()
        self.support_vectors_ = model.rows[: model.n].copy()
        self.n_seen_, self.n_updates_, self.n_mistakes_, self.n_queries_ = self._counts.tolist()
        self.n_iter_ = self.max_iter

    def _decision(self, X):
        """Scores of new rows, an array (n_classes, n_rows)."""
        check_is_fitted(self)
        model = self._model
        X = validate_data(self, X, accept_sparse="csr", dtype=model.kernel.origin.dtype, order="C", reset=False)
        out = np.empty((len(self.dual_coef_), X.shape[0]))
        with _threads.limit(limits=1, user_api="blas"):
            for at in range(0, X.shape[0], BLOCK):
                left = model.kernel.left(_dense(X[at : at + BLOCK]))
                out[:, at : at + BLOCK] = model.scores(left, self.dual_coef_)
        return out

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _dense(X):
    return np.ascontiguousarray(X.toarray() if hasattr(X, "indptr") else X)


def _variance(X):
    """Variance of all entries, as `gamma="scale"` wants it."""
    if hasattr(X, "indptr"):
        return float(X.multiply(X).mean() - X.mean() ** 2)
    return float(X.var())


_KERNEL_CONSTRAINTS = {
    "kernel": [StrOptions(set(KERNELS)), callable],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "landmarks": [Interval(Integral, 1, None, closed="left"), "array-like", None],
    "landmark_choice": [StrOptions({"start", "kmeans"})],
    "landmark_norm": [StrOptions({"kernel", "euclidean"})],
    "budget": [Interval(Integral, 1, None, closed="left"), None],
    "budget_policy": [StrOptions(set(POLICIES))],
}
