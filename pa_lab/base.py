"""What the learners share: checked input, counters, random draws, passes with a stopping rule, calls that undo.

An estimator here is a *task* (`OnlineClassifier`, `OnlineRegressor`: what the labels mean) and a *model* (in
`pa_lab.linear` and `pa_lab.kernel`: how the hypothesis is held). The task turns labels into numbers and asks the
model to make passes; the model provides

    _start(n_outputs, X)               zero weights
    _make_pass(X, y, order, C, rule, asking, counts, trace)    one pass in place; returns what `passes.run` returns
    _has_started()                     whether there are weights
    _scores(X), _query_scores(X)       scores to predict with, and those the query rules look at
"""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils import assert_all_finite, column_or_1d, compute_class_weight
from sklearn.utils._param_validation import InvalidParameterError, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from pa_lab.passes import IN_ORDER, NO_TRACE
from pa_lab.queries import (
    ALL,
    ASK_ALL,
    N_MISTAKES,
    N_QUERIES,
    N_SEEN,
    N_UNANSWERED,
    N_UPDATES,
    QUERY_CONSTRAINTS,
    Number,
    QueryMixin,
)
from pa_lab.rules import VARIANTS, allows_slack, make_rule
from pa_lab.undo import all_or_nothing, before_or_after

SHARED_CONSTRAINTS = {
    "variant": [StrOptions(set(VARIANTS))],
    "C": [Number(Real, 0, None, closed="neither")],
    "average": ["boolean"],
    "max_iter": [Number(Integral, 1, None, closed="left")],
    "tol": [Number(Real, 0, None, closed="left"), None],
    "n_iter_no_change": [Number(Integral, 1, None, closed="left")],
    "early_stopping": ["boolean"],
    "validation_fraction": [Number(Real, 0, 1, closed="neither")],
    "shuffle": ["boolean"],
    "batch_size": [Number(Integral, 1, None, closed="left")],
    "warm_start": ["boolean"],
    "random_state": ["random_state", np.random.Generator],
}


class OnlineEstimator(BaseEstimator):
    """A learner that reads its rows as a stream, keeps count, and stays as it was when a call fails."""

    _settled = ("average",)  # parameters that cannot change once there are weights

    def __new__(cls, *args, **options):
        """Make an estimator, unless it is asked for by the name that scikit-learn or river has for a rule."""
        for name in {"loss", "mode"} & options.keys():
            raise TypeError(f"{cls.__name__} has no parameter {name}; got {options[name]!r}. variant='PA-I' is "
                            "scikit-learn's 'hinge' or 'epsilon_insensitive' and river's mode=1, variant='PA-II' the "
                            "squared one and mode=2; the README's table 'Coming from scikit-learn or river' has the "
                            "other names.")  # fmt: skip
        return super().__new__(cls)

    # ---- counters and random streams

    def _begin_counts(self):
        """Start from zero counters and new random streams."""
        self._counts = np.zeros(5, dtype=np.int64)
        vars(self).pop("_rngs", None)

    def _rng(self, use):
        """A random stream of its own for the use ("order" or "query"), made when first drawn from."""
        if not hasattr(self, "_rngs"):
            self._undo.keep_seed(self.random_state)
            self._rngs = dict(zip(("order", "query"), as_generator(self.random_state).spawn(2), strict=True))
        return self._undo.keep_stream(self._rngs[use])

    def __getstate__(self):
        state = super().__getstate__()
        state.pop("_validated", None)  # only saves checks
        return state

    def _count(self, which):
        if not hasattr(self, "_counts"):
            raise not_fitted(self)
        return int(self._counts[which])

    @property
    def n_seen_(self) -> int:
        """Examples seen."""
        return self._count(N_SEEN)

    @property
    def n_updates_(self) -> int:
        """Examples that moved the weights."""
        return self._count(N_UPDATES)

    @property
    def n_mistakes_(self) -> int:
        """Wrong predictions made before each update, among the labels read."""
        return self._count(N_MISTAKES)

    @property
    def n_queries_(self) -> int:
        """Labels asked for."""
        return self._count(N_QUERIES)

    def __sklearn_is_fitted__(self):
        return self._has_started()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- checked input

    def _validate_params(self):
        """Check the parameters; a number for ``variant`` was probably meant for ``C``."""
        if isinstance(self.variant, Real) and not isinstance(self.variant, bool):
            raise InvalidParameterError(
                f"The 'variant' parameter of {type(self).__name__} comes first and must be one of "
                f"{', '.join(map(repr, VARIANTS))}. Got {self.variant!r} instead: for the aggressiveness write "
                f"C={self.variant!r}; help({type(self).__name__}) has the table of parameters.")  # fmt: skip
        super()._validate_params()
        if self.batch_size > 1 and not allows_slack(self.variant):
            raise ValueError(f"batch_size={self.batch_size} with variant='PA' has no solution where the constraints of "
                             "a batch contradict each other: choose variant='PA-I', 'PA-II' or 'PALS'.")  # fmt: skip

    def _check_changes(self):
        """Check parameters that changed between two calls of `partial_fit`, which scikit-learn leaves to `fit`."""
        values = [getattr(self, name) for name in self._parameter_constraints]
        known = getattr(self, "_validated", [object()] * len(values))
        if any(a is not b for a, b in zip(values, known, strict=True)):
            self._validate_params()
            self._validated = values

    def _settle(self):
        """Note the parameters that must stay while the weights live."""
        self._began_with = {name: getattr(self, name) for name in self._settled}

    def _check_settled(self):
        for name, value in self._began_with.items():
            now = getattr(self, name)
            if now is not value and not np.array_equal(now, value):
                raise ValueError(f"{name} cannot change while the model learns on: it began with {value!r}, now it is "
                                 f"{now!r}. Call fit without warm_start to begin anew.")  # fmt: skip

    def _check(self, X, y, reset):
        """Rows and targets as the passes want them; NaN and infinity in X are found by the pass itself."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        X = self._rows(X, reset)
        if not (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iufb"):
            refuse_many_columns(y, self._many_targets)
            y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return X, y

    def _rows(self, X, reset, ensure_all_finite=False):
        """Rows as the passes want them: C-contiguous, or CSR with sorted indices and no duplicates."""
        if not reset and not ensure_all_finite and self._needs_no_check(X):
            return X
        if hasattr(X, "__dask_graph__"):
            raise TypeError("X is a Dask collection, which would be loaded whole: wrap the model in "
                            "dask_ml.wrappers.Incremental or ParallelPostFit, or hand over the blocks one by one "
                            "(X.compute() loads it all).")  # fmt: skip
        row = X[0] if isinstance(X, list | tuple) and X else X
        if row is not X and hasattr(row, "tocsr"):
            raise TypeError("X is a list of sparse rows: pass a single row as it is, or stack several with "
                            "scipy.sparse.vstack.")  # fmt: skip
        if isinstance(row, dict) and not hasattr(row, "tocsr"):  # SciPy's DOK matrices are dictionaries too
            raise TypeError("X holds dictionaries: turn a list of them into rows with "
                            "sklearn.feature_extraction.FeatureHasher, or DictVectorizer if all have the same "
                            "keys.")  # fmt: skip
        refuse_dates(X, "X")
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
                          ensure_all_finite=ensure_all_finite)  # fmt: skip
        if hasattr(X, "indptr"):
            refuse_damaged(X)
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
        return X

    def _needs_no_check(self, X):
        """Whether X is a plain array of the form already seen, for which scikit-learn's checks would cost the most."""
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X) > 0
            and X.shape[1] == self.n_features_in_
            and X.flags.c_contiguous
            and not hasattr(self, "feature_names_in_")
        )

    def _refuse_unless_finite(self, size, X, y=None):
        """Raise if a pass met numbers that it cannot compute with, and say which."""
        if np.isfinite(size):
            return
        assert_all_finite(X.data if hasattr(X, "indptr") else X, input_name="X")
        largest = abs(X).max()
        targets = "" if y is None else f" (or y: up to {abs(y).max():.3g})"
        raise ValueError(f"X holds values so large or so small (up to {largest:.3g}){targets} that norms or weights "
                         "overflow or vanish: scale the features, for example with StandardScaler.")  # fmt: skip

    # ---- passes

    def _asking(self):
        return ASK_ALL

    def _draws(self, asking, n):
        """The query rule with the draws of one pass."""
        if asking.query == ALL:
            return asking
        return asking._replace(draws=self._rng("query").random(n))

    def _take_answers(self, n_rows, counts):
        """Take rows already counted by `should_query` out of ``counts``: the pass will count them."""
        if n_rows > counts[N_UNANSWERED]:
            raise ValueError(f"y holds {n_rows} labels with asked=True, but only {counts[N_UNANSWERED]} of those that "
                             "should_query asked for are still without an answer.")  # fmt: skip
        counts[[N_SEEN, N_QUERIES, N_UNANSWERED]] -= n_rows

    def _learn_rows(self, X, y, C, rule, asked=False, trace=NO_TRACE):
        """Learn from the next rows of the stream, in the order given."""
        self._check_settled()
        counts, asking = self._counts.copy(), self._asking()
        if asked:
            self._take_answers(X.shape[0], counts)
            asking = ASK_ALL
        asking = self._draws(asking, X.shape[0])
        size, _ = self._make_pass(X, y, IN_ORDER, C, rule, asking, counts, trace)
        self._refuse_unless_finite(size, X, y if rule.regression else None)
        self._counts, self.n_iter_ = counts, 1
        return self

    @all_or_nothing
    def _fit_traced(self, X, y, trace):
        """Fit in one pass over the rows as they stand and record every step; see `pa_lab.passes.run`."""
        self._validate_params()
        return self._learn_rows(*self._prepare(X, y, None, starts=True), trace=trace)

    def _learn_passes(self, X, y, C, rule):
        """Learn in up to ``max_iter`` passes, until the stopping rule, if there is one, says enough."""
        self._check_settled()
        self._check_stopping(X.shape[0])
        counts, n = self._counts.copy(), X.shape[0]
        train, held_out = self._hold_out(n, y, rule)
        best, without_gain = np.inf, 0
        for epoch in range(1, self.max_iter + 1):
            order = self._order(train)
            asking = self._draws(self._asking(), len(order) or n)
            size, loss = self._make_pass(X, y, order, C, rule, asking, counts, NO_TRACE)
            self._refuse_unless_finite(size, X, y if rule.regression else None)
            self._counts, self.n_iter_ = counts, epoch
            if self.tol is None and not self.early_stopping:
                continue
            badness = self._held_out_loss(X, y, held_out) if self.early_stopping else loss / (len(order) or n)
            without_gain = 0 if badness < best - (self.tol or 0.0) else without_gain + 1
            best = min(best, badness)
            if without_gain >= self.n_iter_no_change:
                break
        return self

    def _check_stopping(self, n):
        for name in ("tol", "early_stopping"):
            if getattr(self, name) not in (None, False) and self.max_iter == 1:
                raise ValueError(f"{name}={getattr(self, name)!r} needs several passes, max_iter=1 makes one: "
                                 "set max_iter to the most passes to make, for example 100.")  # fmt: skip
        if self.early_stopping and (n * self.validation_fraction < 1 or n * (1 - self.validation_fraction) < 1):
            raise ValueError(f"early_stopping holds out validation_fraction={self.validation_fraction} of the rows, "
                             f"and X has only {n}: give more rows or set early_stopping=False.")  # fmt: skip

    def _order(self, train):
        """The order of one pass over the rows ``train`` (a number: over so many as they stand, without a copy)."""
        if not self.shuffle:
            return IN_ORDER if isinstance(train, int) else train
        return self._rng("order").permutation(train)

    def _hold_out(self, n, y, rule):
        """Rows to learn from (their number if all) and rows held out for early stopping."""
        if not self.early_stopping:
            return n, None
        seed = int(self._rng("order").integers(np.iinfo(np.int32).max))
        try:
            train, held_out = train_test_split(np.arange(n), test_size=self.validation_fraction, random_state=seed,
                                               stratify=None if rule.regression else y)  # fmt: skip
        except ValueError as error:
            raise ValueError(f"early_stopping cannot hold out rows of every class: {error} Give more rows or set "
                             "early_stopping=False.") from error  # fmt: skip
        return np.sort(train), held_out


class OnlineClassifier(ClassifierMixin, QueryMixin, OnlineEstimator):
    """A learner of two or more classes."""

    _many_targets = (
        "for several labels a row (multilabel) wrap the model in sklearn.multiclass.OneVsRestClassifier, which trains "
        "one copy for each label."
    )

    _parameter_constraints = (
        SHARED_CONSTRAINTS
        | QUERY_CONSTRAINTS
        | {
            "class_weight": [StrOptions({"balanced"}), dict, None],
            "multi_class": [StrOptions({"direct", "ovr"})],
        }
    )

    def _validate_params(self):
        super()._validate_params()
        if self.multi_class == "ovr" and self.batch_size > 1:
            raise ValueError(f"batch_size={self.batch_size} solves the joint problem of the classes: it goes with "
                             "multi_class='direct' only.")  # fmt: skip
        if self.class_weight is not None and not allows_slack(self.variant):
            raise ValueError("class_weight is a factor on C, which variant='PA' does not have: choose 'PA-I' or "
                             "'PA-II'.")  # fmt: skip

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Learn from scratch (or on, with ``warm_start``) in up to ``max_iter`` passes.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples, in the order of the stream.
        y : array of shape (n_samples,)
            Labels: any two or more, numbers or strings.
        sample_weight : array of shape (n_samples,), default=None
            Factors on ``C``, by row; not with PA, which has no ``C``. A row of weight 0 moves nothing, but it is seen,
            counts in the mean and may be asked for, so it is not the same as a row left out.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            On NaN or infinity, empty input, fewer than two classes, continuous labels, or parameters out of range.

        Warns
        -----
        UserWarning
            If the labels come in long runs, as in rows sorted by class, and ``shuffle`` is False; if ``max_iter`` is
            above 1 and not every label is asked for.

        Examples
        --------
        >>> from pa_lab import PAClassifier
        >>> PAClassifier(C=0.1).fit([[2.0], [-2.0]], ["on", "off"]).coef_.tolist()
        [[0.4]]
        """
        X, codes, C, rule = self._prepare(X, y, sample_weight, not (self.warm_start and self._has_started()))
        if not self.shuffle:
            warn_of_long_runs(codes, len(self.classes_))
        if self.max_iter > 1 and (self.query != "all" or self.label_budget is not None):
            warnings.warn(f"each of the max_iter={self.max_iter} passes asks anew, and a label asked for again counts "
                          "again: with a query rule or a label_budget set max_iter=1.", stacklevel=4)  # fmt: skip
        return self._learn_passes(X, codes, C, rule)

    def _prepare(self, X, y, sample_weight, starts):
        X, y = self._check(X, y, reset=starts)
        if starts:
            self.classes_ = find_classes(y)
            self._begin(X)
            self._begin_counts()
        codes = encode(y, self.classes_)
        C = self._C_by_row(codes, sample_weight)
        if starts and sample_weight is not None:
            refuse_idle_classes(y, np.asarray(sample_weight, dtype=np.float64))
        return X, codes, C, make_rule(self.variant)

    @all_or_nothing
    def partial_fit(self, X, y, classes=None, sample_weight=None, *, asked=False):
        """Learn from the next rows of the stream, in the order given; fewer than ``batch_size`` are one batch.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples.
        y : array of shape (n_samples,)
            Labels.
        classes : array of shape (n_classes,), default=None
            All labels that may ever come; needed at the first call.
        sample_weight : array of shape (n_samples,), default=None
            Factors on ``C``, by row.
        asked : bool, default=False
            The rows are those `should_query` asked for, already counted: learn from every one, ask for none again.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            As for `fit`; also for ``classes`` missing at the first call or changed later, for a label that is not
            among them, and for ``class_weight="balanced"``, which needs all labels at once.

        Warns
        -----
        UserWarning
            If `should_query` still waits for answers and ``asked`` is False: the query rule then applies twice.

        Examples
        --------
        >>> from pa_lab import PAClassifier
        >>> model = PAClassifier(C=0.1).partial_fit([[2.0]], ["on"], classes=["off", "on"])
        >>> model.partial_fit([[-2.0]], ["off"]).coef_.tolist()
        [[0.4]]
        """
        self._check_changes()
        first = not self._has_started()
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        fresh = not hasattr(self, "_counts")
        X, y = self._check(X, y, reset=fresh)
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' is not supported for partial_fit, which does not see all "
                             "labels at once: pass a dict of weights.")  # fmt: skip
        if first:
            self.classes_ = check_classes(classes)
            self._begin(X)
        elif classes is not None and not self._same_classes(classes):
            raise ValueError(f"classes={classes!r} is not the same as on the last call: {self.classes_!r}.")
        if fresh:
            self._begin_counts()
        if not asked and self.query != "all" and self._counts[N_UNANSWERED]:
            warnings.warn(f"should_query asked for {self._counts[N_UNANSWERED]} labels that have not come yet; if "
                          "these are their rows, pass asked=True, or the query rule applies to them a second time.",
                          stacklevel=3)  # fmt: skip
        codes = encode(y, self.classes_)
        return self._learn_rows(X, codes, self._C_by_row(codes, sample_weight), make_rule(self.variant), asked)

    @before_or_after
    def decision_function(self, X):
        """Scores ``w . x``: above 0 stands for ``classes_[1]``; with more than two classes the highest wins.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)

        Raises
        ------
        NotFittedError
            Before the first `fit` or `partial_fit`.
        ValueError
            On NaN, infinity, another number of features, or values so large that scores overflow.

        Examples
        --------
        >>> from pa_lab import PAClassifier
        >>> PAClassifier(C=0.1).fit([[2.0], [-2.0]], ["on", "off"]).decision_function([[5.0]]).tolist()
        [2.0]
        """
        scores = self._checked_scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @before_or_after
    def predict(self, X):
        """Predict a label for each row; a score of 0 counts as ``classes_[0]``.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        NotFittedError, ValueError
            As `decision_function`.

        Examples
        --------
        >>> from pa_lab import PAClassifier
        >>> PAClassifier().fit([[2.0], [-2.0]], ["on", "off"]).predict([[1.0], [-3.0]]).tolist()
        ['on', 'off']
        """
        scores = self._checked_scores(X)
        if scores.shape[1] == 1:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]

    def _same_classes(self, classes):
        return np.array_equal(classes, self.classes_) or np.array_equal(check_classes(classes), self.classes_)

    def _checked_scores(self, X):
        check_is_fitted(self)
        return refuse_overflow(self._scores(X))

    def _begin(self, X):
        """Start from zero weights."""
        self._settle()
        self._start(1 if len(self.classes_) == 2 else len(self.classes_), X)

    def _held_out_loss(self, X, y, rows):
        """Share of the held-out rows predicted wrongly."""
        scores = self._scores(X[rows])
        two = scores.shape[1] == 1
        predicted = np.where(scores[:, 0] > 0, 1.0, -1.0) if two else scores.argmax(axis=1)
        return np.mean(predicted != y[rows])

    def _C_by_row(self, codes, sample_weight):
        """``C`` times the class weight times the sample weight, for each row."""
        C = np.full(len(self.classes_), float(self.C))
        index = (codes > 0).astype(np.intp) if len(self.classes_) == 2 else codes.astype(np.intp)
        if self.class_weight is not None:
            C *= self._class_factors(index)
        return C[index] * check_weights(sample_weight, len(index), self.variant)

    def _class_factors(self, index):
        """Class weights; the labels are counted here, which is sooner than sorting them."""
        factor = Number(Real, 0, None, closed="left")
        if isinstance(self.class_weight, dict) and not all(map(factor.is_satisfied_by, self.class_weight.values())):
            raise ValueError(f"class_weight must hold finite numbers >= 0; got {self.class_weight!r}.")
        counts = np.bincount(index, minlength=len(self.classes_))
        y, times = self.classes_[counts > 0], counts[counts > 0]
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y, sample_weight=times)
        if not factors.any():
            raise ValueError(f"class_weight={self.class_weight!r} is zero for every class, so nothing would be learnt: "
                             "give one class at least a weight above 0.")  # fmt: skip
        return factors


class OnlineRegressor(RegressorMixin, OnlineEstimator):
    """A learner of real targets, with an epsilon-insensitive tube."""

    _many_targets = (
        "for several targets a row wrap the model in sklearn.multioutput.MultiOutputRegressor, which trains one copy "
        "for each target."
    )

    _parameter_constraints = SHARED_CONSTRAINTS | {"epsilon": [Number(Real, 0, None, closed="left")]}

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Learn from scratch (or on, with ``warm_start``) in up to ``max_iter`` passes.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples, in the order of the stream.
        y : array of shape (n_samples,)
            Targets, finite numbers.
        sample_weight : array of shape (n_samples,), default=None
            Factors on ``C``, by row.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            On NaN or infinity, empty input, several targets a row, or parameters out of range.

        Examples
        --------
        >>> from pa_lab import PARegressor
        >>> PARegressor(C=0.5, epsilon=0.0).fit([[1.0], [3.0]], [2.0, 4.0]).coef_.tolist()
        [1.1]
        """
        X, y, C, rule = self._prepare(X, y, sample_weight, not (self.warm_start and self._has_started()))
        if not C.any():
            raise ValueError("sample_weight is zero on all rows, so nothing would be learnt: give one at least a "
                             "weight above 0.")  # fmt: skip
        return self._learn_passes(X, y, C, rule)

    @all_or_nothing
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from the next rows of the stream, in the order given; fewer than ``batch_size`` are one batch.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples.
        y : array of shape (n_samples,)
            Targets, finite numbers.
        sample_weight : array of shape (n_samples,), default=None
            Factors on ``C``, by row.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            As for `fit`; also for another number of features than before.

        Examples
        --------
        >>> from pa_lab import PARegressor
        >>> model = PARegressor(C=0.5, epsilon=0.0).partial_fit([[1.0]], [2.0])
        >>> model.partial_fit([[3.0]], [4.0]).coef_.tolist()
        [1.1]
        """
        self._check_changes()
        X, y, C, rule = self._prepare(X, y, sample_weight, not self._has_started())
        return self._learn_rows(X, y, C, rule)

    def _prepare(self, X, y, sample_weight, starts):
        X, y = self._check(X, y, reset=starts)
        refuse_dates(y, "y")
        if y.dtype.kind == "c":
            raise ValueError("Complex data not supported: y must hold real targets.")
        y = as_numbers(y, "y")
        assert_all_finite(y, input_name="y")
        if starts:
            self._settle()
            self._start(1, X)
            self._begin_counts()
        C = float(self.C) * check_weights(sample_weight, len(y), self.variant)
        return X, y, C, make_rule(self.variant, self.epsilon)

    @before_or_after
    def predict(self, X):
        """Predict a target for each row.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        NotFittedError
            Before the first `fit` or `partial_fit`.
        ValueError
            On NaN, infinity, another number of features, or values so large that predictions overflow.

        Examples
        --------
        >>> from pa_lab import PARegressor
        >>> PARegressor("PA", epsilon=0.0).fit([[1.0], [3.0]], [2.0, 4.0]).predict([[3.0]]).round(6).tolist()
        [4.0]
        """
        check_is_fitted(self)
        return refuse_overflow(self._scores(X))[:, 0]

    def _held_out_loss(self, X, y, rows):
        """Mean squared error on the held-out rows."""
        return np.mean((self._scores(X[rows])[:, 0] - y[rows]) ** 2)


# ---------------------------------------------------------------- labels and weights


def refuse_overflow(scores):
    """Return scores of new rows unless they overflow."""
    if not np.isfinite(scores).all():
        raise ValueError("X holds values so large that scores overflow: scale the features as in training.")
    return scores


def not_fitted(learner):
    """Return the error to raise, also an AttributeError, where something is asked that a learner will have later.

    >>> from pa_lab import PAClassifier
    >>> str(not_fitted(PAClassifier()))
    'This PAClassifier instance is not fitted yet: call fit or partial_fit first.'
    """
    return NotFittedError(f"This {type(learner).__name__} instance is not fitted yet: call fit or partial_fit first.")


def as_generator(random_state):
    """Return a Generator from anything scikit-learn or NumPy accepts as a seed."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(np.iinfo(np.int32).max)
    return np.random.default_rng(random_state)


def refuse_many_columns(y, advice):
    """Raise, with the advice, if ``y`` has several values a row: an array, a matrix, a frame or a list of lists."""
    if isinstance(y, list) and y and isinstance(y[0], list | tuple | set | np.ndarray):
        shape = (len(y), max(np.size(list(row)) for row in y))
    else:
        shape = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {shape} instead: {advice}")


def refuse_dates(data, name):
    """Raise if an array or a frame holds dates or durations, which would be read as numbers in an unknown unit."""
    dtypes = getattr(data, "dtypes", getattr(data, "dtype", ()))
    for dtype in np.atleast_1d(np.asarray(dtypes, dtype=object)).ravel():
        if str(dtype).lower().startswith(("date", "time", "duration", "period")):
            raise ValueError(f"{name} holds dates or durations ({dtype}): turn them into numbers, such as days since "
                             "the first one.")  # fmt: skip


def refuse_damaged(X):
    """Raise if a CSR matrix names columns that it does not have: compiled code would read beside the weights."""
    if X.nnz and not 0 <= X.indices.min() <= X.indices.max() < X.shape[1]:
        raise ValueError(f"X is a damaged sparse matrix: it has column numbers from {X.indices.min()} to "
                         f"{X.indices.max()}, but {X.shape[1]} columns.")  # fmt: skip


def as_numbers(values, name):
    """Return values as an array of doubles, or raise if they are text."""
    values = np.asarray(values)
    if values.dtype.kind in "US":
        raise ValueError(f"{name} must hold numbers; got {values.ravel()[:1].tolist()[0]!r}.")
    try:
        return values.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from error


def as_weights(values, shape, name):
    """Return weights from outside, dense or sparse, as an array of the shape; one output may come in any form."""
    values = as_numbers(values.toarray() if hasattr(values, "toarray") else values, name)
    if values.shape != shape and not (shape[0] == 1 and values.size == np.prod(shape)):
        raise ValueError(f"{name} must have the shape {shape}; got {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must hold finite numbers.")
    return values.reshape(shape)


def at_least_two(classes, name="y"):
    """Return the classes unless there are fewer than two."""
    if len(classes) < 2:
        raise ValueError(f"{name} must hold at least 2 classes; got {len(classes)} class: {classes!r}.")
    return classes


def check_classes(classes):
    """Return the ``classes`` of a first `partial_fit`, sorted."""
    classes = at_least_two(np.unique(classes), "classes")
    assert_all_finite(classes, input_name="classes")
    return classes


def find_classes(y):
    """Return the labels, sorted. Two whole numbers, the usual case, are found without sorting."""
    if y.dtype.kind in "iubf":
        classes = np.array([y.min(), y.max()])
        whole = (np.isfinite(classes) & (classes == np.floor(classes))).all()
        if whole and ((y == classes[0]) | (y == classes[1])).all():
            return at_least_two(np.unique(classes))
        assert_all_finite(y, input_name="y")
    try:
        check_classification_targets(y)
    except TypeError as error:
        raise ValueError(f"y must hold labels of one kind, text or numbers; got {set(y.tolist())}: {error}") from error
    return at_least_two(np.unique(y))


def encode(y, classes):
    """Return labels as the passes want them: -1.0 and 1.0 for two classes, else class indices."""
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


def check_weights(sample_weight, n, variant):
    """Return sample weights as an array of one factor for each of ``n`` rows, ones if None."""
    if sample_weight is None:
        return np.ones(n)
    weights = as_numbers(sample_weight, "sample_weight")
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}: one weight for each row.")
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError(f"sample_weight must hold finite numbers >= 0; got {weights.min():g} to {weights.max():g}.")
    if not allows_slack(variant) and (weights != 1.0).any():
        raise ValueError("sample_weight is a factor on C, which variant='PA' does not have: choose 'PA-I' or 'PA-II'.")
    return weights


def refuse_idle_classes(y, sample_weight):
    """Raise if all rows of a class have weight 0: it would count as a class and never be learnt."""
    classes, index = np.unique(y, return_inverse=True)
    weights = np.bincount(index, np.broadcast_to(sample_weight, len(index)))
    if not weights.all():
        raise ValueError(f"sample_weight is zero on all rows of the class {classes[weights == 0.0][0]!r}: give it a "
                         "weight or leave its rows out.")  # fmt: skip


def warn_of_long_runs(codes, n_classes):
    """Warn if labels come in runs far longer than chance makes them, as when rows are sorted by class."""
    n = len(codes)
    if n < 50:
        return
    shares = np.bincount(np.maximum(codes, 0.0).astype(np.intp)) / n
    expected = (n - 1) * (1.0 - np.sum(shares**2))
    changes = np.count_nonzero(np.diff(codes))
    if changes <= max(n_classes - 1, 0.02 * expected):
        warnings.warn(f"the labels come in long runs ({changes} changes in {n} rows, about {expected:.0f} expected by "
                      "chance): an online learner forgets the first classes. Set shuffle=True unless this is the order "
                      "of time.", stacklevel=5)  # fmt: skip
