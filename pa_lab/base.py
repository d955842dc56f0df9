"""What the learners share: fit, partial_fit, predict, stopping, counters, random draws.

An estimator is a *task* (`OnlineClassifier`, `OnlineRegressor`: what the labels mean) and a *model* (in `pa_lab.linear`
and `pa_lab.kernel`: how the hypothesis is held). A call of `fit` goes this way: `_prepare` has `pa_lab.data` check rows
and labels, `_learn_passes` draws an order for each pass, `_pass` adds the rule and which labels to ask for, and
`_make_pass` hands the rows to the model, whose ``learn`` ends in `pa_lab.passes`. `partial_fit` goes through
`_learn_rows` instead. A model, in ``_model`` once there is one, has

    learn(...)          one pass, or a block of one, in place
    last, mean(counts)  the last weights and their mean

and an estimator has ``_open_model(X, passes)``, which sees to it that ``_model`` can be changed in place, and
``_scores(X, weights)``, the scores of rows under some weights.
"""

import copy
import functools
import operator
import threading
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import assert_all_finite
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions
from sklearn.utils.validation import check_is_fitted

from pa_lab import data, notices
from pa_lab.calls import all_or_nothing, before_or_after
from pa_lab.passes import IN_ORDER, NO_TRACE, Examples, Way
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
    WINDOW,
    Asking,
    PaidLabels,
    Questions,
    judge,
    table,
)
from pa_lab.rules import VARIANTS, allows_slack, make_rule

SHARED_CONSTRAINTS = {
    "variant": [StrOptions(set(VARIANTS))],
    "C": [Interval(Real, 0, None, closed="neither")],
    "average": ["boolean"],
    "half_life": [Interval(Real, 0, None, closed="neither"), None],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "shuffle": ["boolean"],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "warm_start": ["boolean"],
    "random_state": ["random_state", np.random.Generator],
}


def counter(which, text):
    """Return a property that shows one of a learner's counters."""

    def shown(self) -> int:
        return int(self._started("_counts")[which])

    return property(shown, doc=text)


class OnlineEstimator(BaseEstimator):
    """A learner that reads its rows as a stream, keeps count, and stays as it was when a call fails."""

    _settled = ("average", "half_life")  # parameters that cannot change once there are weights
    _model = None  # the hypothesis, once there are weights
    _counts = None  # the counters, once rows were seen
    _streams = None  # states of the random streams, once drawn from
    _questions = Questions()
    _losses = np.zeros(2)  # of the first rows of a stream of targets: the sum, and that of predicting 0
    _validated = None  # values of the parameters when they were last checked

    n_seen_ = counter(N_SEEN, "Examples seen.")
    n_updates_ = counter(N_UPDATES, "Examples that moved the weights.")
    n_capped_ = counter(N_CAPPED, "Updates that C shortened by more than a tenth.")
    n_mistakes_ = counter(N_MISTAKES, "Wrong predictions made before each update, among the labels read.")
    n_queries_ = counter(N_QUERIES, "Labels asked for.")

    def _keep(self, arguments):
        """Keep the arguments of ``__init__``, each under its name."""
        for name in arguments.keys() - {"self"}:
            setattr(self, name, arguments[name])

    # ---- what is held

    def _begin_stream(self):
        """Begin with zero counters, no questions and new random streams."""
        self._counts = np.zeros(N_COUNTERS, dtype=np.int64)
        self._questions, self._losses = Questions(), np.zeros(2)
        self._streams = None

    def _begin_model(self, n_outputs):
        """Begin without weights, and note the parameters that must stay while the weights live."""
        self._began_with = {name: getattr(self, name) for name in self._settled}
        self._model, self._n_outputs, self._passed = None, n_outputs, 0

    def _draw(self, use, what, *arguments):
        """Draw from the random stream for a use, "order" or "query"; both are made when first drawn from.

        What is held is the state of each stream, which a draw replaces, so that a call that fails leaves it as it was.
        """
        if self._streams is None:
            seed = self.random_state
            if isinstance(seed, np.random.RandomState):
                seed = seed.randint(np.iinfo(np.int32).max)
            order, query = np.random.default_rng(seed).spawn(2)
            self._streams = {"order": order.bit_generator.state, "query": query.bit_generator.state}
        stream = generator_of(self._streams[use]["bit_generator"], threading.get_ident())
        stream.bit_generator.state = self._streams[use]
        drawn = getattr(stream, what)(*arguments)
        self._streams = self._streams | {use: stream.bit_generator.state}
        return drawn

    @before_or_after
    def __getstate__(self):
        """What a pickle or a copy holds: weights of its own."""
        return super().__getstate__() | {"_model": copy.deepcopy(self._model), "_validated": None}

    def _started(self, name="_model"):
        """Return the model or the counters, or raise if there are none yet."""
        held = getattr(self, name)
        if held is None:
            check_is_fitted(self)
        return held

    def _shown_weights(self):
        """The weights to predict with: the last, or with ``average`` their mean after each example."""
        return self._started().mean(self._counts)

    def __sklearn_is_fitted__(self):
        return self._model is not None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags

    # ---- checked parameters and rows

    def _conflicts(self):
        """Yield for each combination of parameters that is refused whether it is there, and a sentence on it."""
        yield self.half_life is not None and not self.average, (
            f"half_life={self.half_life!r} is the memory of the mean of the weights: set average=True as well, or "
            "half_life=None to predict with the last weights.")  # fmt: skip
        yield self.batch_size > 1 and not allows_slack(self.variant), (
            f"batch_size={self.batch_size} with variant='PA' has no solution where the constraints of a batch "
            "contradict each other: choose variant='PA-I', 'PA-II' or 'PALS'.")  # fmt: skip

    def _check_parameters(self):
        """Check the parameters, unless they are those that were checked last: a stream asks before each row."""
        values = parameters_of(type(self))(self)
        if self._validated is None or not all(map(operator.is_, values, self._validated)):
            try:
                self._validate_params()
            except InvalidParameterError as error:
                raise InvalidParameterError(f"{error}{data.did_you_mean(self)}") from None
            for found, sentence in self._conflicts():
                if found:
                    raise ValueError(sentence)
            self._validated = values

    def _read(self, X, y, reset):
        """Rows and targets as the passes want them; without a kernel a pass finds NaN and infinity in X itself."""
        self._check_parameters()
        X = data.read_rows(self, X, reset, finite=hasattr(self, "kernel"))
        if reset:
            self._begin_stream()
        return X, data.read_targets(X, y)

    def _refuse_unless_finite(self, sentinel, X):
        """Raise if a pass met numbers that it cannot compute with, and say which."""
        if not np.isfinite(sentinel):
            values = X.data if hasattr(X, "indptr") else X
            assert_all_finite(values, input_name="X", estimator_name=type(self).__name__)
            raise ValueError(f"X (or y) holds values so large or so small (X up to {abs(values).max():.3g}) that norms "
                             "or weights overflow or vanish: scale the features, for example with "
                             "StandardScaler.")  # fmt: skip

    # ---- learning

    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Learn from scratch (or on, with ``warm_start``) in up to ``max_iter`` passes.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Examples, in the order of the stream.
        y : array of shape (n_samples,)
            Labels, any two or more, numbers or strings; in regression targets, finite numbers.
        sample_weight : array of shape (n_samples,), default=None
            Factors on ``C``, by row; not with PA, which has no ``C``. A row of weight 0 moves nothing, but it is seen,
            counts in the mean and may be asked for, so it is not the same as a row left out.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            On NaN or infinity, empty input, fewer than two classes, continuous labels, several targets a row, or
            parameters out of range.

        Warns
        -----
        UserWarning
            If rows are sorted by class and ``shuffle`` is False, or if something given does next to nothing.

        Examples
        --------
        >>> from pa_lab import PAClassifier, PARegressor
        >>> PAClassifier(C=0.1).fit([[2.0], [-2.0]], ["on", "off"]).coef_.tolist()
        [[0.4]]
        >>> PARegressor(C=0.5, epsilon=0.0).fit([[1.0], [3.0]], [2.0, 4.0]).coef_.tolist()
        [1.1]
        """
        X, y, C = self._prepare(X, y, sample_weight, starts=not self.warm_start or self._model is None)
        if not C.any():
            raise ValueError("sample_weight is zero on all rows, so nothing would be learnt: give one at least a "
                             "weight above 0.")  # fmt: skip
        notices.before_fit(self, y)
        return self._learn_passes(X, y, C)

    def _learn_passes(self, X, y, C, trace=NO_TRACE):
        """Learn in up to ``max_iter`` passes, until the stopping rule, if there is one, says enough."""
        n = X.shape[0]
        before = self._begin_call()
        train, held_out = self._hold_out(n, y)
        rows = self._open_model(X, self.max_iter)
        best, without_gain = np.inf, 0
        for epoch in range(1, self.max_iter + 1):
            self.n_iter_ = epoch
            examples = Examples(y, C, self._order(n, train), trace)
            n_rows = len(examples.order) or n
            losses = self._pass(rows, examples, self._asking(n_rows, whole=True))
            if self.tol is None and not self.early_stopping:
                continue
            badness = (
                self._badness(self._shown_scores(X[held_out]), y[held_out]) if self.early_stopping else losses / n_rows
            )
            without_gain = 0 if badness < best - (self.tol or 0.0) else without_gain + 1
            best = min(best, badness)
            if without_gain >= self.n_iter_no_change:
                break
        return self._end_call(X, Examples(y, C), before, losses, whole=True)

    def _learn_rows(self, X, y, C, asked=False):
        """Learn from the next rows of the stream, in the order given."""
        before = self._begin_call()
        asking = self._asking(len(y)) if asked is False else self._take_answers(asked, y)
        losses = self._pass(self._open_model(X, 1), Examples(y, C), asking)
        self.n_iter_ = 1
        return self._end_call(X, Examples(y, C), before, losses, whole=False)

    def _begin_call(self):
        """Check that settled parameters stay, and give the call counters of its own; returns those before."""
        for name, value in self._began_with.items():
            now = getattr(self, name)
            if now is not value and not np.array_equal(now, value):
                raise ValueError(f"{name} cannot change while the model learns on: it began with {value!r}, now it is "
                                 f"{now!r}. Call fit without warm_start to begin anew.")  # fmt: skip
        before = self._counts
        self._counts = before.copy()
        return before

    def _end_call(self, X, examples, before, losses, whole):
        self._close_model(X)
        notices.of_unlike_columns(self, before, X)
        notices.of_small_steps(self, before, losses, examples.y, whole)
        notices.of_idle_weights(self, before, X, examples.C)
        notices.of_silence(self, before)
        return self

    @np.errstate(all="ignore")  # what overflows is found in the sentinel
    def _pass(self, X, examples, asking):
        """Make one pass and return the sum of the losses."""
        seen, way = self._counts[N_SEEN], self._way(asking)
        pays = asking.query != ALL or asking.budget < NO_LIMIT
        if pays and not len(examples.trace):
            examples = examples._replace(trace=np.empty((len(examples.order) or len(examples.y), NO_TRACE.shape[1])))
        sentinel, losses = self._make_pass(X, examples, way)
        self._refuse_unless_finite(sentinel, X)
        if pays:
            self._questions = self._questions.paid_in_pass(examples, seen)
        return losses

    def _asking(self, n, whole=False):
        """Which labels to ask for among the next ``n`` rows: all."""
        return ASK_ALL

    def _order(self, n, train):
        """The order of one pass over the rows ``train``, all ``n`` if there are none; empty for all as they stand."""
        if not self.shuffle:
            return train
        return self._draw("order", "permutation", train if len(train) else n)

    def _hold_out(self, n, y):
        """Rows to learn from, none for all, and rows held out for early stopping."""
        if self.max_iter == 1 and (self.tol is not None or self.early_stopping):
            raise ValueError(f"tol={self.tol!r} and early_stopping={self.early_stopping!r}: a stopping rule needs "
                             "several passes, and max_iter=1 makes one. Set max_iter to the most passes to make, for "
                             "example 100.")  # fmt: skip
        if not self.early_stopping:
            return IN_ORDER, None
        from sklearn.model_selection import train_test_split  # slow to import, and rarely used

        seed = int(self._draw("order", "integers", np.iinfo(np.int32).max))
        train, held_out = train_test_split(np.arange(n), test_size=self.validation_fraction, random_state=seed,
                                           stratify=y if is_classifier(self) else None)  # fmt: skip
        return np.sort(train), held_out

    # ---- predicting

    @before_or_after
    def predict(self, X):
        """Predict a label or a target for each row; a score of 0 counts as ``classes_[0]``.

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
            On NaN, infinity, another number of features, or values so large that scores overflow.

        Examples
        --------
        >>> from pa_lab import PAClassifier, PARegressor
        >>> PAClassifier().fit([[2.0], [-2.0]], ["on", "off"]).predict([[1.0], [-3.0]]).tolist()
        ['on', 'off']
        >>> PARegressor("PA", epsilon=0.0).fit([[1.0], [3.0]], [2.0, 4.0]).predict([[3.0]]).round(6).tolist()
        [4.0]
        """
        return self._answers(self._new_scores(X))

    def _new_scores(self, X):
        """Scores of rows from outside under the weights to predict with: an array of shape (n_rows, n_outputs)."""
        self._started()
        scores = self._shown_scores(data.read_rows(self, X, reset=False))
        if not np.isfinite(scores).all():
            raise ValueError("X holds values so large that scores overflow: scale the features as in training.")
        return scores

    def _shown_scores(self, X):
        return self._scores(X, self._shown_weights())


class OnlineClassifier(ClassifierMixin, OnlineEstimator):
    """A learner of two or more classes."""

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "cost": [dict, "array-like", None],
        "multi_class": [StrOptions({"direct", "ovr"})],
        "query": [StrOptions(set(QUERIES))],
        "delta": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_rows": [Interval(Integral, 1, None, closed="left"), None],
        "query_rate": [Interval(Real, 0, 1, closed="both"), None],
        "label_budget": [Interval(Integral, 0, None, closed="left"), None],
    }

    def _conflicts(self):
        yield from super()._conflicts()
        yield self.query == "random" and self.query_rate is None, (
            "query='random' needs query_rate, the share of the labels to ask for; got None.")  # fmt: skip
        yield self.multi_class == "ovr" and self.batch_size > 1, (
            f"batch_size={self.batch_size} solves the joint problem of the classes: it goes with multi_class='direct' "
            "only.")  # fmt: skip
        yield self.multi_class == "ovr" and self.cost is not None, (
            "cost sets the right class against a wrong one: it goes with multi_class='direct' only.")  # fmt: skip
        yield self.class_weight is not None and not allows_slack(self.variant), (
            "class_weight is a factor on C, which variant='PA' does not have: choose 'PA-I' or 'PA-II'.")  # fmt: skip
        if self.delta == "auto":
            yield self.query != "margin" or self.max_iter > 1, (
                f"delta='auto' goes with query='margin' and max_iter=1; got query={self.query!r} and "
                f"max_iter={self.max_iter}.")  # fmt: skip
            yield self.n_rows is not None and self.query_rate is not None, (
                "delta='auto' takes either n_rows, the rows to spread the label_budget over, or query_rate, for a "
                "stream without end; got both.")  # fmt: skip
            yield self.label_budget is None and self.query_rate is None, (
                "delta='auto' needs a label_budget to spread or, for a stream without end, a query_rate.")  # fmt: skip

    def _way(self, asking):
        goals = {} if self.cost is None else {"goals": data.read_goals(self.cost, self.classes_)}
        return Way(make_rule(self.variant, **goals), asking, self.batch_size, self.multi_class == "ovr")

    def _prepare(self, X, y, sample_weight, starts):
        """Rows, codes of their labels and prices ``C``, for `fit`."""
        X, y = self._read(X, y, reset=starts)
        if starts:
            self._begin_classes(data.find_classes(y), "y")
        codes = data.encode(y, self.classes_)
        return X, codes, data.price_rows(self, codes, sample_weight)

    def _begin_classes(self, classes, name):
        if len(classes) < 2:
            raise ValueError(f"{name} must hold at least 2 classes; got {len(classes)} class: {classes!r}. Add rows of "
                             "another one or, with partial_fit, its name to classes=[...].")  # fmt: skip
        self.classes_ = classes
        self._begin_model(1 if len(classes) == 2 else len(classes))

    @all_or_nothing
    def partial_fit(self, X, y, classes=None, sample_weight=None, *, asked=False):
        """Learn from the next rows of the stream, in the order given; fewer than ``batch_size`` are one batch.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None
            As for `fit`.
        classes : array of shape (n_classes,), default=None
            Labels that may come; needed at the first call. Later ones are added: a new class begins with weights of 0,
            and in the mean it counts as if it had always been there. A model of two classes has one vector of weights,
            of which a third class leaves the first two one half each, with opposite signs.
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
        if data.are_empty(X, y):
            return self
        X, y = self._read(X, y, reset=self._counts is None)
        if self._model is None and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' is not supported for partial_fit, which does not see all "
                             "labels at once: pass a dict of weights.")  # fmt: skip
        if self._model is None:
            self._begin_classes(data.check_classes(classes), "classes")
        elif classes is not None and not np.array_equal(classes, self.classes_):
            self._add_classes(data.check_classes(self.classes_, classes))
        if asked is False and self.query != "all" and self._counts[N_UNANSWERED]:
            notices.warn(f"should_query asked for {self._counts[N_UNANSWERED]} labels that have not come yet; if these "
                         "are their rows, pass asked=True, or the query rule applies to them a second time. For labels "
                         "that cost nothing pass asked='free'.")  # fmt: skip
        codes = data.encode(y, self.classes_)
        return self._learn_rows(X, codes, data.price_rows(self, codes, sample_weight), asked)

    def _add_classes(self, classes):
        """Go on with these classes, the known ones among them."""
        if len(classes) > len(self.classes_):
            places = np.searchsorted(classes, self.classes_)
            half = 1.0 if self.multi_class == "ovr" else 0.5
            self.classes_, self._n_outputs = classes, len(classes)
            self._model = self._model.widened(places, self._n_outputs, half)
            self._questions = self._questions.widened(places)

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
        NotFittedError, ValueError
            As `predict`.

        Examples
        --------
        >>> from pa_lab import PAClassifier
        >>> PAClassifier(C=0.1).fit([[2.0], [-2.0]], ["on", "off"]).decision_function([[5.0]]).tolist()
        [2.0]
        """
        scores = self._new_scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _answers(self, scores):
        return self.classes_[predicted_index(scores)]

    def _badness(self, scores, codes):
        """Share of the rows predicted wrongly."""
        return np.mean(predicted_index(scores) != np.maximum(codes, 0.0))

    # ---- asking for labels

    def _asking(self, n, whole=False):
        """The query rule and its draws for the next ``n`` rows; ``whole`` if they are all the rows there will be."""
        draws = NO_DRAWS if self.query == "all" else self._draw("query", "random", n)
        budget = NO_LIMIT if self.label_budget is None else min(self.label_budget, NO_LIMIT)
        delta = 1.0 if self.delta == "auto" else float(self.delta)
        rule = Asking(QUERIES.index(self.query), draws, delta, float(self.query_rate or 0.0), budget)
        return rule if self.delta != "auto" else self._steer(rule, n if whole else None)

    def _steer(self, rule, n):
        """Return the rule with what steers its delta: a memory, and the rows to spread the budget over."""
        if rule.budget < len(getattr(self, "classes_", [])):
            raise ValueError(f"label_budget={rule.budget} is below the number of classes, {len(self.classes_)}: not "
                             "even one label of each could be bought.")  # fmt: skip
        n_rows = self.n_rows
        if n_rows is None and self.query_rate is None:
            if n is None:
                raise ValueError("delta='auto' spreads the label_budget over the rows to come: say how many there will "
                                 "be, n_rows=..., or, for a stream without end, query_rate=...")  # fmt: skip
            n_rows = self._counts[N_SEEN] - self._counts[N_FREE] + n
        memory = np.zeros(2 + WINDOW) if self._questions.memory is None else self._questions.memory.copy()
        self._questions = self._questions._replace(memory=memory)
        return rule._replace(n_rows=int(n_rows or 0), memory=memory)

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
            As for `fit`.

        Examples
        --------
        >>> from pa_lab import PAClassifier
        >>> model = PAClassifier(query="margin", label_budget=1)
        >>> model.should_query([[1.0], [2.0]]).tolist()
        [True, False]
        >>> model.partial_fit([[1.0]], ["on"], classes=["off", "on"], asked=True).predict([[3.0]]).tolist()
        ['on']
        """
        self._check_parameters()
        X = data.read_rows(self, X, reset=self._counts is None)
        if self._counts is None:
            self._begin_stream()
        before = self._counts
        self._counts = before.copy()
        if self._model is None:
            scores = np.zeros((X.shape[0], 1))
        else:
            scores = self._scores(X, self._model.last)
        lead = lead_of(scores)
        chances = np.empty(len(lead))
        judge(self._asking(len(lead)), self._counts, lead, chances)
        asked = chances >= 0.0
        ids = before[N_SEEN] + np.flatnonzero(asked)
        if len(ids):
            self._questions = self._questions.ask(ids, chances[asked], lead[asked], predicted_index(scores[asked]))
        notices.of_silence(self, before)
        return (asked, ids) if return_ids else asked

    def _take_answers(self, asked, y):
        """Take rows that were asked for or are free out of the counters in which the pass is to count them anew."""
        if isinstance(asked, str) and asked == "free":
            self._counts[N_QUERIES] -= len(y)
            self._counts[N_FREE] += len(y)
        else:
            self._questions = self._questions.answer(None if asked is True else np.asarray(asked), y)
            self._counts[[N_SEEN, N_AVERAGED, N_QUERIES, N_UNANSWERED]] -= len(y)
            self._counts[N_AVERAGED] = max(self._counts[N_AVERAGED], 0)  # it goes back at times, see `passes.shrink`
        return ASK_ALL

    @all_or_nothing
    def cancel_queries(self, ids=None):
        """Take back questions that will have no answer; the budget gets them back.

        Parameters
        ----------
        ids : array of int, default=None
            Identifiers from `should_query`; None for all open questions. One that is not open is a `ValueError`.

        Examples
        --------
        >>> from pa_lab import PAClassifier
        >>> model = PAClassifier(query="margin", label_budget=1)
        >>> model.should_query([[1.0], [2.0]]).tolist(), model.cancel_queries().should_query([[3.0]]).tolist()
        ([True, False], [True])
        """
        self._counts = self._started("_counts").copy()
        self._questions, closed = self._questions.close(ids)
        self._counts[[N_QUERIES, N_UNANSWERED]] -= len(closed)
        return self

    @property
    def open_queries_(self) -> np.ndarray:
        """Identifiers of the questions without an answer, in the order asked."""
        return table(self._questions.open, 4)[:, 0].astype(np.int64)

    @property
    def paid_labels_(self) -> PaidLabels:
        """The labels that were asked for and came; see `pa_lab.queries.PaidLabels`. For `pa_lab.queries.estimate`."""
        return self._questions.paid_labels(getattr(self, "classes_", np.empty(0)), self.query)


class OnlineRegressor(RegressorMixin, OnlineEstimator):
    """A learner of real targets, with an epsilon-insensitive tube."""

    _parameter_constraints = SHARED_CONSTRAINTS | {"epsilon": [Interval(Real, 0, None, closed="left")]}

    def _way(self, asking):
        return Way(make_rule(self.variant, self.epsilon), asking, self.batch_size)

    def _prepare(self, X, y, sample_weight, starts):
        """Rows, targets and prices ``C``."""
        X, y = self._read(X, y, reset=starts)
        if starts:
            self._begin_model(1)
        y = data.as_numbers(y, "y")
        assert_all_finite(y, input_name="y")
        return X, y, float(self.C) * data.check_weights(sample_weight, len(y), self.variant)

    @all_or_nothing
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from the next rows of the stream, in the order given; fewer than ``batch_size`` are one batch.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None
            As for `fit`.

        Returns
        -------
        self : object

        Examples
        --------
        >>> from pa_lab import PARegressor
        >>> model = PARegressor(C=0.5, epsilon=0.0).partial_fit([[1.0]], [2.0])
        >>> model.partial_fit([[3.0]], [4.0]).coef_.tolist()
        [1.1]
        """
        if data.are_empty(X, y):
            return self
        return self._learn_rows(*self._prepare(X, y, sample_weight, starts=self._model is None))

    def _answers(self, scores):
        return scores[:, 0]

    def _badness(self, scores, y):
        """Mean squared error."""
        return np.mean((scores[:, 0] - y) ** 2)


def predicted_index(scores):
    """Return the number of the class predicted in each row of scores; a single score stands for number 1 if above 0."""
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(int)
    return scores.argmax(axis=1)


def lead_of(scores):
    """Return what the query rules look at: the score of each row or, with several classes, the lead of the best."""
    if scores.shape[1] == 1:
        return scores[:, 0]
    return np.diff(np.sort(scores, axis=1))[:, -1]


@functools.cache
def parameters_of(cls):
    """Return a function that gets the values of all parameters of a learner; asked before each row of a stream."""
    return operator.attrgetter(*cls._parameter_constraints)


@functools.cache
def generator_of(kind, thread):
    """Return the Generator that a thread sets to the state of any learner, as making one is slow."""
    return np.random.Generator(getattr(np.random, kind)())
