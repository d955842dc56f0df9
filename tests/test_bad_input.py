"""Bad input to every public entry point: an error of the right type that names what is wrong and what is expected."""

import re
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch

from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor, datasets, rules
from pa_lab.study import bounds, experiments, metrics, statistics, store, tuning

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 1.0]])
Y = np.array([-1, 1, 1])
T = np.array([1.0, 2.0, 3.0])
NAN, INF = float("nan"), float("inf")
RNG = np.random.default_rng(0)
DATES = np.array(["2020-01-01", "2020-01-02", "2020-01-04"], dtype="M8[D]")
NAMED = pd.DataFrame(X, columns=["a", "b"])
U = bounds.compare([1.0, 1.0, 0.0], X, Y)


def fitted(**options):
    return PAClassifier(**options).fit(X, Y)


def regressor(**options):
    return PARegressor(**options).fit(X, T)


def classifier_options(**options):
    return lambda: PAClassifier(**options).fit(X, Y)


def regressor_options(**options):
    return lambda: PARegressor(**options).fit(X, T)


def kernel_options(*rows, **options):
    """A kernel classifier on other rows if given."""
    return lambda: KernelPAClassifier(**options).fit(rows[0] if rows else X, Y)


def along(**options):
    return lambda: bounds.along(PAClassifier(**options), X, Y, [1.0, 1.0, 0.0])


# name: (call, error, words that must all stand in the message)
CASES = {
    # parameters
    "landmark numbers": (
        lambda: KernelPAClassifier(kernel="precomputed", landmarks=[0, 99]).fit(np.eye(3), Y),
        ValueError,
        ["landmarks must be numbers of the 3 rows", "[0, 99]"],
    ),
    "label missing among three": (
        lambda: PAClassifier().partial_fit(X, ["a", None, "b"], classes=["a", "b", "c"]),
        ValueError,
        ["y holds labels not of one kind with the classes"],
    ),
    "C none": (classifier_options(C=None), ValueError, ["'C' parameter of PAClassifier", "float in", "Got None"]),
    "C text": (classifier_options(C="1"), ValueError, ["'C' parameter", "(0.0, inf)", "Got '1'"]),
    "C zero": (classifier_options(C=0), ValueError, ["'C' parameter", "(0.0, inf)", "Got 0"]),
    "C infinite": (classifier_options(C=INF), ValueError, ["'C' parameter", "(0.0, inf)", "Got inf"]),
    "C negative": (regressor_options(C=-2.0), ValueError, ["'C' parameter of PARegressor", "(0.0, inf)", "Got -2.0"]),
    "C beyond doubles": (classifier_options(C=10**400), ValueError, ["'C' parameter", "(0.0, inf)", "Got 1000"]),
    "C True": (kernel_options(C=True), ValueError, ["'C' parameter", "(0.0, inf)", "Got True"]),
    "epsilon beyond doubles": (regressor_options(epsilon=10**400), ValueError, ["'epsilon'", "[0.0, inf)"]),
    "delta True": (classifier_options(delta=True), ValueError, ["'delta'", "Got True"]),
    "max_iter True": (classifier_options(max_iter=True), ValueError, ["'max_iter'", "int in", "Got True"]),
    "intercept_scaling": (classifier_options(intercept_scaling=1e200), ValueError, ["1e+100]", "Got 1e+200"]),
    "variant": (regressor_options(variant="pa1"), ValueError, ["'variant'", "'PA-II'", "Got 'pa1'"]),
    "epsilon nan": (regressor_options(epsilon=NAN), ValueError, ["'epsilon'", "[0.0, inf)", "Got nan"]),
    "epsilon text": (regressor_options(epsilon="a"), ValueError, ["'epsilon'", "float in", "Got 'a'"]),
    "max_iter": (classifier_options(max_iter=1.5), ValueError, ["'max_iter'", "int in", "[1, inf)", "Got 1.5"]),
    "shuffle": (classifier_options(shuffle="yes"), ValueError, ["'shuffle'", "bool", "Got 'yes'"]),
    "average": (classifier_options(average=None), ValueError, ["'average'", "bool", "Got None"]),
    "half-life": (classifier_options(average=True, half_life=0), ValueError, ["'half_life'", "(0.0, inf)", "Got 0"]),
    "fit_intercept": (classifier_options(fit_intercept="no"), ValueError, ["'fit_intercept'", "bool", "Got 'no'"]),
    "warm_start": (classifier_options(warm_start=2), ValueError, ["'warm_start'", "bool", "Got 2"]),
    "random_state": (classifier_options(random_state=-1), ValueError, ["'random_state'", "[0, 4294967295]", "Got -1"]),
    "query": (classifier_options(query="never"), ValueError, ["'query'", "'margin'", "Got 'never'"]),
    "query_rate": (classifier_options(query_rate=-1), ValueError, ["'query_rate'", "[0.0, 1.0]", "Got -1"]),
    "no query_rate": (classifier_options(query="random"), ValueError, ["query='random' needs query_rate", "None"]),
    "label_budget": (classifier_options(label_budget=2.5), ValueError, ["'label_budget'", "[0, inf)", "Got 2.5"]),
    "delta": (classifier_options(delta=INF), ValueError, ["'delta'", "(0.0, inf)", "at least 1", "Got inf"]),
    "class_weight text": (classifier_options(class_weight="auto"), ValueError, ["'class_weight'", "'balanced'", "Got"]),
    "class_weight list": (classifier_options(class_weight=[1, 2]), ValueError, ["'class_weight'", "'dict'", "[1, 2]"]),
    "class_weight nan": (classifier_options(class_weight={1: NAN}), ValueError, ["class_weight", "finite", "{1: nan}"]),
    "class_weight of text": (classifier_options(class_weight={1: "a"}), ValueError, ["class_weight", "{1: 'a'}"]),
    "class_weight beyond doubles": (
        classifier_options(class_weight={1: 10**400}),
        ValueError,
        ["class_weight must hold"],
    ),
    "class_weight zero": (
        classifier_options(class_weight={-1: 0, 1: 0.0}),
        ValueError,
        ["class_weight={-1: 0, 1: 0.0} is zero for every class", "above 0"],
    ),
    "class_weight without a class": (classifier_options(class_weight={7: 1}), ValueError, ["not in class_weight"]),
    "no such parameter": (lambda: PAClassifier().set_params(alpha=1), ValueError, ["'alpha'", "Valid parameters"]),
    "C in the place of the rule": (
        lambda: PAClassifier(0.1).fit(X, Y),
        ValueError,
        ["'variant' parameter of PAClassifier comes first", "'PA-II'", "Got 0.1", "C=0.1", "help(PAClassifier)"],
    ),
    "C in the place of the kernel's rule": (lambda: KernelPAClassifier(2).fit(X, Y), ValueError, ["write C=2"]),
    "loss": (
        lambda: PAClassifier(loss="hinge"),
        TypeError,
        ["PAClassifier has no parameter loss", "variant='PA-I'", "'hinge'", "Coming from scikit-learn or river"],
    ),
    "mode": (lambda: PARegressor(mode=2), TypeError, ["PARegressor has no parameter mode", "river's mode=1", "README"]),
    # rows
    "X dictionaries": (
        lambda: PAClassifier().partial_fit([{"a": 1.0}], [True], classes=[False, True]),
        TypeError,
        ["X holds dictionaries", "FeatureHasher", "DictVectorizer"],
    ),
    "X one dictionary": (lambda: PARegressor().fit({"a": 1.0}, [1.0]), TypeError, ["X holds dictionaries"]),
    "X None": (lambda: PAClassifier().fit(None, Y), ValueError, ["Expected 2D array"]),
    "X 1-D": (lambda: PAClassifier().fit([1.0, 2.0], Y), ValueError, ["Expected 2D array", "1D array instead"]),
    "X 3-D": (lambda: PAClassifier().fit(np.ones((3, 2, 2)), Y), ValueError, ["dim 3", "PAClassifier"]),
    "X complex": (lambda: PAClassifier().fit(X + 1j, Y), ValueError, ["Complex data not supported"]),
    "X text": (lambda: PAClassifier().fit([["a"], ["b"], ["c"]], Y), ValueError, ["convert string to float", "'a'"]),
    "X NaN": (lambda: PAClassifier().fit(X * NAN, Y), ValueError, ["Input X contains NaN"]),
    "X sparse infinite": (lambda: PAClassifier().fit(sp.csr_array(X * INF), Y), ValueError, ["X contains infinity"]),
    "X no rows": (lambda: PARegressor().fit(X[:0], T[:0]), ValueError, ["0 sample(s)", "minimum of 1"]),
    "X no rows later": (lambda: PARegressor().fit(X, T).predict(X[:0]), ValueError, ["0 sample(s)", "minimum of 1"]),
    "X no columns": (lambda: PARegressor().fit(X[:, :0], T), ValueError, ["0 feature(s)", "minimum of 1"]),
    "X dates": (lambda: PAClassifier().fit(DATES[:, None], Y), ValueError, ["X holds dates", "datetime64[D]", "days"]),
    "X dates in a frame": (
        lambda: KernelPAClassifier().fit(pd.DataFrame({"a": T, "b": pd.to_datetime(DATES)}), Y),
        ValueError,
        ["X holds dates", "datetime64["],
    ),
    "X dates to ask about": (lambda: PAClassifier().should_query(DATES[:, None]), ValueError, ["X holds dates"]),
    "X dates to score": (lambda: KernelPAClassifier().fit(X, Y).predict(DATES[:, None]), ValueError, ["X holds dates"]),
    "sizes differ": (lambda: PAClassifier().fit(X, [1, -1]), ValueError, ["inconsistent numbers of samples", "[3, 2]"]),
    # labels and targets
    "y None": (lambda: PAClassifier().fit(X, None), ValueError, ["requires y", "None"]),
    "y 2-D": (lambda: PAClassifier().fit(X, np.ones((3, 2))), ValueError, ["y should be a 1d array", "(3, 2)"]),
    "y multilabel": (
        lambda: PAClassifier().fit(X, np.eye(3, dtype=int)),
        ValueError,
        ["y should be a 1d array", "(3, 3)", "sklearn.multiclass.OneVsRestClassifier"],
    ),
    "y multilabel, sparse": (
        lambda: PAClassifier().fit(X, sp.eye_array(3).tocsr()),
        ValueError,
        ["OneVsRestClassifier"],
    ),
    "y multilabel, lists": (lambda: PAClassifier().fit(X, [[1], [1, 2], []]), ValueError, ["OneVsRestClassifier"]),
    "y one class": (
        lambda: PAClassifier().fit(X, [1, 1, 1]),
        ValueError,
        ["y must hold at least 2 classes", "1 class"],
    ),
    "y continuous": (lambda: PAClassifier().fit(X, [0.1, 0.2, 0.3]), ValueError, ["label type", "continuous"]),
    "y NaN": (lambda: PAClassifier().fit(X, [1, NAN, 2]), ValueError, ["Input y contains NaN"]),
    "y bytes": (lambda: PAClassifier().fit(X, [b"a", b"b", b"a"]), ValueError, ["y must hold", "b'a'", "bytes is not"]),
    "y mixed": (
        lambda: PAClassifier().fit(X, ["a", None, "b"]),
        ValueError,
        ["y must hold labels of one kind", "None"],
    ),
    "targets None": (lambda: PARegressor().fit(X, None), ValueError, ["requires y", "None"]),
    "targets text": (lambda: PARegressor().fit(X, ["a", "b", "c"]), ValueError, ["y must hold numbers", "'a'"]),
    "rows in a list": (
        lambda: PAClassifier(query="margin").should_query([sp.csr_matrix(X[:1])]),
        TypeError,
        ["X is a list of sparse rows", "scipy.sparse.vstack"],
    ),
    "kernel rows of dictionaries": (
        lambda: KernelPAClassifier().fit(X, Y).predict([{"a": 1.0}]),
        TypeError,
        ["X holds dictionaries", "FeatureHasher"],
    ),
    "landmarks beyond the rows": (
        kernel_options(landmarks=9),
        ValueError,
        ["landmarks=9 is more than the 3 rows of the first call", "as an array"],
    ),
    "targets infinite": (lambda: PARegressor().partial_fit(X, T * INF), ValueError, ["Input y contains infinity"]),
    "targets complex": (lambda: PARegressor().fit(X, T * 1j), ValueError, ["Complex data not supported"]),
    "targets durations": (lambda: PARegressor().fit(X, DATES - DATES[0]), ValueError, ["y holds", "timedelta64[D]"]),
    "targets 2-D": (
        lambda: PARegressor().fit(X, X),
        ValueError,
        ["y should be a 1d array", "(3, 2)", "MultiOutputRegressor"],
    ),
    # a stream that goes on
    "no classes": (lambda: PAClassifier().partial_fit(X, Y), ValueError, ["classes must be passed on the first call"]),
    "one class": (lambda: PAClassifier().partial_fit(X, Y, classes=[1]), ValueError, ["classes must hold at least 2"]),
    "classes NaN": (lambda: PAClassifier().partial_fit(X, Y, classes=[1, -1, NAN]), ValueError, ["Input classes"]),
    "other classes": (lambda: fitted().partial_fit(X, Y, classes=[0, 1]), ValueError, ["classes=", "last call", "-1"]),
    "unknown label": (lambda: fitted().partial_fit(X, [1, 2, 1]), ValueError, ["label 2", "not among the classes"]),
    "balanced": (
        lambda: PAClassifier(class_weight="balanced").partial_fit(X, Y, classes=[-1, 1]),
        ValueError,
        ["class_weight='balanced' is not supported for partial_fit", "pass a dict"],
    ),
    "other width": (lambda: fitted().partial_fit(X[:, :1], Y), ValueError, ["X has 1 features", "expecting 2"]),
    "other width, regression": (
        lambda: regressor().partial_fit(X[:, :1], T),
        ValueError,
        ["1 features", "expecting 2"],
    ),
    "warm start, other width": (
        lambda: fitted(warm_start=True).fit(np.ones((3, 5)), Y),
        ValueError,
        ["X has 5 features", "expecting 2"],
    ),
    "warm start, other width, regression": (
        lambda: regressor(warm_start=True).fit(np.ones((3, 5)), T),
        ValueError,
        ["X has 5 features", "expecting 2"],
    ),
    "warm start, other labels": (
        lambda: fitted(warm_start=True).fit(X, [1, 2, 1]),
        ValueError,
        ["label 2", "not among the classes"],
    ),
    "intercept given up": (
        lambda: fitted().set_params(fit_intercept=False).partial_fit(X, Y),
        ValueError,
        ["fit_intercept cannot change", "began with True, now it is False"],
    ),
    "answers to no question": (lambda: fitted().partial_fit(X, Y, asked=True), ValueError, ["3 labels", "only 0"]),
    # asking
    "ask about NaN": (lambda: PAClassifier().should_query(X * NAN), ValueError, ["Input X contains NaN"]),
    "ask about other width": (lambda: fitted().should_query(X[:, :1]), ValueError, ["X has 1 features", "expecting 2"]),
    "ask without query_rate": (lambda: PAClassifier(query="random").should_query(X), ValueError, ["needs query_rate"]),
    "ask 1-D": (lambda: fitted().should_query([1.0, 2.0]), ValueError, ["Expected 2D array"]),
    # predicting
    "predict first": (lambda: PAClassifier().predict(X), NotFittedError, ["PAClassifier instance is not fitted"]),
    "decide first": (lambda: PAClassifier().decision_function(X), NotFittedError, ["is not fitted", "'fit'"]),
    "predict first, regression": (lambda: PARegressor().predict(X), NotFittedError, ["PARegressor instance"]),
    "predict other width": (lambda: fitted().predict(X[:, :1]), ValueError, ["X has 1 features", "expecting 2"]),
    "predict NaN": (lambda: fitted().predict(X * NAN), ValueError, ["Input X contains NaN"]),
    "decide infinite": (lambda: fitted().decision_function(X * INF), ValueError, ["Input X contains infinity"]),
    "decide overflow": (
        lambda: PAClassifier("PA", fit_intercept=False).fit(X * 1e-3, Y).decision_function(X * 3e307),
        ValueError,
        ["X holds values so large that scores overflow", "scale"],
    ),
    "predict NaN, regression": (lambda: regressor().predict(X * NAN), ValueError, ["Input X contains NaN"]),
    "predict overflow": (
        lambda: PARegressor("PA", fit_intercept=False).fit([[1e-3]], [1e3]).predict([[1e308]]),
        ValueError,
        ["X holds values so large that scores overflow", "scale"],
    ),
    "columns exchanged": (
        lambda: PAClassifier().fit(NAMED, Y).predict(NAMED[["b", "a"]]),
        ValueError,
        ["feature names should match", "same order"],
    ),
    # kernels
    "kernel": (kernel_options(kernel="gauss"), ValueError, ["'kernel'", "'rbf'", "callable", "Got 'gauss'"]),
    "gamma zero": (kernel_options(gamma=0), ValueError, ["'gamma'", "(0.0, inf)", "'scale'", "Got 0"]),
    "gamma NaN": (kernel_options(gamma=NAN), ValueError, ["'gamma'", "(0.0, inf)", "Got nan"]),
    "degree": (kernel_options(degree=-1), ValueError, ["'degree'", "[0, 2147483648)", "Got -1"]),
    "coef0": (kernel_options(coef0=INF), ValueError, ["'coef0'", "(-inf, inf)", "Got inf"]),
    "batch_size": (kernel_options(batch_size=0), ValueError, ["'batch_size'", "[1, inf)", "Got 0"]),
    "batch of PA": (classifier_options(batch_size=2, variant="PA"), ValueError, ["batch_size=2", "choose variant="]),
    "budget": (kernel_options(budget=0), ValueError, ["'budget'", "[1, 2147483648)", "Got 0"]),
    "budget True": (kernel_options(budget=True), ValueError, ["'budget'", "int in", "Got True"]),
    "budget beyond memory": (kernel_options(budget=10**30), ValueError, ["'budget'", "2147483648)"]),
    "degree beyond sense": (kernel_options(degree=10**30), ValueError, ["'degree'", "2147483648)"]),
    "budget_policy": (kernel_options(budget=2, budget_policy="x"), ValueError, ["'budget_policy'", "'oldest'", "'x'"]),
    "budget of means": (kernel_options(budget=2, average=True), ValueError, ["average=True", "budget"]),
    "budget of batches": (kernel_options(budget=2, batch_size=2), ValueError, ["batch_size=2", "budget"]),
    "budget, landmarks": (
        kernel_options(budget=2, landmarks=2),
        ValueError,
        ["landmarks and budget exclude each other"],
    ),
    "landmarks": (kernel_options(landmarks=0), ValueError, ["'landmarks'", "[1, inf)", "Got 0"]),
    "landmarks, many": (kernel_options(landmarks=7), ValueError, ["landmarks=7", "more than the 3 rows"]),
    "landmarks, width": (
        kernel_options(landmarks=np.ones((2, 5))),
        ValueError,
        ["landmarks have 5 features", "X has 2"],
    ),
    "landmarks, NaN": (kernel_options(landmarks=X * NAN), ValueError, ["Input landmarks contains NaN"]),
    "landmarks True": (kernel_options(landmarks=True), ValueError, ["'landmarks'", "Got True"]),
    "landmarks, none": (kernel_options(landmarks=[]), ValueError, ["landmarks must be", "(m, 2)", "shape (0,)"]),
    "landmarks, 1-D": (kernel_options(landmarks=[1.0, 2.0]), ValueError, ["landmarks must be", "(m, 2)", "shape (2,)"]),
    **{
        f"landmarks of values, {m}": (
            kernel_options(np.eye(3), kernel="precomputed", landmarks=m),
            ValueError,
            ["landmarks must be numbers of the 3 rows, from 0", str(m)],
        )
        for m in ([], [[0, 1]], [0.0, 1.0], [True, False, True], [-1], ["a"])
    },
    "landmark_choice": (kernel_options(landmark_choice="x"), ValueError, ["'landmark_choice'", "'kmeans'", "Got 'x'"]),
    "precomputed": (kernel_options(kernel="precomputed"), ValueError, ["square matrix", "(3, 2)"]),
    "precomputed wide": (kernel_options(np.ones((3, 4)), kernel="precomputed"), ValueError, ["square", "(3, 4)"]),
    "asymmetric": (
        kernel_options(np.arange(9.0).reshape(3, 3), kernel="precomputed"),
        ValueError,
        ["X must be symmetric", "differ by 4"],
    ),
    "kernel None": (kernel_options(kernel=lambda a, b: None), ValueError, ["kernel must return", "(3, 3)", "got ("]),
    "kernel shape": (kernel_options(kernel=lambda a, b: T), ValueError, ["kernel must return", "(3, 3)", "got (3,)"]),
    "kernel complex": (
        kernel_options(kernel=lambda a, b: (1 + 1j) * (a @ b.T)),
        ValueError,
        ["kernel must return an array of real numbers", "complex128"],
    ),
    "kernel asymmetric": (
        kernel_options(kernel=lambda a, b: a[:, :1] + 2 * b[:, 0]),
        ValueError,
        ["kernel must be symmetric", "differ by 4"],
    ),
    "kernel, NaN": (kernel_options(X * NAN), ValueError, ["Input X contains NaN"]),
    "kernel, no classes": (lambda: KernelPAClassifier().partial_fit(X, Y), ValueError, ["classes must be passed"]),
    "count first": (lambda: PAClassifier().n_seen_, NotFittedError, ["PAClassifier instance", "call fit"]),
    "mistakes first": (lambda: PARegressor().n_mistakes_, NotFittedError, ["PARegressor instance", "call fit"]),
    "weights first": (lambda: PAClassifier().coef_, NotFittedError, ["PAClassifier instance", "call fit"]),
    "intercept first": (lambda: PARegressor().intercept_, NotFittedError, ["PARegressor instance", "call fit"]),
    "vectors first": (lambda: KernelPAClassifier().support_, NotFittedError, ["KernelPAClassifier instance"]),
    "kernel, first": (lambda: KernelPAClassifier().predict(X), NotFittedError, ["KernelPAClassifier instance"]),
    "kernel, width": (lambda: KernelPARegressor().fit(X, T).predict(X[:, :1]), ValueError, ["X has 1 features", "2"]),
    "kernel, ask": (lambda: KernelPAClassifier(query="random").should_query(X), ValueError, ["needs query_rate"]),
    "kernel, changed C": (
        lambda: KernelPAClassifier().fit(X, Y).set_params(C=-1).partial_fit(X, Y),
        ValueError,
        ["'C' parameter", "(0.0, inf)", "Got -1"],
    ),
    "kernel, mean": (
        lambda: KernelPARegressor("PA", average=True).fit(np.eye(9), [0] * 8 + [1.7e308]),
        ValueError,
        ["X (or y)", "kernel='rbf'", "overflow", "scale"],
    ),
    "kernel, farther than numbers go": (
        lambda: KernelPAClassifier(kernel="laplacian", gamma=1.0).fit([[1.7e308], [-1.7e308]], [0, 1]),
        ValueError,
        ["X", "kernel='laplacian'", "overflow", "scale"],
    ),
    "kernel, farther than single numbers go": (
        lambda: KernelPAClassifier(gamma=1.0).fit(np.float32([[1e20], [1.0]]), [0, 1]),
        ValueError,
        ["X", "kernel='rbf'", "overflow", "scale"],
    ),
    "kernel, overflow": (
        lambda: KernelPARegressor("PA", kernel="linear").fit([[1e-3]], [1e3]).predict([[1e308]]),
        ValueError,
        ["X holds values so large that scores overflow"],
    ),
    # evaluation
    "scores one class": (lambda: metrics.measures(np.ones(3), T), ValueError, ["y must hold both", "-1", "got [1.]"]),
    "scores 0 and 1": (lambda: metrics.measures(np.array([0, 1]), T[:2]), ValueError, ["-1 and +1", "[0 1]"]),
    "scores NaN": (lambda: metrics.measures(Y, T * NAN), ValueError, ["decision", "finite number", "3 labels", "nan"]),
    "scores sizes": (lambda: metrics.measures(Y, T[:2]), ValueError, ["decision", "each of 3 labels", "[1., 2.]"]),
    "threshold one class": (lambda: metrics.best_threshold(-np.ones(3), T), ValueError, ["y must hold both"]),
    "decide unfitted": (lambda: experiments.decision_values(PAClassifier(), X), NotFittedError, ["not fitted"]),
    "sweep returns None": (
        lambda: experiments.sweep(lambda C: None, [{"C": 1}], n_jobs=1),
        TypeError,
        ["run must return a dict", "{'C': 1}", "None"],
    ),
    "sweep other setting": (
        lambda: experiments.sweep(lambda C: {}, [{"gamma": 1}], n_jobs=1),
        TypeError,
        ["unexpected keyword argument 'gamma'"],
    ),
    "sweep no workers": (lambda: experiments.sweep(dict, [{"C": 1}], n_jobs=0), ValueError, ["n_jobs == 0"]),
    "summarize column": (lambda: statistics.summarize(NAMED, "a", ["f1"]), KeyError, ["f1"]),
    "summarize group": (lambda: statistics.summarize(NAMED, "rule", ["b"]), KeyError, ["rule"]),
    "grid scalar": (lambda: experiments.grid(C=0.1), TypeError, ["C must be a list", "such as [0.1]", "got 0.1"]),
    "grid text": (lambda: experiments.grid(C=[1], rule="PA"), TypeError, ["rule must be a list", "['PA']", "got 'PA'"]),
    "grid empty": (lambda: experiments.grid(C=[]), ValueError, ["C must hold at least one value", "got []"]),
    "tuning of nothing": (
        lambda: tuning.tune({"PA": PAClassifier()}, [], X, Y, [(np.arange(3), np.arange(3))]),
        ValueError,
        ["options must hold at least one setting"],
    ),
    "t-test of one": (lambda: statistics.corrected_t_test([0.1], 9, 1), ValueError, ["differences", "2 finite", "0.1"]),
    "t-test of NaN": (lambda: statistics.corrected_t_test([0.1, NAN], 9, 1), ValueError, ["differences", "nan"]),
    "t-test no rows": (lambda: statistics.corrected_t_test(T, 0, 1), ValueError, ["n_train be > 0", "0 and 1"]),
    "progressive": (
        lambda: experiments.progressive(PAClassifier(), X, Y, every=0),
        ValueError,
        ["every", "1", "got 0"],
    ),
    "trace classes": (
        lambda: experiments.trace(PAClassifier(), X, [1, 2, 3]),
        ValueError,
        ["trace is for two classes"],
    ),
    "trace sizes": (lambda: experiments.trace(PAClassifier(), X, Y[:2]), ValueError, ["inconsistent", "[3, 2]"]),
    "flip rate": (lambda: experiments.flip_labels(Y, 1.5, RNG), ValueError, ["rate", "between 0 and 1", "1.5"]),
    "flip rate NaN": (lambda: experiments.flip_labels(Y, NAN, RNG), ValueError, ["rate", "between 0 and 1", "nan"]),
    "flip 0 and 1": (lambda: experiments.flip_labels(Y > 0, 0.5, RNG), ValueError, ["y must hold -1 and +1", "False"]),
    "flip among": (lambda: experiments.flip_labels(Y, 0.5, RNG, among=7), ValueError, ["among", "None", "7"]),
    "reach from zero": (lambda: experiments.first_reach([0, 1], [0, 1], 0.5), ValueError, ["x must rise from above 0"]),
    "reach sizes": (
        lambda: experiments.first_reach([1], [0, 1], 0.5),
        ValueError,
        ["curve for each", "[1] and [0, 1]"],
    ),
    "reach NaN": (
        lambda: experiments.first_reach([1, 2], [NAN, 1], 0.5),
        ValueError,
        ["finite number in curve", "nan"],
    ),
    # data
    "load misspelt": (lambda: datasets.load("ijcn1"), ValueError, ["'ijcn1'", "did you mean 'ijcnn1'", "a9a"]),
    "load None": (lambda: datasets.load(None), ValueError, ["unknown data set None", "choose one of ijcnn1"]),
    "load list": (lambda: datasets.load(["a9a"]), ValueError, ["unknown data set ['a9a']", "choose one of"]),
    "fetch unknown": (lambda: datasets.fetch("x"), ValueError, ["unknown data set 'x'", "choose one of"]),
    "available unknown": (lambda: datasets.available("x"), ValueError, ["unknown data set 'x'", "choose one of"]),
    "digest of text": (lambda: datasets.content_digest("ab", [1]), ValueError, ["convert string to float", "'ab'"]),
    # results and figures
    "save NaN": (lambda: store.save_results("t", {"a": [NAN]}), ValueError, ["values.a[0] is nan", "finite", "None"]),
    "save no dict": (lambda: store.save_results("t", [1]), TypeError, ["values must be a dict", "[1]"]),
    "save under None": (lambda: store.save_results("t", {None: 1}), ValueError, ["values has the key None", "a name"]),
    "save times under None": (lambda: store.save_times("t", {None: 1.0}), ValueError, ["values has the key None"]),
    "save elsewhere": (
        lambda: store.save_results("../t", {}),
        ValueError,
        ["name must be a plain file name", "'../t'"],
    ),
    "save unnamed": (lambda: store.save_results("", {}), ValueError, ["name must be a plain file name", "got ''"]),
    "save complex": (lambda: store.save_results("t", {"a": 1j}), TypeError, ["values.a is a complex"]),
    "save seeds": (lambda: store.save_results("t", {}, seeds=RNG), TypeError, ["seeds is a Generator"]),
    "save data names": (lambda: store.save_results("t", {}, data=["a9a"]), TypeError, ["data", "datasets.load", "a9a"]),
    "save data bare": (lambda: store.save_results("t", {}, data=Bunch(x=1)), TypeError, ["data must be a list"]),
    "save times": (lambda: store.save_times("t", {"s": INF}), ValueError, ["values.s is inf", "finite"]),
    "figure None": (lambda: store.save_figure(None, "t"), TypeError, ["fig must be a matplotlib Figure", "None"]),
    "figure axes": (lambda: store.save_figure(Figure().gca(), "t"), TypeError, ["fig must be", "Axes"]),
    "figure elsewhere": (lambda: store.save_figure(Figure(), "a/b"), ValueError, ["plain file name", "'a/b'"]),
    # bounds
    "compare 0 and 1": (lambda: bounds.compare([1, 1, 0], X, [0, 1, 1]), ValueError, ["y must hold -1 and +1 only"]),
    "compare short u": (lambda: bounds.compare([1], X, Y), ValueError, ["u must hold 3 finite numbers", "[1.]"]),
    "compare NaN u": (lambda: bounds.compare([1, 1, NAN], X, Y), ValueError, ["u must hold 3 finite numbers", "nan"]),
    "compare NaN": (lambda: bounds.compare([1, 1, 0], X * NAN, Y), ValueError, ["Input X contains NaN"]),
    "compare sizes": (lambda: bounds.compare([1, 1, 0], X, Y[:2]), ValueError, ["inconsistent numbers", "[3, 2]"]),
    "compare overflow": (lambda: bounds.compare([1, 1, 0], X * 1e300, Y), ValueError, ["squares overflow", "scale"]),
    "theorem 2, losses": (lambda: bounds.theorem_2(U), ValueError, ["Theorem 2", "without loss", "up to 4"]),
    "theorem 3, norms": (lambda: bounds.theorem_3(U), ValueError, ["Theorem 3", "norm 1", "27"]),
    "theorem 4, C": (lambda: bounds.theorem_4(U, "1"), ValueError, ["C must be a positive number", "'1'"]),
    "theorem 5, C": (lambda: bounds.theorem_5(U, NAN), ValueError, ["C must be a positive number", "nan"]),
    "active theorem, rho": (lambda: bounds.active_theorem_2(U, 1.0, 0.5), ValueError, ["rho", "at least 1", "0.5"]),
    "tightest variant": (lambda: bounds.tightest("PALS", X, Y), ValueError, ["variant must be", "'PA-II'", "'PALS'"]),
    "along PALS": (along(variant="PALS"), ValueError, ["No bound here", "variant='PALS'"]),
    "along weights": (along(class_weight="balanced"), ValueError, ["No bound here", "class_weight"]),
    "along random": (along(query="random", query_rate=0.5), ValueError, ["No bound here", "query='random'"]),
    "along budget": (along(query="margin", label_budget=1), ValueError, ["No bound here", "label_budget"]),
    "along regression": (
        lambda: bounds.along(PARegressor(), X, Y, [1, 1, 0]),
        TypeError,
        ["model must be a PAClassifier", "PARegressor()"],
    ),
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Whatever a case writes by mistake lands here, and is seen."""
    monkeypatch.setenv("PA_LAB_OUTPUT", str(tmp_path / "out"))
    yield
    assert not list(tmp_path.rglob("*.json")) and not list(tmp_path.rglob("*.svg"))


@pytest.mark.parametrize("name", CASES)
def test_the_error_says_what_is_wrong(name):
    call, error, words = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error) as caught:
            call()
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


def test_the_table_is_long_enough():
    assert len(CASES) >= 60


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["get"], 2, ["invalid choice: 'get'", "fetch", "verify"]),
        (["fetch"], 2, ["required: NAME"]),
        (["fetch", "ijcn1"], 1, ["error: unknown data set 'ijcn1'", "did you mean 'ijcnn1'"]),
    ],
)
def test_the_command_line_says_what_is_wrong(arguments, code, words, capsys):
    try:
        left = datasets.main(arguments)
    except SystemExit as stop:
        left = stop.code
    shown = capsys.readouterr().err
    assert left == code and all(word in shown for word in words), shown


def test_a_refused_call_leaves_the_model_as_it_was():
    model = fitted(warm_start=True)
    before = model.coef_.copy(), model.n_seen_, model.n_features_in_
    for call in (
        lambda: model.fit(np.ones((3, 5)), Y),
        lambda: model.partial_fit(X * NAN, Y),
        lambda: model.partial_fit(X, [1, 2, 1]),
        lambda: model.set_params(C=-1).partial_fit(X, Y),
    ):
        with pytest.raises(ValueError, match=re.compile("expecting|NaN|classes|'C'")):
            call()
    assert np.array_equal(model.coef_, before[0]) and (model.n_seen_, model.n_features_in_) == before[1:]


HOLE = np.full_like(X, NAN)
EVERY = {
    "classifier": (PAClassifier(query="margin", random_state=0), Y),
    "regressor": (PARegressor(shuffle=True, random_state=0), [0.5, 1.5, 2.5]),
    "kernel": (KernelPAClassifier(gamma=1.0, query="margin", random_state=0), Y),
    "kernel regressor": (KernelPARegressor(gamma=1.0, shuffle=True, random_state=0), [0.5, 1.5, 2.5]),
    "landmarks": (KernelPAClassifier(gamma=1.0, landmarks=3, query="margin", random_state=0), Y),
}
each = pytest.mark.parametrize("name", EVERY)


@each
def test_a_refused_first_call_leaves_nothing(name):
    model, y = EVERY[name]
    model = clone(model)
    for call in (lambda: model.fit(HOLE, y), lambda: model.fit(X, [NAN] * 3)):
        with pytest.raises(ValueError, match="NaN"):
            call()
        assert not [key for key in vars(model) if key.endswith("_") or key.startswith("_")]
        with pytest.raises(NotFittedError):
            model.predict(X)


@each
def test_a_refused_refit_leaves_the_good_model_and_its_random_draws(name):
    original, y = EVERY[name]
    model, twin = clone(original).fit(X, y), clone(original).fit(X, y)
    before = model.predict(X)
    words = y if "regressor" in name else ["a", "b", "a"]
    refused = [(HOLE, words), (X, [NAN] * 3), *([(X[:2], words[:2])] if name == "landmarks" else [])]
    for rows, targets in refused:
        with pytest.raises(ValueError, match=r"NaN|landmarks=3 is more than the 2 rows"):
            model.fit(rows, targets)
    assert np.array_equal(model.predict(X), before)
    for again in (model, twin):
        again.partial_fit(np.tile(X, (30, 1)), np.tile(y, 30))
    assert np.array_equal(model.predict(X), twin.predict(X)) and model.n_queries_ == twin.n_queries_


def test_what_is_refused_once_is_refused_again():
    model = KernelPAClassifier(budget=5, average=True)
    for _ in range(2):
        with pytest.raises(ValueError, match="average=True needs every vector"):
            model.partial_fit(X, Y, classes=[-1, 1])


@pytest.mark.parametrize(
    ("model", "change", "words"),
    [
        (PAClassifier(batch_size=4), {"variant": "PA"}, "has no solution"),
        (PAClassifier(multi_class="ovr"), {"batch_size": 4}, "joint problem of the classes"),
        (KernelPAClassifier(budget=2), {"batch_size": 4}, "does not go with budget"),
        (PAClassifier(class_weight="balanced"), {"variant": "PA"}, "class_weight is a factor on C"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused_in_mid_stream_too(model, change, words):
    model = clone(model).fit(X, Y).set_params(**change)
    with pytest.raises(ValueError, match=words):
        model.partial_fit(X, Y)


@pytest.mark.parametrize("options", [{"query": "margin"}, {"label_budget": 2}], ids=str)
def test_several_passes_that_ask_for_labels_warn(options):
    with pytest.warns(UserWarning, match="each of the max_iter=3 passes asks anew"):
        PAClassifier(**options, max_iter=3).fit(X, Y)


def test_a_gamma_from_a_single_row_warns():
    with pytest.warns(UserWarning, match="gamma='scale' is taken from the first call, which has a single row"):
        KernelPAClassifier().partial_fit(X[:1], Y[:1], classes=[-1, 1])
    KernelPAClassifier(gamma=1.0).partial_fit(X[:1], Y[:1], classes=[-1, 1])
    KernelPAClassifier(kernel="linear").partial_fit(X[:1], Y[:1], classes=[-1, 1])


DAMAGED = sp.csr_matrix(([1.0], [100], [0, 1, 1, 1]), shape=(3, 2))


@pytest.mark.parametrize(
    "call",
    [
        lambda: fitted().predict(DAMAGED),
        lambda: KernelPAClassifier().fit(X, Y).predict(DAMAGED),
        lambda: KernelPAClassifier().fit(DAMAGED, Y),
    ],
    ids=["linear", "kernel", "kernel fit"],
)
def test_a_matrix_with_columns_it_does_not_have_is_refused(call):
    with pytest.raises(ValueError, match="damaged sparse matrix: it has column numbers from 100 to 100, but 2 columns"):
        call()


@pytest.mark.parametrize("starts", [[0, 2, 1, 4], [1, 2, 3, 4], [0, 2, 9, 4], [0, 1, 2, 9], [0, -1, 2, 4], [0, 4]])
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("model", [PAClassifier(), KernelPAClassifier()])
def test_a_matrix_with_damaged_pointers_is_refused(model, form, starts):
    """Learnt as they stand, such rows give wrong weights or end the process."""
    damaged = sp.csr_matrix(np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])).asformat(form)
    damaged.indptr = np.array(starts, dtype=damaged.indptr.dtype)
    with pytest.raises(ValueError, match=r"damaged sparse matrix: its \w+ pointers must be 4 numbers"):
        model.fit(damaged, [0, 1, 0])


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (PAClassifier(), {"average": True}),
        (PARegressor(average=True), {"average": False}),
        (KernelPAClassifier(gamma=1.0), {"gamma": 2.0}),
        (KernelPAClassifier(), {"kernel": "poly"}),
        (KernelPARegressor(landmarks=2), {"landmarks": [[1.0, 2.0]]}),
    ],
    ids=str,
)
def test_what_the_weights_were_begun_with_cannot_change(model, change):
    model = clone(model).fit(X, Y)
    (name,) = change
    with pytest.raises(ValueError, match=f"{name} cannot change while the model learns on"):
        model.set_params(**change).partial_fit(X, Y)
    assert model.fit(X, Y).n_seen_ == len(Y)
    if "warm_start" in model.get_params():
        other = not change[name] if isinstance(change[name], bool) else type(model)().get_params()[name]
        change = {name: other, "warm_start": True}
        with pytest.raises(ValueError, match=f"{name} cannot change"):
            model.set_params(**change).fit(X, Y)


# ---------------------------------------------------------------- huge and tiny numbers

TOO_LARGE_FOR = [
    *(PAClassifier(variant) for variant in rules.VARIANTS),
    PAClassifier(batch_size=2),
    PARegressor(),
    KernelPAClassifier(),
    KernelPAClassifier(gamma=0.5),
    KernelPAClassifier(gamma=0.5, landmarks=2),
    KernelPAClassifier(kernel="linear"),
    KernelPARegressor(kernel="linear", budget=2),
    KernelPARegressor(gamma=0.5, budget=2),
]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("model", TOO_LARGE_FOR, ids=repr)
def test_rows_scaled_by_1e200_are_refused(model, method, form):
    options = {"classes": [-1, 1]} if method == "partial_fit" and is_classifier(model) else {}
    with pytest.raises(ValueError, match=r"overflow.*(scale the features|Scaling input data)"):
        getattr(clone(model), method)(form(X * 1e200), Y, **options)


SIZES = [5e-324, 1e-300, 1e-160, 1e-8, 1.0, 1e8, 1e150, 1e300]
ROWS = np.random.default_rng(0).standard_normal((12, 3))
LABELS = np.tile([-1, 1], 6)


def finite_or_refused(fit, model):
    """True if the model is finite, False if it was refused with a sentence; NaN or infinity fail."""
    try:
        fit()
    except ValueError as error:
        assert re.search("so large|infinity", str(error)) and "X" in str(error), error
        return False
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all(), model
    return True


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(
    ("variant", "batch_size"),
    [("PA", 1), ("PA-I", 1), ("PA-II", 1), ("PALS", 1), ("PA-I", 5), ("PA-II", 5), ("PALS", 5)],
)
def test_any_size_gives_a_finite_model_or_a_sentence(variant, batch_size, average):
    learned = 0
    options = {"variant": variant, "batch_size": batch_size, "average": average, "max_iter": 2}
    for size in SIZES:
        for C in (5e-324, 1.0, 1.7e308):
            for fit_intercept in (False, True):
                for labels in (LABELS, np.arange(12) % 3):
                    model = PAClassifier(C=C, fit_intercept=fit_intercept, **options)
                    learned += finite_or_refused(lambda m=model, s=size, y=labels: m.fit(ROWS * s, y), model)
                for target in SIZES:
                    y = np.clip(ROWS[:, 0] * target, -1.7e308, 1.7e308)
                    model = PARegressor(C=C, fit_intercept=fit_intercept, **options)
                    learned += finite_or_refused(lambda m=model, s=size, y=y: m.fit(ROWS * s, y), model)
    assert learned > 200  # a refusal is the exception


@pytest.mark.parametrize("options", [{}, {"landmarks": 5}, {"budget": 5}, {"average": True}], ids=str)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
def test_any_size_gives_a_finite_kernel_model_or_a_sentence(kernel, options):
    learned = 0
    for size in SIZES:
        for gamma in ("scale", 1.0, 1e300):
            for model, y in (
                (KernelPAClassifier("PA", kernel=kernel, gamma=gamma, **options), LABELS),
                (KernelPARegressor("PA-II", kernel=kernel, gamma=gamma, **options), ROWS[:, 0] * size),
            ):
                try:
                    model.fit(ROWS * size, y)
                except ValueError as error:
                    assert "scores overflow: scale the features" in str(error), error
                else:
                    assert np.isfinite(model.dual_coef_).all()
                    learned += 1
    assert learned > 10


def test_the_mean_of_huge_weights_is_refused_not_infinite():
    model = PARegressor("PA", average=True, fit_intercept=False)
    with pytest.raises(ValueError, match=re.escape("(or y: up to 1.7e+308) that norms or weights overflow")):
        model.fit(np.ones((9, 1)), [0.0] * 8 + [1.7e308])


def test_a_budget_beyond_any_stream_is_no_budget():
    model = PAClassifier(label_budget=10**30).fit(X, Y)
    assert model.n_queries_ == 3


def test_fractions_are_numbers():
    for model, y in (
        (PAClassifier(C=Fraction(1, 2), query="margin", delta=Fraction(1, 3), random_state=0), Y),
        (PARegressor(C=Fraction(1, 2), epsilon=Fraction(1, 4), intercept_scaling=Fraction(1, 8)), T),
        (KernelPAClassifier(C=Fraction(1, 2), gamma=Fraction(1, 4)), Y),
    ):
        whole = {k: float(v) for k, v in model.get_params().items() if isinstance(v, Fraction)}
        twin = clone(model).set_params(**whole).fit(X, y)
        assert np.array_equal(model.fit(X, y).predict(X), twin.predict(X)) and len(whole) >= 2


@pytest.mark.parametrize("model", [PAClassifier, KernelPAClassifier, lambda **o: KernelPAClassifier(landmarks=2, **o)])
def test_a_batch_larger_than_any_stream_is_one_batch(model):
    huge, all_rows = (model(batch_size=size).fit(X, Y) for size in (10**30, 3))
    assert np.array_equal(huge.decision_function(X), all_rows.decision_function(X))


def test_lists_are_arrays_for_the_study_too():
    rows, labels = X.tolist(), Y.tolist()
    assert experiments.trace(PAClassifier(), rows, labels).equals(experiments.trace(PAClassifier(), X, Y))
    assert np.array_equal(bounds.tightest("PA-I", rows, labels), bounds.tightest("PA-I", X, Y))


@pytest.mark.parametrize(("gap", "refused"), [(1e-7, False), (1e-3, True)])
def test_a_kernel_may_be_asymmetric_by_rounding_only(gap, refused):
    K = X @ X.T
    K[0, 1] += gap * K.max()
    for model in (KernelPAClassifier(kernel="precomputed"), KernelPAClassifier(kernel=lambda a, b: K)):
        if refused:
            with pytest.raises(ValueError, match="must be symmetric"):
                model.fit(K if model.kernel == "precomputed" else X, Y)
        else:
            model.fit(K if model.kernel == "precomputed" else X, Y)
