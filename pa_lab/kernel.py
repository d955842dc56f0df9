"""Kernel passive-aggressive learners: the linear learners with inner products replaced by a kernel ``k(x, s)``.

How a weighted sum of kernel functions is held and learnt is in `pa_lab.expansion` (growing, landmarks) and
`pa_lab.budget`, how it is computed in `pa_lab.kernels`; here are the estimators. There is no intercept: to have one,
add a constant to the kernel.

The same rows give the same bits on every processor and with any number of threads. Three things can differ in the last
digits, as they are not computed here: the values of a callable kernel, a precomputed matrix, and the cluster means of
``landmark_choice="kmeans"``.
"""

import warnings
from numbers import Integral, Real

import numpy as np
from scipy.cluster.vq import kmeans2
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils._param_validation import StrOptions

from pa_lab.base import OnlineClassifier, OnlineEstimator, OnlineRegressor, not_fitted
from pa_lab.budget import POLICIES, Budget
from pa_lab.expansion import Block, Growing, Landmarks
from pa_lab.kernels import BLOCK, KINDS, Kernel, refuse_asymmetric, use_threads
from pa_lab.queries import N_SEEN, Number


class KernelModel(OnlineEstimator):
    """A hypothesis held as a weighted sum of kernel functions, in ``_model``; it takes the stream in blocks."""

    _settled = ("average", "kernel", "gamma", "degree", "coef0", "landmarks", "landmark_choice", "landmark_norm",
                "budget", "budget_policy")  # fmt: skip

    # ---- checked input

    def _validate_params(self):
        super()._validate_params()
        if self.landmarks is not None and self.budget is not None:
            raise ValueError("landmarks and budget exclude each other: a budget chooses its own vectors.")
        if self.budget is not None and self.average:
            raise ValueError("average=True needs every vector ever held, which budget does not keep.")
        if self.budget is not None and self.batch_size > 1:
            raise ValueError(f"batch_size={self.batch_size} does not go with budget, kept update by update.")

    def _check(self, X, y, reset):
        X, y = super()._check(X, y, reset)
        assert_all_finite(X.data if hasattr(X, "indptr") else X, input_name="X")
        if self.kernel == "precomputed":
            if not reset or not X.shape[0] == X.shape[1] or hasattr(X, "indptr"):
                raise ValueError("kernel='precomputed' needs the square matrix of kernel values of all rows, dense, "
                                 f"in one call with no partial_fit after it; got X of shape {X.shape}.")  # fmt: skip
            refuse_asymmetric(X, "X must be symmetric with kernel='precomputed'; X")
        return X, y

    def _needs_no_check(self, X):
        return False

    def _refuse_unless_finite(self, size, X, y=None):
        if not np.isfinite(size):
            raise ValueError(f"X (or y) gives kernel={self.kernel!r} values so large or so small that scores overflow: "
                             "scale the features, for example with StandardScaler.")  # fmt: skip

    # ---- the empty model

    def _start(self, n_outputs, X):
        self._n_outputs, self._model, self._passed = n_outputs, None, 0

    def _has_started(self):
        return getattr(self, "_model", None) is not None

    def _empty_model(self, X, order):
        """Return the model to begin with, once the first rows of the stream are there."""
        self.gamma_ = self._gamma(X)
        kernel = Kernel(self.kernel, self.gamma_, self.degree, float(self.coef0), X.dtype)
        if self.landmarks is not None:
            rows, ids = self._landmark_rows(X, order)
            return Landmarks(kernel, rows, ids, self._n_outputs, self.average, self.landmark_norm)
        if self.budget is not None:
            return Budget(kernel, X.shape[1], self._n_outputs, self.budget, POLICIES.index(self.budget_policy))
        return Growing(kernel, X.shape[1], self._n_outputs, self.average, X.shape[0])

    def _gamma(self, X):
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        spread = variance(X) if self.gamma == "scale" else 1.0
        self._refuse_unless_finite(spread, X)
        return 1.0 / (X.shape[1] * spread) if spread > 0 else 1.0

    def _landmark_rows(self, X, order):
        """Return the landmarks and their numbers in the stream, -1 if they are no rows of it."""
        if isinstance(self.landmarks, Integral):
            return self._chosen_landmarks(self.landmarks, X, order)
        return self._given_landmarks(self.landmarks, X)

    def _given_landmarks(self, landmarks, X):
        if self.kernel == "precomputed":
            numbers = np.asarray(landmarks)
            if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not np.isin(numbers, np.arange(len(X))).all():
                raise ValueError(f"landmarks must be numbers of the {X.shape[0]} rows, from 0; got {landmarks!r}.")
            return X[numbers], numbers
        if len(np.shape(landmarks)) != 2 or not all(np.shape(landmarks)):
            raise ValueError(f"landmarks must be a number of rows, or rows in an array of shape (m, {X.shape[1]}); "
                             f"got an array of shape {np.shape(landmarks)}.")  # fmt: skip
        rows = check_array(landmarks, dtype=X.dtype, order="C", input_name="landmarks")
        if rows.shape[1] != X.shape[1]:
            raise ValueError(f"landmarks have {rows.shape[1]} features, X has {X.shape[1]}.")
        return rows, np.full(len(rows), -1)

    def _chosen_landmarks(self, m, X, order):
        if m > X.shape[0]:
            raise ValueError(f"landmarks={m} is more than the {X.shape[0]} rows of the first call, of which they are "
                             "chosen: pass more rows, or the landmarks as an array.")  # fmt: skip
        first = order if len(order) else np.arange(min(X.shape[0], 10 * m))
        if self.landmark_choice == "start":
            return dense(X[first[:m]]), first[:m]
        if self.kernel == "precomputed":
            raise ValueError("landmark_choice='kmeans' needs rows, not kernel='precomputed'.")
        seed = int(self._rng("order").integers(np.iinfo(np.int32).max))
        return cluster_means(dense(X[first[: 10 * m]]), m, seed), np.full(m, -1)

    # ---- learning and scoring

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is found in the scores
    def _make_pass(self, X, y, order, C, rule, asking, counts, trace):
        """Pass the rows through the model, block by block."""
        n = len(order) or X.shape[0]
        power = {"rbf": 2, "laplacian": 1}.get(str(self.kernel), 0)
        farthest = X.shape[1] * np.float64(2 * max(X.max(), -X.min())) ** power  # an infinite distance: a value of 0
        self._refuse_unless_finite(farthest if farthest < np.finfo(X.dtype).max else np.inf, X)
        if self._model is None:
            self._model = self._empty_model(X, order)
        elif self._model is self._undo.attributes.get("_model"):
            self._model = self._model.fork(self._passed, X.shape[0])
        step = max(self.batch_size, BLOCK // self.batch_size * self.batch_size)
        one_vs_rest = getattr(self, "multi_class", "direct") == "ovr"
        sums = np.zeros(2)
        with use_threads(self.n_jobs) as threads:
            for at in range(0, n, step):
                part = slice(at, min(at + step, n))
                rows = order[part] if len(order) else part
                draws = asking._replace(draws=asking.draws[part])
                sums += self._model.learn(
                    Block(dense(X[rows]), self._passed + np.r_[rows], np.array(y[rows]), C[rows], rule, draws, counts,
                          trace[part], self.batch_size, one_vs_rest, self._undo, threads)
                )  # fmt: skip
                self._refuse_unless_finite(sums[0], X)
        self._refuse_unless_finite(self._model.predicting(counts[N_SEEN]).sum(), X)
        return sums

    def _learn_rows(self, X, y, *args, **kwargs):
        if self._model is None and self.gamma == "scale" and X.shape[0] == 1 and self.kernel in KINDS[1:]:
            warnings.warn("gamma='scale' is taken from the first call, which has a single row: pass a number as gamma, "
                          "or more rows at first.", stacklevel=4)  # fmt: skip
        super()._learn_rows(X, y, *args, **kwargs)
        return self._end_call(X)

    def _learn_passes(self, X, y, *args):
        super()._learn_passes(X, y, *args)
        return self._end_call(X)

    def _end_call(self, X):
        self._passed += X.shape[0]
        self._model.forget_rows()
        return self

    @np.errstate(over="ignore", invalid="ignore")
    def _scores(self, X, weights=None):
        """Return scores under the weights to predict with, or under others: an array of shape (n_rows, n_outputs)."""
        model, X = self._model, self._rows(X, reset=False, ensure_all_finite=True)
        weights = model.predicting(self._counts[N_SEEN]) if weights is None else weights
        with use_threads(self.n_jobs) as threads:
            return model.kernel.scores(X, model.vectors, weights, threads)

    def _query_scores(self, X):
        """Return the score the query rules look at: the last weights', with several classes the lead of the best."""
        if not self._has_started():
            return np.zeros(X.shape[0])
        scores = np.sort(self._scores(X, self._model.last), axis=1)
        return scores[:, -1] - scores[:, -2] if scores.shape[1] > 1 else scores[:, 0]

    # ---- what is shown

    @property
    def support_(self) -> np.ndarray:
        """Numbers of the vectors among the rows passed to `fit` and `partial_fit`."""
        return self._shown().vectors.ids.copy()

    @property
    def support_vectors_(self) -> np.ndarray:
        """The vectors held, row by row."""
        return self._shown().vectors.rows()

    @property
    def dual_coef_(self) -> np.ndarray:
        """Weights of the vectors to predict with, a row for each output."""
        return np.array(self._shown().predicting(self._counts[N_SEEN]).T, order="C")

    def _shown(self):
        if not self._has_started():
            raise not_fitted(self)
        return self._model

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def dense(X):
    """Return rows as a C-contiguous array."""
    return np.ascontiguousarray(X.toarray() if hasattr(X, "indptr") else X)


def variance(X):
    """Return the variance of all entries of a dense or sparse matrix, without a copy of it.

    >>> variance(np.array([[1.0, 3.0]]))
    1.0
    """
    if hasattr(X, "indptr"):
        return float(X.multiply(X).mean() - X.mean() ** 2)
    mean, total = X.mean(dtype=np.float64), 0.0
    for at in range(0, len(X), BLOCK):
        total += np.square(X[at : at + BLOCK] - mean).sum(dtype=np.float64)
    return float(total / X.size)


def cluster_means(X, m, seed):
    """Return the means of ``m`` clusters of rows: k-means from a k-means++ start, in one thread."""
    start = kmeans_plusplus(X, m, random_state=seed)[0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One of the clusters is empty")  # it keeps its start
        return kmeans2(X, start, iter=20, minit="matrix")[0].astype(X.dtype, copy=False)


KERNEL_CONSTRAINTS = {
    "kernel": [StrOptions({*KINDS, "precomputed"}), callable],
    "gamma": [StrOptions({"scale", "auto"}), Number(Real, 0, None, closed="neither")],
    "degree": [Number(Integral, 0, 2**31, closed="left")],
    "coef0": [Number(Real, None, None, closed="neither")],
    "landmarks": [Number(Integral, 1, None, closed="left"), "array-like", None],
    "landmark_choice": [StrOptions({"start", "kmeans"})],
    "landmark_norm": [StrOptions({"kernel", "euclidean"})],
    "budget": [Number(Integral, 1, 2**31, closed="left"), None],
    "budget_policy": [StrOptions(set(POLICIES))],
    "n_jobs": [Integral, None],
}


class KernelPAClassifier(KernelModel, OnlineClassifier):
    """Passive-aggressive classifier with a kernel: `PAClassifier` without intercept, in the kernel's feature space.

    The score is ``p = sum_j a_j k(x, s_j)`` over the examples that once moved it, and an update adds the example with
    the coefficient ``tau y``, where ``||x||^2`` in ``tau`` has become ``k(x, x)`` (Crammer et al., 2006, section 8).

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II", "PALS"}, default="PA-I"
        The rule for the step size; see `pa_lab.rules`.
    C : float > 0, default=1.0
        Aggressiveness: the price of slack. PA ignores it.
    kernel : {"linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed"} or callable, default="rbf"
        As in scikit-learn. A callable takes two arrays of rows and returns the matrix of kernel values. With
        "precomputed", `fit` takes the square matrix of kernel values of the training rows, and `predict` one row for
        each new example: its kernel values with all training rows. The exact step needs a positive semidefinite
        kernel, which "sigmoid" is not always.
    gamma : {"scale", "auto"} or float > 0, default="scale"
        Factor in all kernels but "linear"; "scale" is ``1 / (n_features * X.var())`` and "auto" ``1 / n_features``,
        taken from the rows of the first call: in a stream of single rows pass a number.
    degree : int >= 0, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    landmarks : int >= 1, array of shape (m, n_features) or None, default=None
        Keep the hypothesis in the span of this many rows, or of the rows given; with "precomputed", give the numbers
        of the rows. Landmarks that the others span up to rounding are left out.
    landmark_choice : {"start", "kmeans"}, default="start"
        Which rows an integer stands for: the first ones of the stream, or the means of so many clusters of its first
        ``10 m`` rows. All of them must be in the first call.
    landmark_norm : {"kernel", "euclidean"}, default="kernel"
        The norm in which a step changes the hypothesis least. With "kernel" it is the exact step in the span,
        ``tau = loss / (k' K^-1 k [+ 1/(2C)])``. With "euclidean" the row ``k`` of kernel values serves as features of
        the linear learner.
    budget : int >= 1 or None, default=None
        Never hold more vectors than this.
    budget_policy : {"removal", "nearest", "projection", "oldest", "smallest"}, default="projection"
        Which vector goes when one more would be too many. The first three solve the problem of Wang and Vucetic
        (2010), with new coefficients for the example alone, for it and the nearest vector, or for all vectors (see
        `pa_lab.budget`). An update costs O(b), about O(b) and O(b^2). "oldest" drops the vector that came first,
        "smallest" the one with the least coefficient.
    average : bool, default=False
        Predict with the mean of the weights after each example instead of the last weights; not with
        ``budget``.
    max_iter : int >= 1, default=1
        Passes over the data made by `fit`.
    tol : float >= 0 or None, default=None
        Stop when the mean loss of a pass has not fallen by this much for ``n_iter_no_change`` passes; None makes all
        ``max_iter`` passes.
    n_iter_no_change : int >= 1, default=5
        Passes without improvement before stopping.
    early_stopping : bool, default=False
        Judge the passes on rows held out from learning.
    validation_fraction : float in (0, 1), default=0.1
        Share of the rows held out with ``early_stopping``.
    shuffle : bool, default=False
        Whether `fit` draws a new order of the rows for each pass.
    class_weight : dict, "balanced" or None, default=None
        Factors on ``C``, by class; not with PA.
    multi_class : {"direct", "ovr"}, default="direct"
        With more than two classes, one problem for all, or one for each class against the rest.
    batch_size : int >= 1, default=1
        Rows that share one update, the exact solution of their joint problem; not with PA or ``budget``.
    query : {"all", "margin", "random", "threshold"}, default="all"
        Which labels to ask for; see `pa_lab.queries`.
    delta : float > 0, default=1.0
        Smoothing of ``query="margin"``, and the bound of ``query="threshold"``.
    query_rate : float in [0, 1] or None, default=None
        Probability of asking with ``query="random"``.
    label_budget : int >= 0 or None, default=None
        Number of labels after which no more are asked for.
    warm_start : bool, default=False
        Let `fit` go on from the weights and counters of the last call.
    n_jobs : int or None, default=None
        Threads that compute kernel values, as in scikit-learn: None means 1, -1 all processors. The results do not
        depend on it. A callable kernel is called from one thread.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the orders, the queries and the clusters.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_vectors, n_features)
        The vectors held, dense; with "precomputed", their rows of kernel values. Like the next two, a copy made when
        it is read.
    dual_coef_ : ndarray of shape (1, n_vectors) or (n_classes, n_vectors)
        Their coefficients.
    support_ : ndarray of shape (n_vectors,)
        Their numbers among the rows passed to `fit` and `partial_fit`, -1 for landmarks that are no rows of these.
    gamma_ : float
        The number ``gamma`` came to.
    classes_, n_features_in_, feature_names_in_, n_seen_, n_updates_, n_mistakes_, n_queries_, n_iter_
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
        n_jobs=None,
        random_state=None,
    ):
        self.variant = variant
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.landmark_choice = landmark_choice
        self.landmark_norm = landmark_norm
        self.budget = budget
        self.budget_policy = budget_policy
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
        self.n_jobs = n_jobs
        self.random_state = random_state


class KernelPARegressor(KernelModel, OnlineRegressor):
    """Passive-aggressive regressor with a kernel: `PARegressor` without intercept, in the kernel's feature space.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II", "PALS"}, default="PA-I"
        The rule for the step size; see `pa_lab.rules`. PALS takes ``epsilon`` as 0.
    C : float > 0, default=1.0
        Aggressiveness: the price of slack. PA ignores it.
    epsilon : float >= 0, default=0.1
        Half-width of the tube, in units of ``y``.
    kernel : {"linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed"} or callable, default="rbf"
        The kernel; `KernelPAClassifier` says more of this and of what follows.
    gamma : {"scale", "auto"} or float > 0, default="scale"
        Factor in all kernels but "linear".
    degree : int >= 0, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    landmarks : int >= 1, array of shape (m, n_features) or None, default=None
        Keep the hypothesis in the span of this many rows, or of the rows given.
    landmark_choice : {"start", "kmeans"}, default="start"
        Which rows an integer stands for.
    landmark_norm : {"kernel", "euclidean"}, default="kernel"
        The norm in which a step changes the hypothesis least.
    budget : int >= 1 or None, default=None
        Never hold more vectors than this.
    budget_policy : {"removal", "nearest", "projection", "oldest", "smallest"}, default="projection"
        Which vector goes when one more would be too many.
    average : bool, default=False
        Predict with the mean of the weights after each example instead of the last weights; not with
        ``budget``.
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
        Rows that share one update, the exact solution of their joint problem; not with PA or ``budget``.
    warm_start : bool, default=False
        Let `fit` go on from the weights and counters of the last call.
    n_jobs : int or None, default=None
        Threads that compute kernel values.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the orders and the clusters.

    Attributes
    ----------
    support_vectors_, dual_coef_, support_, gamma_, n_features_in_, feature_names_in_, n_seen_, n_updates_, \
    n_mistakes_, n_queries_, n_iter_
        As in `KernelPAClassifier`; a mistake is a prediction outside the tube.

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
        self.variant = variant
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.landmark_choice = landmark_choice
        self.landmark_norm = landmark_norm
        self.budget = budget
        self.budget_policy = budget_policy
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.shuffle = shuffle
        self.batch_size = batch_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
