"""Kernel passive-aggressive learners: the linear learners with inner products replaced by a kernel ``k(x, s)``.

How a weighted sum of kernel functions is held and learnt is in `pa_lab.expansion` (growing, landmarks) and
`pa_lab.budget`, how it is computed in `pa_lab.kernels`; here are the estimators. There is no intercept: to have one,
add a constant to the kernel.

The same rows give the same bits on every processor and with any number of threads. Three things can differ in the last
digits, as they are not computed here: the values of a callable kernel, a precomputed matrix, and the cluster means of
``landmark_choice="kmeans"``.
"""

import math
import warnings
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from pa_lab.base import OnlineClassifier, OnlineEstimator, OnlineRegressor
from pa_lab.budget import POLICIES, Budget
from pa_lab.calls import before_or_after
from pa_lab.expansion import Block, Growing, Landmarks
from pa_lab.kernels import BLOCK, KINDS, Kernel, dense, refuse_asymmetric
from pa_lab.notices import warn
from pa_lab.parameters import documented
from pa_lab.passes import IN_ORDER, Examples, fading_of, room


class KernelModel(OnlineEstimator):
    """A hypothesis held as a weighted sum of kernel functions, in ``_model``; it takes the stream in blocks."""

    _settled = ("average", "half_life", "kernel", "gamma", "degree", "coef0", "landmarks", "landmark_choice",
                "landmark_norm", "budget", "budget_policy")  # fmt: skip

    # ---- checked input

    def _conflicts(self):
        yield from super()._conflicts()
        yield self.landmarks is not None and self.budget is not None, (
            "landmarks and budget exclude each other: a budget chooses its own vectors.")  # fmt: skip
        clusters = self.landmark_choice == "kmeans" and isinstance(self.landmarks, Integral)
        yield clusters and self.kernel == "precomputed", (
            "landmark_choice='kmeans' needs rows, not kernel='precomputed'.")  # fmt: skip
        yield self.budget is not None and self.average, (
            "average=True needs every vector ever held, which budget does not keep.")  # fmt: skip
        yield self.budget is not None and self.batch_size > 1, (
            f"batch_size={self.batch_size} does not go with budget, kept update by update.")  # fmt: skip

    def _read(self, X, y, reset):
        X, y = super()._read(X, y, reset)
        if self.kernel == "precomputed":
            if not reset or not X.shape[0] == X.shape[1] or hasattr(X, "indptr"):
                raise ValueError("kernel='precomputed' needs the square matrix of kernel values of all rows, dense, "
                                 f"in one call with no partial_fit after it; got X of shape {X.shape}.")  # fmt: skip
            refuse_asymmetric(X, "X must be symmetric with kernel='precomputed'; X")
        return X, y

    def _refuse_unless_finite(self, sentinel, X):
        if not np.isfinite(sentinel):
            raise ValueError(f"X (or y) gives kernel={self.kernel!r} values so large or so small that scores overflow: "
                             "scale the features, for example with StandardScaler.")  # fmt: skip

    # ---- the empty model

    def _empty_model(self, X, order):
        """Return the model to begin with, once the first rows of the stream are there."""
        self.gamma_ = self._gamma(X)
        kernel = Kernel(self.kernel, self.gamma_, self.degree, float(self.coef0), X.dtype)
        fading = fading_of(self.half_life) if self.average else None
        if self.landmarks is not None:
            find = self._chosen_landmarks if isinstance(self.landmarks, Integral) else self._given_landmarks
            return Landmarks(kernel, *find(self.landmarks, X, order), self._n_outputs, fading, self.landmark_norm)
        no_rows = np.empty((0, X.shape[1]))
        if self.budget is not None:
            return Budget(
                kernel, no_rows, IN_ORDER, self._n_outputs, self.budget, self.budget_policy, kernel.is_single(X)
            )
        return Growing(kernel, no_rows, IN_ORDER, self._n_outputs, fading)

    def _gamma(self, X):
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        spread = variance(X) if self.gamma == "scale" else 1.0
        self._refuse_unless_finite(spread, X)
        return 1.0 / (X.shape[1] * spread) if spread > 0 else 1.0

    def _given_landmarks(self, landmarks, X, _):
        """Return the landmarks and their numbers in the stream, -1 if they are no rows of it."""
        if self.kernel == "precomputed":
            numbers = np.asarray(landmarks)
            if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not np.isin(numbers, np.arange(len(X))).all():
                raise ValueError(f"landmarks must be numbers of the {X.shape[0]} rows, from 0; got {landmarks!r}.")
            return X[numbers], numbers
        shape = np.shape(landmarks)
        if len(shape) != 2 or shape[0] == 0 or shape[1] != X.shape[1]:
            raise ValueError(f"landmarks must be a number of rows, or rows in an array of shape (m, {X.shape[1]}); "
                             f"got an array of shape {shape}.")  # fmt: skip
        rows = check_array(landmarks, dtype=X.dtype, order="C", input_name="landmarks")
        return rows, np.full(len(rows), -1)

    def _chosen_landmarks(self, m, X, order):
        """Return so many landmarks, and their numbers: the first rows of the stream, or means of clusters of them."""
        if m > X.shape[0]:
            raise ValueError(f"landmarks={m} is more than the {X.shape[0]} rows of the first call, of which they are "
                             "chosen: pass more rows, or the landmarks as an array.")  # fmt: skip
        first = order if len(order) else np.arange(X.shape[0])
        if self.landmark_choice == "start":
            return dense(X[first[:m]], X.shape[1], X.dtype), first[:m]
        seed = int(self._draw("order", "integers", np.iinfo(np.int32).max))
        return cluster_means(dense(X[first[: 10 * m]], X.shape[1], X.dtype), m, seed), np.full(m, -1)

    # ---- learning and scoring

    def _open_model(self, X, passes):
        if self._model is None and self.gamma == "scale" and X.shape[0] == 1 and self.kernel in KINDS[1:]:
            warn("gamma='scale' is taken from the first call, which has a single row: pass a number as gamma, or more "
                 "rows at first.")  # fmt: skip
        if self._model is not None:
            self._model = self._model.fork(self._passed, X.shape[0])
        return X

    def _close_model(self, X):
        self._passed += X.shape[0]
        self._model.places = None

    def _make_pass(self, X, examples, way):
        """Pass the rows through the model, block by block."""
        y, C, order, trace = examples
        n = len(order) or X.shape[0]
        power = {"rbf": 2, "laplacian": 1}.get(str(self.kernel), 0)
        farthest = X.shape[1] * np.float64(2 * max(X.max(), -X.min())) ** power  # an infinite distance: a value of 0
        self._refuse_unless_finite(farthest if farthest < np.finfo(X.dtype).max else np.inf, X)
        if self._model is None:
            self._model = self._empty_model(X, order).fork(self._passed, X.shape[0])
        most = min(BLOCK, room(self._model.fading) * 7 // 8)
        step = max(self.batch_size, most // self.batch_size * self.batch_size)
        sums, threads = np.zeros(2), effective_n_jobs(self.n_jobs)
        for at in range(0, n, step):
            part = slice(at, min(at + step, n))
            rows = order[part] if len(order) else part
            some = way._replace(asking=way.asking._replace(draws=way.asking.draws[part]))
            these = Examples(np.array(y[rows]), C[rows], trace=trace[part])
            ids = self._passed + np.r_[rows]
            self._model.make_room(self._counts, len(ids))
            sums += self._model.learn(
                Block(dense(X[rows], X.shape[1], X.dtype), ids, these, some, self._counts, threads)
            )
            self._refuse_unless_finite(sums[0], X)
        self._refuse_unless_finite(self._model.mean(self._counts).sum(), X)
        return sums

    @np.errstate(over="ignore", invalid="ignore")
    def _scores(self, X, weights):
        """Return scores of rows under some weights: an array of shape (n_rows, n_outputs)."""
        return self._model.kernel.scores(X, self._model.vectors, weights, effective_n_jobs(self.n_jobs))

    # ---- what is shown

    @property
    @before_or_after
    def support_(self) -> np.ndarray:
        """Numbers of the vectors among the rows passed to `fit` and `partial_fit`."""
        return self._started().vectors.ids.copy()

    @property
    @before_or_after
    def support_vectors_(self) -> np.ndarray:
        """The vectors held, row by row."""
        return self._started().vectors.rows()

    @property
    @before_or_after
    def dual_coef_(self) -> np.ndarray:
        """Weights of the vectors to predict with, a row for each output."""
        return np.array(self._shown_weights().T, order="C")


def variance(X):
    """Return the variance of all entries of a dense or sparse matrix, without a copy of it.

    >>> variance(np.array([[1.0, 3.0]]))
    1.0
    """
    n, size = X.shape[0], math.prod(X.shape)
    mean, total = X.sum(dtype=np.float64) / size, 0.0
    for at in range(0, n, BLOCK):
        part = X[at : at + BLOCK]
        entries = part.data if hasattr(X, "indptr") else part
        zeros = math.prod(part.shape) - entries.size
        total += np.square(entries - mean).sum(dtype=np.float64) + zeros * mean**2
    return float(total / size)


def cluster_means(X, m, seed):
    """Return the means of ``m`` clusters of rows: k-means from a k-means++ start, in one thread."""
    from scipy.cluster.vq import kmeans2  # slow to import, and rarely used
    from sklearn.cluster import kmeans_plusplus

    start = kmeans_plusplus(X, m, random_state=seed)[0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One of the clusters is empty")  # it keeps its start
        return kmeans2(X, start, iter=20, minit="matrix")[0].astype(X.dtype, copy=False)


KERNEL_CONSTRAINTS = {
    "kernel": [StrOptions({*KINDS, "precomputed"}), callable],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
    "degree": [Interval(Integral, 0, 2**31, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "landmarks": [Interval(Integral, 1, None, closed="left"), "array-like", None],
    "landmark_choice": [StrOptions({"start", "kmeans"})],
    "landmark_norm": [StrOptions({"kernel", "euclidean"})],
    "budget": [Interval(Integral, 1, 2**31, closed="left"), None],
    "budget_policy": [StrOptions(set(POLICIES))],
    "n_jobs": [Integral, None],
}


@documented
class KernelPAClassifier(KernelModel, OnlineClassifier):
    """Passive-aggressive classifier with a kernel: `PAClassifier` without intercept, in the kernel's feature space.

    The score is ``p = sum_j a_j k(x, s_j)`` over the examples that once moved it, and an update adds the example with
    the coefficient ``tau y``, where ``||x||^2`` in ``tau`` has become ``k(x, x)`` (Crammer et al., 2006, section 8).

    {parameters}

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_vectors, n_features)
        The vectors held, dense; with "precomputed", their rows of kernel values. A copy, like the next two.
    dual_coef_ : ndarray of shape (1, n_vectors) or (n_classes, n_vectors)
        Their coefficients.
    support_ : ndarray of shape (n_vectors,)
        Their numbers among the rows passed to `fit` and `partial_fit`, -1 for landmarks that are no rows of these.
    gamma_ : float
        The number ``gamma`` came to.
    classes_, n_features_in_, feature_names_in_, n_seen_, n_updates_, n_mistakes_, n_queries_, n_capped_, n_iter_
        As in `PAClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from pa_lab import KernelPAClassifier
    >>> X, y = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]]), ["out", "in", "in", "in", "out"]
    >>> model = KernelPAClassifier(gamma=1.0, max_iter=5).fit(X, y)
    >>> model.predict([[-3.0], [0.5], [1.9]]).tolist(), model.support_.tolist()
    (['out', 'in', 'out'], [0, 1, 2, 3, 4])
    """

    _parameter_constraints = OnlineClassifier._parameter_constraints | KERNEL_CONSTRAINTS

    def __init__(
        self,
        variant="PA-I",
        C=1.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        landmarks=None,
        landmark_choice="start",
        landmark_norm="kernel",
        budget=None,
        budget_policy="projection",
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
        n_jobs=None,
        random_state=None,
    ):
        self._keep(locals())


@documented
class KernelPARegressor(KernelModel, OnlineRegressor):
    """Passive-aggressive regressor with a kernel: `PARegressor` without intercept, in the kernel's feature space.

    {parameters}

    Attributes
    ----------
    support_vectors_, dual_coef_, support_, gamma_, n_features_in_, feature_names_in_, n_seen_, n_updates_, \
    n_mistakes_, n_queries_, n_capped_, n_iter_
        As in `KernelPAClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from pa_lab import KernelPARegressor
    >>> X = np.linspace(0.0, 3.0, 31)[:, None]
    >>> model = KernelPARegressor(gamma=1.0, epsilon=0.01, C=10.0, max_iter=20).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.05)
    True
    """

    _parameter_constraints = OnlineRegressor._parameter_constraints | KERNEL_CONSTRAINTS

    def __init__(
        self,
        variant="PA-I",
        C=1.0,
        epsilon=0.1,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        landmarks=None,
        landmark_choice="start",
        landmark_norm="kernel",
        budget=None,
        budget_policy="projection",
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
        n_jobs=None,
        random_state=None,
    ):
        self._keep(locals())
