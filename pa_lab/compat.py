"""Drop-in replacements for scikit-learn's passive-aggressive estimators, which its release 1.10 no longer has.

Parameters, defaults, attributes and results are those of scikit-learn 1.9: the same seeds give the same bits. Change
the import and nothing else::

    from pa_lab.compat import PassiveAggressiveClassifier, PassiveAggressiveRegressor

The work is done by ``SGDClassifier(penalty=None, learning_rate="pa1" or "pa2", eta0=C)`` and ``SGDRegressor``, where
scikit-learn keeps the algorithm. What scikit-learn does is therefore done here too: on CSR rows the intercept moves by
a hundredth of a step; a squared loss moves the intercept on a row of zeros, the other losses pass over such a row;
float32 rows give float32 weights; with ``average`` and an intercept the classifier loses its last intercept between two
calls of ``partial_fit``. One thing differs: ``set_params(C=...)`` takes effect. In scikit-learn 1.9 it does not.

One parameter is new. ``intercept="scikit-learn"`` keeps scikit-learn's intercept, which moves with the weights but does
not count in the squared norm, so a step on a short row goes too far. ``intercept="exact"`` hands the rows to
`pa_lab.PAClassifier` (``multi_class="ovr"``) or `pa_lab.PARegressor`: the intercept is a weight on a constant 1 and
counts, a class weight is a factor on ``C``, not on the step, ``average`` is True or False, and ``shuffle`` draws orders
of its own. With ``fit_intercept=False``, ``shuffle=False`` and no class weights the two agree to rounding.
"""

from functools import cache
from inspect import signature
from numbers import Real

import numpy as np
from sklearn.linear_model import SGDClassifier, SGDRegressor

import pa_lab

SHOWN = ("classes_", "coef_", "intercept_", "n_features_in_", "feature_names_in_", "n_iter_")


@cache
def parameters(estimator):
    """Return the names of an estimator's parameters; scikit-learn's `get_params` looks them up at each call."""
    return frozenset(signature(estimator).parameters)


class PassiveAggressive:
    """What the two estimators share: each call goes to another estimator, which is handed what was learnt before."""

    def _call(self, method, X, y, **options):
        self._check()
        before = {name: value for name, value in vars(self).items() if name not in parameters(type(self))}
        goes_on = method == "partial_fit" or self.warm_start
        if "coef_" in before and goes_on and ("_learner" in before) != (self.intercept == "exact"):
            raise ValueError(f"intercept={self.intercept!r} cannot be set while the model learns on: call fit without "
                             "warm_start to begin anew.")  # fmt: skip
        call = self._call_ours if self.intercept == "exact" else self._call_theirs
        after = call(method, X, y, options, before)
        for name in before.keys() - after.keys():
            if name.endswith("_") or name == "_learner":
                delattr(self, name)
        vars(self).update(after)
        return self

    def _check(self):
        if not (isinstance(self.C, Real) and self.C > 0):
            raise ValueError(f"C must be a number above 0; got {self.C!r}.")
        for name, allowed in (("loss", self._losses), ("intercept", ("scikit-learn", "exact"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {getattr(self, name)!r}.")

    def _call_theirs(self, method, X, y, options, learnt):
        """Learn with scikit-learn; returns all that is learnt then, by name."""
        learner, first = self._theirs(), self._losses[0]
        self._hand_over(learner, loss=first, penalty=None, eta0=min(self.C, np.finfo(float).max),
                        learning_rate="pa1" if self.loss == first else "pa2")  # fmt: skip
        vars(learner).update({name: value for name, value in learnt.items() if name != "_learner"})
        getattr(learner, method)(X, y, **options)
        return {name: value for name, value in vars(learner).items() if name not in parameters(self._theirs)}

    def _call_ours(self, method, X, y, options, learnt):
        """Learn with `pa_lab`; returns all that is learnt then, by name."""
        if options.pop("coef_init", None) is not None or options.pop("intercept_init", None) is not None:
            raise ValueError("coef_init and intercept_init go with intercept='scikit-learn'. With 'exact' call fit, "
                             "set coef_ and intercept_, then go on with partial_fit.")  # fmt: skip
        learner = learnt.get("_learner") or self._ours()
        variant = "PA-I" if self.loss == self._losses[0] else "PA-II"
        self._hand_over(learner, variant=variant, tol=self.tol if self.max_iter > 1 else None)
        for name in ("coef_", "intercept_"):
            if method == "partial_fit" and name in learnt and not np.array_equal(learnt[name], getattr(learner, name)):
                setattr(learner, name, learnt[name])
        getattr(learner, method)(X, y, **options)
        shown = {name: getattr(learner, name) for name in SHOWN if hasattr(learner, name)}
        shown |= {name: np.array(shown[name]) for name in ("coef_", "intercept_")}
        return {**shown, "t_": learner.n_seen_ + 1.0, "_learner": learner}

    def _hand_over(self, learner, **special):
        """Set the parameters that the other estimator has too, and the special ones."""
        known = parameters(type(learner)) & parameters(type(self))
        vars(learner).update({name: getattr(self, name) for name in known} | special)


class PassiveAggressiveClassifier(PassiveAggressive, SGDClassifier):
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

    _losses = ("hinge", "squared_hinge")
    _theirs = SGDClassifier

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
        return self._call("fit", X, y, coef_init=coef_init, intercept_init=intercept_init)

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
        return self._call("partial_fit", X, y, classes=classes)

    def _ours(self):
        return pa_lab.PAClassifier(multi_class="ovr")


class PassiveAggressiveRegressor(PassiveAggressive, SGDRegressor):
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

    _losses = ("epsilon_insensitive", "squared_epsilon_insensitive")
    _theirs = SGDRegressor

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
        return self._call("fit", X, y, coef_init=coef_init, intercept_init=intercept_init)

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
        return self._call("partial_fit", X, y)

    def _ours(self):
        return pa_lab.PARegressor()
