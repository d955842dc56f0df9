"""What the learners share: fit, partial_fit, predict, stopping, counters, random draws.

An estimator is a *task* (`OnlineClassifier`, `OnlineRegressor`: what the labels mean) and a *model* (in `pa_lab.linear`
and `pa_lab.kernel`: how the hypothesis is held). A call of `fit` goes this way: `pa_lab.data` checks rows and labels,
`_learn_passes` draws an order for each pass, `_make_pass` hands the rows to the model, whose ``learn`` ends in
`pa_lab.passes`. A model, in ``_model`` once there is one, has

    learn(...)          one pass, or a block of one, in place
    scores(X, weights)  scores of rows under some weights
    last, mean(counts)  the last weights and their mean

and an estimator has ``_begin_call(X, passes)``, which sees to it that ``_model`` can be changed in place.
"""

import copy
import functools
import operator
import threading
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils import assert_all_finite
from sklearn.utils._param_validation import InvalidParameterError, StrOptions
from sklearn.utils.validation import check_is_fitted

from pa_lab import data, notices
from pa_lab.calls import all_or_nothing, before_or_after
from pa_lab.passes import IN_ORDER, NO_TRACE, SHORTEST, Examples, Way
from pa_lab.queries import (
    ALL,
    ASK_ALL,
    N_AVERAGED,
    N_CAPPED,
    N_COUNTERS,
    N_FREE,
    N_MISTAKES,
    N_QUERIES,
    N_SEEN,
    N_UNANSWERED,
    N_UPDATES,
    NO_DRAWS,
    NO_LIMIT,
    QUERIES,
    QUERY_CONSTRAINTS,
    THRESHOLD,
    WINDOW,
    Asking,
    Number,
    PaidLabels,
    append,
    judge,
)
from pa_lab.rules import VARIANTS, allows_slack, make_rule

SHARED_CONSTRAINTS = {
    "variant": [StrOptions(set(VARIANTS))],
    "C": [Number(Real, 0, None, closed="neither")],
    "average": ["boolean"],
    "half_life": [Number(Real, 0, None, closed="neither"), None],
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

    _settled = ("average", "half_life")  # parameters that cannot change once there are weights

    def __new__(cls, *args, **options):
        """Make an estimator, unless it is asked for by the name that scikit-learn or river has for a rule."""
        for name in {"loss", "mode"} & options.keys():
            raise TypeError(f"{cls.__name__} has no parameter {name}; got {options[name]!r}. variant='PA-I' is "
                            "scikit-learn's 'hinge' or 'epsilon_insensitive' and river's mode=1, variant='PA-II' the "
                            "squared one and mode=2; the README's table 'Coming from scikit-learn or river' has the "
                            "other names.")  # fmt: skip
        return super().__new__(cls)

    def _keep(self, arguments):
        """Keep the arguments of ``__init__``, each under its name."""
        for name in arguments.keys() - {"self"}:
            setattr(self, name, arguments[name])

    # ---- counters and random streams

    def _begin_model(self, n_outputs):
        """Begin without weights, and note the parameters that must stay while the weights live."""
        self._began_with = {name: getattr(self, name) for name in self._settled}
        self._model, self._n_outputs = None, n_outputs

    def _begin_counts(self):
        """Begin with zero counters and new random streams."""
        self._counts = np.zeros(N_COUNTERS, dtype=np.int64)
        vars(self).pop("_streams", None)

    def _draw(self, use, what, *arguments):
        """Draw from a random stream of its own for the use, "order" or "query", made when first drawn from.

        What is held is the state of each stream, which a draw replaces, so that a call that fails leaves it as it was.
        """
        if not hasattr(self, "_streams"):
            made = as_generator(self.random_state).spawn(2)
            self._streams = {
                use: stream.bit_generator.state for use, stream in zip(("order", "query"), made, strict=True)
            }
            self._stream_kind = type(made[0].bit_generator)
        stream = stream_at(self._stream_kind, self._streams[use])
        drawn = getattr(stream, what)(*arguments)
        self._streams = self._streams | {use: stream.bit_generator.state}
        return drawn

    @before_or_after
    def __getstate__(self):
        """What a pickle or a copy holds: weights of its own."""
        state = super().__getstate__()
        state.pop("_validated", None)  # only saves checks
        return state | {"_model": copy.deepcopy(state["_model"])} if "_model" in state else state

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
    def n_capped_(self) -> int:
        """Updates that C shortened by more than a tenth."""
        return self._count(N_CAPPED)

    @property
    def n_mistakes_(self) -> int:
        """Wrong predictions made before each update, among the labels read."""
        return self._count(N_MISTAKES)

    @property
    def n_queries_(self) -> int:
        """Labels asked for."""
        return self._count(N_QUERIES)

    def _keeps_drift(self):
        """Whether the mean of the weights differs from the last ones."""
        return self.average and (self.half_life is None or self.half_life > SHORTEST)

    def _has_started(self):
        return getattr(self, "_model", None) is not None

    def _started_model(self):
        if not self._has_started():
            raise not_fitted(self)
        return self._model

    def _shown_weights(self):
        """The weights to predict with: the last, or with ``average`` their mean after each example."""
        return self._started_model().mean(self._counts)

    def __sklearn_is_fitted__(self):
        return self._has_started()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- checked parameters and rows

    def _validate_params(self):
        """Check the parameters; a number for ``variant`` was probably meant for ``C``."""
        if isinstance(self.variant, Real) and not isinstance(self.variant, bool):
            raise InvalidParameterError(
                f"The 'variant' parameter of {type(self).__name__} comes first and must be one of "
                f"{', '.join(map(repr, VARIANTS))}. Got {self.variant!r} instead: for the aggressiveness write "
                f"C={self.variant!r}; help({type(self).__name__}) has the table of parameters.")  # fmt: skip
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            raise InvalidParameterError(f"{error}{data.did_you_mean(self)}") from None
        if self.half_life is not None and not self.average:
            raise ValueError(f"half_life={self.half_life!r} is the memory of the mean of the weights: set average=True "
                             "as well, or half_life=None to predict with the last weights.")  # fmt: skip
        if self.batch_size > 1 and not allows_slack(self.variant):
            raise ValueError(f"batch_size={self.batch_size} with variant='PA' has no solution where the constraints of "
                             "a batch contradict each other: choose variant='PA-I', 'PA-II' or 'PALS'.")  # fmt: skip

    def _check_changes(self):
        """Check parameters that changed between two calls of `partial_fit`, which scikit-learn leaves to `fit`."""
        values = parameters_of(type(self))(self)
        if not all(map(operator.is_, values, getattr(self, "_validated", [None] * len(values)))):
            self._validate_params()
            self._validated = values

    def _check_settled(self):
        for name, value in self._began_with.items():
            now = getattr(self, name)
            if now is not value and not np.array_equal(now, value):
                raise ValueError(f"{name} cannot change while the model learns on: it began with {value!r}, now it is "
                                 f"{now!r}. Call fit without warm_start to begin anew.")  # fmt: skip

    def _read(self, X, y, reset):
        """Rows and targets as the passes want them; a pass finds NaN and infinity in X itself."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        X = data.read_rows(self, X, reset, finite=False)
        return X, data.read_targets(X, y, self._many_targets)

    def _refuse_unless_finite(self, sentinel, X, y=None):
        """Raise if a pass met numbers that it cannot compute with, and say which."""
        if np.isfinite(sentinel):
            return
        assert_all_finite(X.data if hasattr(X, "indptr") else X, input_name="X")
        largest = abs(X).max()
        targets = "" if y is None else f" (or y: up to {abs(y).max():.3g})"
        raise ValueError(f"X holds values so large or so small (up to {largest:.3g}){targets} that norms or weights "
                         "overflow or vanish: scale the features, for example with StandardScaler.")  # fmt: skip

    # ---- passes

    def _asking(self, n=None):
        return ASK_ALL

    @np.errstate(all="ignore")  # what overflows is found in the sentinel
    def _pass(self, X, examples, asking, counts):
        """Make one pass and return the sum of the losses."""
        n, seen, pays = len(examples.order) or X.shape[0], counts[N_SEEN], asking.budget < NO_LIMIT
        if asking.query != ALL:
            asking, pays = asking._replace(draws=self._draw("query", "random", n)), True
        if pays and not len(examples.trace):
            examples = examples._replace(trace=np.empty((n, NO_TRACE.shape[1])))
        rule = self._rule()
        way = Way(rule, asking, self.batch_size, getattr(self, "multi_class", "direct") == "ovr")
        sentinel, losses = self._make_pass(X, examples, way, counts)
        self._refuse_unless_finite(sentinel, X, examples.y if rule.regression else None)
        if pays:
            paid = np.flatnonzero(~np.isnan(examples.trace[:, 1]))
            y = examples.y[examples.order[paid] if len(examples.order) else paid]
            score, _, probability, mistake = examples.trace[paid].T
            self._paid = append(self._paid, np.column_stack([seen + paid, probability, score, y, mistake]))
        return losses

    def _learn_rows(self, X, y, C, asked=False, trace=NO_TRACE):
        """Learn from the next rows of the stream, in the order given."""
        self._check_settled()
        before, counts, free = self._counts, self._counts.copy(), isinstance(asked, str) and asked == "free"
        if asked is False:
            asking = self._asking(len(y) if len(trace) else None)
        else:
            asking = ASK_ALL
            if not free:
                self._take_answers(asked, y, counts)
        self._pass(self._begin_call(X, 1), Examples(y, C, IN_ORDER, trace), asking, counts)
        if free:
            counts[N_QUERIES] -= len(y)
            counts[N_FREE] += len(y)
        self._counts, self.n_iter_ = counts, 1
        self._end_call(X)
        notices.of_idle_weights(self, before, C)
        notices.of_silence(self, before)
        return self

    @all_or_nothing
    def _fit_traced(self, X, y, trace):
        """Fit in one pass over the rows as they stand and record every step; see `pa_lab.passes.run`."""
        self._validate_params()
        return self._learn_rows(*self._prepare(X, y, None, starts=True), trace=trace)

    def _learn_passes(self, X, y, C):
        """Learn in up to ``max_iter`` passes, until the stopping rule, if there is one, says enough."""
        self._check_settled()
        n = X.shape[0]
        self._check_stopping(n)
        self._begin_call(X, self.max_iter)
        before, counts, (train, held_out) = self._counts, self._counts.copy(), self._hold_out(n, y)
        asking = self._asking(n)
        best, without_gain = np.inf, 0
        for epoch in range(1, self.max_iter + 1):
            order = self._order(train)
            losses = self._pass(X, Examples(y, C, order, NO_TRACE), asking, counts)
            self._counts, self.n_iter_ = counts, epoch
            if self.tol is None and not self.early_stopping:
                continue
            badness = self._held_out_loss(X, y, held_out) if self.early_stopping else losses / (len(order) or n)
            without_gain = 0 if badness < best - (self.tol or 0.0) else without_gain + 1
            best = min(best, badness)
            if without_gain >= self.n_iter_no_change:
                break
        self._end_call(X)
        notices.of_idle_weights(self, before, C)
        notices.of_silence(self, before)
        if self._rule().regression:
            notices.of_small_steps(self, before, losses, y)
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
        return self._draw("order", "permutation", train)

    def _hold_out(self, n, y):
        """Rows to learn from (their number if all) and rows held out for early stopping."""
        if not self.early_stopping:
            return n, None
        seed = int(self._draw("order", "integers", np.iinfo(np.int32).max))
        try:
            train, held_out = train_test_split(np.arange(n), test_size=self.validation_fraction, random_state=seed,
                                               stratify=y if is_classifier(self) else None)  # fmt: skip
        except ValueError as error:
            raise ValueError(f"early_stopping cannot hold out rows of every class: {error} Give more rows or set "
                             "early_stopping=False.") from error  # fmt: skip
        return np.sort(train), held_out

    # ---- scores

    def _new_scores(self, X):
        """Scores of rows from outside under the weights to predict with: an array of shape (n_rows, n_outputs)."""
        check_is_fitted(self)
        scores = self._scores(data.read_rows(self, X, reset=False), self._shown_weights())
        if not np.isfinite(scores).all():
            raise ValueError("X holds values so large that scores overflow: scale the features as in training.")
        return scores

    def _held_out_scores(self, X):
        return self._scores(data.read_rows(self, X, reset=False), self._shown_weights())


class OnlineClassifier(ClassifierMixin, OnlineEstimator):
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
            "cost": [dict, "array-like", None],
            "multi_class": [StrOptions({"direct", "ovr"})],
        }
    )

    def _validate_params(self):
        super()._validate_params()
        if self.query == "random" and self.query_rate is None:
            raise ValueError("query='random' needs query_rate, the share of the labels to ask for; got None.")
        if self.delta == "auto":
            self._refuse_unless_steerable()
        if self.multi_class == "ovr" and self.batch_size > 1:
            raise ValueError(f"batch_size={self.batch_size} solves the joint problem of the classes: it goes with "
                             "multi_class='direct' only.")  # fmt: skip
        if self.multi_class == "ovr" and self.cost is not None:
            raise ValueError("cost sets the right class against a wrong one: it goes with multi_class='direct' only.")
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
        X, codes, C = self._prepare(X, y, sample_weight, not (self.warm_start and self._has_started()))
        if not self.shuffle:
            data.warn_of_long_runs(codes, len(self.classes_))
        if self.max_iter > 1 and (self.query != "all" or self.label_budget is not None):
            notices.warn(f"each of the max_iter={self.max_iter} passes asks anew, and a label asked for again counts "
                         "again: with a query rule or a label_budget set max_iter=1.")  # fmt: skip
        notices.of_idle_parameters(self)
        return self._learn_passes(X, codes, C)

    def _rule(self):
        if self.cost is None:
            return make_rule(self.variant)
        return make_rule(self.variant, goals=data.read_goals(self.cost, self.classes_))

    def _prepare(self, X, y, sample_weight, starts):
        X, y = self._read(X, y, reset=starts)
        if starts:
            self.classes_ = data.find_classes(y)
            self._begin_model(n_outputs(self.classes_))
            self._begin_counts()
        codes = data.encode(y, self.classes_)
        C = data.price_rows(self, codes, sample_weight)
        if starts and sample_weight is not None:
            data.refuse_idle_classes(y, np.asarray(sample_weight, dtype=np.float64))
        return X, codes, C

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
            Labels that may come; needed at the first call. Later ones are added: a new class begins with weights of 0,
            and in the mean it counts as if it had always been there. A model of two classes has one vector of weights,
            of which a third class leaves the first two one half each, with opposite signs.
        sample_weight : array of shape (n_samples,), default=None
            Factors on ``C``, by row.
        asked : False, True, array of int or "free", default=False
            Whose answers these are. False: nobody's, the query rule decides which of the labels to read. True: those
            of all open questions of `should_query`, in the order asked; an array of identifiers: those of the
            questions named. "free": labels that cost nothing; learn from every one, at no cost to the budget, and
            leave them out of ``paid_labels_``.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            As for `fit`; also for ``classes`` missing at the first call, for a label that is not among them, for an
            answer to a question that is not open, and for ``class_weight="balanced"``, which needs all labels at once.

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
        if data.are_empty(X, y):
            return self
        first = not self._has_started()
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        fresh = not hasattr(self, "_counts")
        X, y = self._read(X, y, reset=fresh)
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' is not supported for partial_fit, which does not see all "
                             "labels at once: pass a dict of weights.")  # fmt: skip
        if first:
            self.classes_ = data.at_least_two(data.check_classes(classes), "classes")
            self._begin_model(n_outputs(self.classes_))
        elif classes is not None and not np.array_equal(classes, self.classes_):
            self._add_classes(classes)
        if fresh:
            self._begin_counts()
        if isinstance(asked, bool | np.bool_) and not asked and self.query != "all" and self._open:
            notices.warn(f"should_query asked for {len(self._open)} labels that have not come yet; if these are their "
                         "rows, pass asked=True, or the query rule applies to them a second time. For labels that cost "
                         "nothing pass asked='free'.")  # fmt: skip
        codes = data.encode(y, self.classes_)
        asked = bool(asked) if isinstance(asked, np.bool_) else asked
        return self._learn_rows(X, codes, data.price_rows(self, codes, sample_weight), asked)

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
        scores = self._new_scores(X)
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
        scores = self._new_scores(X)
        if scores.shape[1] == 1:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]

    def _add_classes(self, classes):
        known, self.classes_ = self.classes_, data.check_classes(self.classes_, classes)
        if len(self.classes_) > len(known):
            self._n_outputs = len(self.classes_)
            half = 1.0 if self.multi_class == "ovr" else 0.5
            places = np.searchsorted(self.classes_, known)
            self._model = self._model.widened(places, self._n_outputs, half)
            self._open = {i: (q, p, places[guess]) for i, (q, p, guess) in self._open.items()}
            self._paid = tuple(part.copy() for part in self._paid)
            for paid in self._paid:
                paid[:, 3] = places[np.maximum(paid[:, 3], 0).astype(int)]

    def _held_out_loss(self, X, y, rows):
        """Share of the held-out rows predicted wrongly."""
        scores = self._held_out_scores(X[rows])
        two = scores.shape[1] == 1
        predicted = np.where(scores[:, 0] > 0, 1.0, -1.0) if two else scores.argmax(axis=1)
        return np.mean(predicted != y[rows])

    # ---- asking for labels

    def _begin_counts(self):
        """Begin with zero counters, no questions, no answers and nothing to steer by."""
        super()._begin_counts()
        self._open, self._paid, self._memory = {}, (), None

    def _asking(self, n=None):
        """The query rule, without draws, for a call of `fit` with ``n`` rows or for others; its memory may change."""
        budget = NO_LIMIT if self.label_budget is None else min(self.label_budget, NO_LIMIT)
        delta = 1.0 if self.delta == "auto" else float(self.delta)
        rule = Asking(QUERIES.index(self.query), NO_DRAWS, delta, float(self.query_rate or 0.0), budget)
        if self.delta != "auto":
            return rule
        if budget < len(getattr(self, "classes_", [])):
            raise ValueError(f"label_budget={budget} is below the number of classes, {len(self.classes_)}: not even "
                             "one label of each could be bought.")  # fmt: skip
        n_rows = self.n_rows or 0
        if n is not None and not n_rows and self.query_rate is None:
            n_rows = self._counts[N_SEEN] - self._counts[N_FREE] + n
        elif not n_rows and self.query_rate is None:
            raise ValueError("delta='auto' spreads the label_budget over the rows to come: say how many there will "
                             "be, n_rows=..., or, for a stream without end, query_rate=...")  # fmt: skip
        self._memory = np.zeros(2 + WINDOW) if self._memory is None else self._memory.copy()
        return rule._replace(n_rows=int(n_rows), memory=self._memory)

    def _refuse_unless_steerable(self):
        """Raise unless the other parameters go with ``delta="auto"``."""
        if self.query != "margin" or self.max_iter > 1:
            raise ValueError("delta='auto' goes with query='margin' and max_iter=1; got "
                             f"query={self.query!r} and max_iter={self.max_iter}.")  # fmt: skip
        if self.n_rows is not None and self.query_rate is not None:
            raise ValueError("delta='auto' takes either n_rows, the rows to spread the label_budget over, or "
                             "query_rate, for a stream without end; got both.")  # fmt: skip
        if self.label_budget is None and self.query_rate is None:
            raise ValueError("delta='auto' needs a label_budget to spread or, for a stream without end, a "
                             "query_rate.")  # fmt: skip

    @all_or_nothing
    def should_query(self, X, return_ids=False):
        """Say which of the next rows of the stream to ask the label of; their labels then go to ``partial_fit``.

        The rows count as seen and the chosen ones as asked for, and the random draws move on, so that a row at a time
        through ``should_query`` and, if asked, ``partial_fit(x, y, asked=True)`` gives the weights, counters and
        averages of one ``fit``. Rows passed together are judged by the same weights. Works before the first label
        too, when every score is 0. A question stays open until its answer comes or `cancel_queries` takes it back;
        answers may come late and in any order.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The next examples.
        return_ids : bool, default=False
            Whether to return the identifiers of the questions too, for ``partial_fit(..., asked=ids)``.

        Returns
        -------
        asked : ndarray of bool of shape (n_samples,)
        ids : ndarray of int of shape (asked.sum(),)
            With ``return_ids``: for each row asked for its number among all rows seen.

        Raises
        ------
        ValueError
            On NaN, infinity, another number of features than before, or parameters out of range.

        Examples
        --------
        >>> from pa_lab import PAClassifier
        >>> model = PAClassifier(query="margin", label_budget=1)
        >>> model.should_query([[1.0], [2.0]]).tolist()
        [True, False]
        >>> model.partial_fit([[1.0]], ["on"], classes=["off", "on"], asked=True).predict([[3.0]]).tolist()
        ['on']
        """
        self._check_changes()
        fresh = not hasattr(self, "_counts")
        X = data.read_rows(self, X, reset=fresh)
        if fresh:
            self._begin_counts()
        scores, predicted = self._judge(X)
        asking, before, counts, chances = self._asking(), self._counts, self._counts.copy(), np.empty(len(scores))
        if asking.query != ALL:
            asking = asking._replace(draws=self._draw("query", "random", len(scores)))
        judge(asking, counts, scores, chances)
        asked, first = chances >= 0.0, int(before[N_SEEN])
        ids = first + np.flatnonzero(asked)
        if len(ids):
            columns = zip(chances[asked].tolist(), scores[asked].tolist(), predicted[asked].tolist(), strict=True)
            self._open = self._open | dict(zip(ids.tolist(), columns, strict=True))
        self._counts = counts
        notices.of_silence(self, before)
        return (asked, ids) if return_ids else asked

    def _judge(self, X):
        """The scores the query rules look at, and the classes predicted, by the last weights.

        With several classes the score is the lead of the best. Before the first label all scores are 0.
        """
        if not self._has_started():
            return np.zeros(X.shape[0]), np.zeros(X.shape[0], dtype=int)
        scores = self._scores(X, self._model.last)
        if scores.shape[1] == 1:
            return scores[:, 0], (scores[:, 0] > 0).astype(int)
        ordered = np.sort(scores, axis=1)
        return ordered[:, -1] - ordered[:, -2], scores.argmax(axis=1)

    @all_or_nothing
    def cancel_queries(self, ids=None):
        """Take back questions that will have no answer; the budget gets them back.

        Parameters
        ----------
        ids : array of int, default=None
            Identifiers from `should_query`; None for all open questions.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            For a question that is not open.

        Examples
        --------
        >>> from pa_lab import PAClassifier
        >>> model = PAClassifier(query="margin", label_budget=1)
        >>> asked, ids = model.should_query([[1.0], [2.0]], return_ids=True)
        >>> ids.tolist(), model.cancel_queries(ids).should_query([[3.0]]).tolist()
        ([0], [True])
        """
        self._count(N_SEEN)
        counts = self._counts.copy()
        self._close(ids, counts, N_QUERIES)
        self._counts = counts
        return self

    @property
    def open_queries_(self) -> np.ndarray:
        """Identifiers of the questions without an answer, in the order asked."""
        self._count(N_SEEN)
        return np.array(list(self._open), dtype=np.int64)

    @property
    def paid_labels_(self) -> PaidLabels:
        """The labels that were asked for and came; see `pa_lab.queries.PaidLabels`. For `pa_lab.queries.estimate`."""
        self._count(N_SEEN)
        row, probability, score, code, mistake = np.concatenate([np.empty((0, 5)), *self._paid]).T
        index = (code > 0).astype(int) if len(self.classes_) == 2 else code.astype(int)
        if self.query == QUERIES[THRESHOLD]:
            probability = np.full(len(row), np.nan)
        return PaidLabels(row.astype(np.int64), probability, score, self.classes_[index], mistake > 0)

    def _take_answers(self, asked, y, counts):
        """Close the questions that are answered; ``counts`` lose their rows, which the pass will count."""
        ids, closed = self._close(None if asked is True else np.asarray(asked), counts, N_SEEN, N_AVERAGED, N_QUERIES)
        counts[N_AVERAGED] = max(counts[N_AVERAGED], 0)  # it goes back from time to time, see `pa_lab.passes.shrink`
        if len(ids) != len(y):
            raise ValueError(f"y holds {len(y)} labels for {len(ids)} questions: asked=True takes the answers to all "
                             "open questions, in the order asked; for some of them pass their identifiers, from "
                             "should_query(X, return_ids=True).")  # fmt: skip
        index = np.maximum(y, 0.0)
        rows = [(i, q, p, code, k != guess) for i, (q, p, guess), code, k in zip(ids, closed, y, index, strict=True)]
        self._paid = append(self._paid, np.array(rows, dtype=np.float64).reshape(-1, 5))

    def _close(self, ids, counts, *which):
        """Close open questions, all if ``ids`` is None; take them out of the counters ``which``."""
        found = np.array(list(self._open) if ids is None else ids)
        if found.ndim != 1 or (len(found) and found.dtype.kind not in "iu"):
            raise ValueError("a question goes by its identifier, a whole number from should_query(X, return_ids=True); "
                             f"got {ids!r}. For labels that cost nothing pass asked='free'.")  # fmt: skip
        found, still_open = found.tolist(), dict(self._open)
        closed = [still_open.pop(i, None) for i in found]
        if None in closed:
            raise ValueError(f"the question {found[closed.index(None)]} is not open: it was never asked, has its "
                             "answer or was cancelled. open_queries_ lists those that are.")  # fmt: skip
        self._open = still_open
        counts[[*which, N_UNANSWERED]] -= len(found)
        return found, closed


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
        X, y, C = self._prepare(X, y, sample_weight, not (self.warm_start and self._has_started()))
        if not C.any():
            raise ValueError("sample_weight is zero on all rows, so nothing would be learnt: give one at least a "
                             "weight above 0.")  # fmt: skip
        return self._learn_passes(X, y, C)

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
        if data.are_empty(X, y):
            return self
        return self._learn_rows(*self._prepare(X, y, sample_weight, not self._has_started()))

    def _rule(self):
        return make_rule(self.variant, self.epsilon)

    def _prepare(self, X, y, sample_weight, starts):
        X, y = self._read(X, y, reset=starts)
        y = data.as_reals(y)
        if starts:
            self._begin_model(1)
            self._begin_counts()
        return X, y, float(self.C) * data.check_weights(sample_weight, len(y), self.variant)

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
        return self._new_scores(X)[:, 0]

    def _held_out_loss(self, X, y, rows):
        """Mean squared error on the held-out rows."""
        return np.mean((self._held_out_scores(X[rows])[:, 0] - y[rows]) ** 2)


def n_outputs(classes):
    """Return how many scores a row has: one for two classes, else one for each class.

    >>> n_outputs([0, 1]), n_outputs([0, 1, 2])
    (1, 3)
    """
    return 1 if len(classes) == 2 else len(classes)


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


@functools.cache
def parameters_of(cls):
    """Return a function that gets the values of all parameters of a learner; asked before each row of a stream."""
    return operator.attrgetter(*cls._parameter_constraints)


_streams = threading.local()


def stream_at(kind, state):
    """Return a Generator in a state; it is the one for all learners of a thread, as making one is slow."""
    if not hasattr(_streams, "made"):
        _streams.made = {}
    if kind not in _streams.made:
        _streams.made[kind] = np.random.Generator(kind())
    _streams.made[kind].bit_generator.state = state
    return _streams.made[kind]
