"""Bad input to every public entry point: an error of the right type that names what is wrong and what is expected."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch

from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor, datasets, rules
from pa_lab.kernels import DISTANCES
from pa_lab.study import bounds, experiments, metrics, statistics, store, tuning

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 1.0]])
Y = np.array([-1, 1, 1])
T = np.array([1.0, 2.0, 3.0])
NAN, INF = float("nan"), float("inf")
RNG = np.random.default_rng(0)
DATES = np.array(["2020-01-01", "2020-01-02", "2020-01-04"], dtype="M8[D]")
NAMED = pd.DataFrame(X, columns=["a", "b"])
DATED = pd.DataFrame({"a": T, "b": pd.to_datetime(DATES)})
U = bounds.compare([1.0, 1.0, 0.0], X, Y)

# Values that a parameter does not take, in any estimator that has it.
WRONG = {
    "variant": ["pa1"], "C": [None, "1", 0, INF, -2.0], "epsilon": [NAN, "a", -0.1],
    "fit_intercept": ["no"], "intercept_scaling": [1e200], "average": [None], "half_life": [0], "max_iter": [1.5],
    "shuffle": ["yes"], "warm_start": [2], "random_state": [-1], "class_weight": ["auto", [1, 2]],
    "batch_size": [0, 2.5, "8"], "query": ["never"], "delta": [INF, 0.0, -1, NAN], "query_rate": [-1, 1.5],
    "label_budget": [2.5, -1], "kernel": ["gauss"], "gamma": [0, -1, NAN], "degree": [-1, 1.5, 10**30],
    "coef0": [INF], "landmarks": [0], "landmark_choice": ["x"], "budget": [0, 10**30],
    "budget_policy": ["x"],
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_of_a_parameter_is_named_by_every_estimator_that_has_it(name):
    for estimator, y in ((PAClassifier, Y), (PARegressor, T), (KernelPAClassifier, Y), (KernelPARegressor, T)):
        for value in WRONG[name] if name in estimator().get_params() else ():
            model = estimator().fit(X, y).set_params(**{name: value})
            calls = [lambda m=model, y=y: m.fit(X, y), lambda m=model, y=y: m.partial_fit(X, y)]
            calls += [lambda m=model: m.should_query(X)] if hasattr(model, "should_query") else []
            for call in calls:
                with pytest.raises(ValueError, match=f"'{name}' parameter of {estimator.__name__}") as caught:
                    call()
                assert f"Got {value!r}"[:20] in str(caught.value)


def fitted(**options):
    return PAClassifier(**options).fit(X, Y)


def new(**options):
    """A call of `PAClassifier.fit` with these parameters."""
    return lambda: PAClassifier(**options).fit(X, Y)


def fit(X, y=Y, **options):
    """A call of `PAClassifier.fit` with these rows and labels."""
    return lambda: PAClassifier(**options).fit(X, y)


def targets(y):
    return lambda: PARegressor().fit(X, y)


def begin(y=Y, classes=None, **options):
    """A first call of `PAClassifier.partial_fit`."""
    return lambda: PAClassifier(**options).partial_fit(X, y, classes=classes)


def go_on(X, y=Y, **more):
    return lambda: fitted().partial_fit(X, y, **more)


def kernel(X=X, y=Y, **options):
    return lambda: KernelPAClassifier(**options).fit(X, y)


def along(**options):
    return lambda: bounds.along(PAClassifier(**options), X, Y, [1.0, 1.0, 0.0])


# name: (call, words that must all stand in the message[, error if it is no ValueError])
CASES = {
    # parameters
    "random without rate": (new(query="random"), ["query='random' needs query_rate", "None"]),
    "weight nan": (new(class_weight={1: NAN}), ["class_weight", "finite", "{1: nan}"]),
    "weights zero": (new(class_weight={-1: 0, 1: 0.0}), ["class_weight must hold finite numbers >= 0, one above 0", "{-1: 0, 1: 0.0}"]),
    "weight without class": (new(class_weight={7: 1}), ["The classes, [", "are not in class_weight"]),
    "no such parameter": (lambda: PAClassifier().set_params(alpha=1), ["'alpha'", "Valid parameters"]),
    "C for the rule": (lambda: PAClassifier(0.1).fit(X, Y), ["'variant' parameter of PAClassifier", "'PA-II'", "Got 0.1"]),
    "another's rule": (new(variant="SCW-I"), ["'PALS'", "Got 'SCW-I'"]),
    "mistyped rule": (new(variant="pa1"), ["Got 'pa1' instead. Did you mean variant='PA-I'?"]),
    "cost of nobody": (new(cost={7: 2}), ["cost names ['7']", "[-1, 1]"]),
    "cost shape": (new(cost=[1, 2]), ["cost must be a dictionary", "(2, 2)", "got shape (2,)"]),
    "cost 0": (new(cost={1: 0.0}), ["cost must hold finite numbers above 0; got 0"]),
    "cost of ovr": (new(cost={1: 2}, multi_class="ovr"), ["cost", "multi_class='direct'"]),
    "no labels": (fit(X, None), ["y should be a 1d array"]),
    "complex weights": (lambda: PAClassifier().fit(X, Y, [1j, 1, 1]), ["sample_weight must hold numbers; got 1j"]),
    # rows
    "dictionaries": (lambda: fitted().predict([{"a": 1.0}]), ["float() argument must be", "'dict'"], TypeError),
    "None": (fit(None), ["Expected 2D array"]),
    "3-D": (fit(np.ones((3, 2, 2))), ["dim 3", "PAClassifier"]),
    "text": (fit([["a"], ["b"], ["c"]]), ["X holds text (could", "'a'", "TfidfVectorizer", "look them up"]),
    "NaN": (fit(X * NAN), ["Input X contains NaN", "imputer"]),
    "NaN, kernel": (kernel(X * NAN), ["Input X contains NaN", "imputer"]),
    "sparse infinite": (fit(sp.csr_array(X * INF)), ["X contains infinity"]),
    "dates": (fit(DATES[:, None]), ["X holds dates", "datetime64[D]", "days"]),
    "dates alone in a frame": (kernel(DATED[["b"]]), ["X holds dates", "M8["]),
    "dates in a frame": (kernel(DATED), ["X holds dates", "M8["]),
    "sizes differ": (fit(X, [1, -1]), ["inconsistent numbers of samples", "[3, 2]"]),
    "rows in a list": (lambda: PAClassifier(query="margin").should_query([sp.csr_matrix(X[:1])]),
                       ["setting an array element with a sequence"]),
    # labels and targets
    "y multilabel": (fit(X, np.eye(3, dtype=int)), ["y should be a 1d array", "(3, 3)"]),
    "y one class": (fit(X, [1, 1, 1]), ["y must hold at least 2 classes", "1 class"]),
    "y continuous": (fit(X, [0.1, 0.2, 0.3]), ["label type", "continuous"]),
    "y NaN": (fit(X, [1, NAN, 2]), ["Input y contains NaN"]),
    "y bytes": (fit(X, [b"a", b"b", b"a"]), ["bytes"], TypeError),
    "y mixed": (fit(X, ["a", None, "b"]), ["not supported between", "NoneType"], TypeError),
    "y of two kinds": (fit(X, np.array(["a", 1, "b"], dtype=object)), ["not supported between"], TypeError),
    "targets text": (targets(["a", "b", "c"]), ["y must hold numbers", "'a'"]),
    "targets infinite": (lambda: PARegressor().partial_fit(X, T * INF), ["Input y contains infinity"]),
    "targets durations": (targets(DATES - DATES[0]), ["y must hold numbers"]),
    "targets 2-D": (targets(X), ["y should be a 1d array", "(3, 2)"]),
    # a stream that goes on
    "no classes": (begin(), ["classes must be passed on the first call"]),
    "one class": (begin(classes=[1]), ["classes must hold at least 2"]),
    "classes NaN": (begin(classes=[1, -1, NAN]), ["Input classes"]),
    "label missing among three": (begin(["a", None, "b"], ["a", "b", "c"]), ["y must hold labels of the same kind as the classes"]),
    "label below three": (begin([0, -1, 1], [0, 1, 2]), ["the label -1 in row 1 (from 0), which is not among the classes"]),
    "classes of another kind": (go_on(X, classes=["a"]), ["classes must be labels of one kind", "'a'"]),
    "classes of two kinds": (begin(classes=[None, "a"]), ["classes must be labels of one kind", "None"]),
    "unknown label": (go_on(X, [1, 2, 1]), ["label 2", "not among the classes"]),
    "balanced": (begin(Y, [-1, 1], class_weight="balanced"),
                 ["class_weight='balanced' is not supported for partial_fit", "pass a dict"]),
    "warm start, width": (lambda: fitted(warm_start=True).fit(np.ones((3, 5)), Y), ["X has 5 features", "expecting 2"]),
    "intercept given up": (lambda: fitted().set_params(fit_intercept=False).partial_fit(X, Y),
                           ["fit_intercept cannot change", "began with True, now it is False"]),
    "weights of another form": (lambda: setattr(fitted(), "coef_", np.zeros((3, 2))), ["have the shape (1, 2); got (3, 2)"]),
    "weights NaN": (lambda: setattr(fitted(), "coef_", [[NAN, 1.0]]), ["coef_ must hold finite numbers"]),
    "answers to no question": (go_on(X, asked=True), ["y holds 3 labels for 0 questions"]),
    # asking and predicting
    "ask about NaN": (lambda: PAClassifier().should_query(X * NAN), ["Input X contains NaN", "imputer"]),
    "ask about other width": (lambda: fitted().should_query(X[:, :1]), ["X has 1 features", "expecting 2"]),
    "ask without rate": (lambda: KernelPAClassifier(query="random").should_query(X), ["needs query_rate"]),
    "ask 1-D": (lambda: fitted().should_query([1.0, 2.0]), ["Expected 2D array"]),
    "count first": (lambda: PAClassifier().n_seen_, ["PAClassifier instance", "Call 'fit'"], NotFittedError),
    "weights first": (lambda: PARegressor().coef_, ["PARegressor instance", "Call 'fit'"], NotFittedError),
    "vectors first": (lambda: KernelPAClassifier().support_, ["KernelPAClassifier instance"], NotFittedError),
    "decide overflow": (lambda: PAClassifier("PA", fit_intercept=False).fit(X * 1e-3, Y).decision_function(X * 3e307),
                        ["X holds values so large that scores overflow", "scale"]),
    "predict overflow": (lambda: PARegressor("PA", fit_intercept=False).fit([[1e-3]], [1e3]).predict([[1e308]]),
                         ["X holds values so large that scores overflow", "scale"]),
    # kernels
    "budget of means": (kernel(budget=2, average=True), ["average=True", "budget"]),
    "budget, landmarks": (kernel(budget=2, landmarks=2), ["landmarks and budget exclude each other"]),
    "landmarks, many": (kernel(landmarks=7), ["landmarks=7 is more than the 3 rows of the first call", "as an array"]),
    "landmarks, width": (kernel(landmarks=np.ones((2, 5))), ["landmarks must be", "(m, 2)", "shape (2, 5)"]),
    "landmarks, NaN": (kernel(landmarks=X * NAN), ["Input landmarks contains NaN"]),
    "landmarks, none": (kernel(landmarks=[]), ["landmarks must be", "(m, 2)", "shape (0,)"]),
    **{f"landmarks of values, {m}": (kernel(np.eye(3), kernel="precomputed", landmarks=m),
                                     ["landmarks must be numbers of the 3 rows, from 0", str(m)])
       for m in ([], [[0, 1]], [0.0, 1.0], [True, False, True], [-1], ["a"], [0, 99])},
    "precomputed": (kernel(kernel="precomputed"), ["square matrix", "(3, 2)"]),
    "precomputed later": (lambda: KernelPAClassifier(kernel="precomputed").fit(X @ X.T, Y).partial_fit(X @ X.T, Y),
                          ["partial_fit"]),
    "asymmetric": (kernel(np.arange(9.0).reshape(3, 3), kernel="precomputed"), ["X must be symmetric", "differ by 4"]),
    "kernel None": (kernel(kernel=lambda a, b: None), ["kernel must return", "(3, 3)", "got ("]),
    "kernel complex": (kernel(kernel=lambda a, b: (1 + 1j) * (a @ b.T)), ["array of real numbers", "complex128"]),
    "kernel asymmetric": (kernel(kernel=lambda a, b: a[:, :1] + 2 * b[:, 0]), ["kernel must be symmetric", "by 4"]),
    "kernel negative": (kernel(kernel="poly", coef0=-9.0), ["is negative"]),
    "kernel, mean": (lambda: KernelPARegressor("PA", average=True).fit(np.eye(9), [0] * 8 + [1.7e308]),
                     ["X (or y)", "kernel='rbf'", "overflow", "scale"]),
    **{f"too far, {kind}": (kernel([[1.7e308], [-1.7e308]], [0, 1], kernel=kind, gamma=1.0),
                            ["X", f"kernel='{kind}'", "overflow", "scale"]) for kind in DISTANCES},
    "too far in single": (kernel(np.float32([[1e20], [1.0]]), [0, 1], gamma=1.0), ["X", "kernel='rbf'", "overflow"]),
    "kernel, overflow": (lambda: KernelPARegressor("PA", kernel="linear").fit([[1e-3]], [1e3]).predict([[1e308]]),
                         ["X holds values so large that scores overflow"]),
    # evaluation
    "measures one class": (lambda: metrics.measures(np.ones(3), T), ["y must hold both", "-1", "got [1.]"]),
    "measures 0 and 1": (lambda: metrics.measures(np.array([0, 1]), T[:2]), ["-1 and +1", "[0 1]"]),
    "measures sizes": (lambda: metrics.measures(Y, T[:2]), ["decision", "each of 3 labels", "[1., 2.]"]),
    "decide unfitted": (lambda: experiments.decision_values(PAClassifier(), X), ["not fitted"], NotFittedError),
    "sweep of None": (lambda: experiments.sweep(lambda C: None, [{"C": 1}], n_jobs=1),
                      ["run must return a dict", "{'C': 1}", "None"], TypeError),
    "grid scalar": (lambda: experiments.grid(C=0.1), ["C must be a list", "such as [0.1]", "got 0.1"], TypeError),
    "grid text": (lambda: experiments.grid(C=[1], rule="PA"), ["rule must be a list", "['PA']"], TypeError),
    "grid empty": (lambda: experiments.grid(C=[]), ["C must hold at least one value", "got []"]),
    "tuning of nothing": (lambda: tuning.tune({"PA": PAClassifier()}, [], X, Y, [(np.arange(3), np.arange(3))]),
                          ["options must hold at least one setting"]),
    "t-test of one": (lambda: statistics.corrected_t_test([0.1], 9, 1), ["differences", "2 finite", "0.1"]),
    "t-test of NaN": (lambda: statistics.corrected_t_test([0.1, NAN], 9, 1), ["differences", "nan"]),
    "t-test no rows": (lambda: statistics.corrected_t_test(T, 0, 1), ["n_train be > 0", "0 and 1"]),
    "progressive": (lambda: experiments.progressive(PAClassifier(), X, Y, every=0), ["every", "1", "got 0"]),
    "trace classes": (lambda: experiments.trace(PAClassifier(), X, [1, 2, 3]), ["trace is for two classes"]),
    "flip rate": (lambda: experiments.flip_labels(Y, 1.5, RNG), ["rate", "between 0 and 1", "1.5"]),
    "flip 0 and 1": (lambda: experiments.flip_labels(Y > 0, 0.5, RNG), ["y must hold -1 and +1", "False"]),
    "flip among": (lambda: experiments.flip_labels(Y, 0.5, RNG, among=7), ["among", "None", "7"]),
    "reach from zero": (lambda: experiments.first_reach([0, 1], [0, 1], 0.5), ["x must rise from above 0"]),
    "reach sizes": (lambda: experiments.first_reach([1], [0, 1], 0.5), ["curve for each", "[1] and [0, 1]"]),
    "reach NaN": (lambda: experiments.first_reach([1, 2], [NAN, 1], 0.5), ["finite number in curve", "nan"]),
    # data
    "load misspelt": (lambda: datasets.load("ijcn1"), ["'ijcn1'", "did you mean 'ijcnn1'", "a9a"]),
    "load list": (lambda: datasets.load(["a9a"]), ["unknown data set ['a9a']", "choose one of"]),
    # results and figures
    "save no dict": (lambda: store.save_results("t", [1]), ["values must be a dict", "[1]"], TypeError),
    "save elsewhere": (lambda: store.save_results("../t", {}), ["name must be a plain file name", "'../t'"]),
    "save unnamed": (lambda: store.save_results("", {}), ["name must be a plain file name", "got ''"]),
    "save seeds": (lambda: store.save_results("t", {}, seeds=RNG), ["seeds is a Generator"], TypeError),
    "save data names": (lambda: store.save_results("t", {}, data=["a9a"]), ["data", "datasets.load"], TypeError),
    "save data bare": (lambda: store.save_results("t", {}, data=Bunch(x=1)), ["data must be a list"], TypeError),
    "figure None": (lambda: store.save_figure(None, "t"), ["fig must be a matplotlib Figure", "None"], TypeError),
    "figure elsewhere": (lambda: store.save_figure(Figure(), "a/b"), ["plain file name", "'a/b'"]),
    # bounds
    "compare 0 and 1": (lambda: bounds.compare([1, 1, 0], X, [0, 1, 1]), ["y must hold -1 and +1 only"]),
    "compare short u": (lambda: bounds.compare([1], X, Y), ["u must hold 3 finite numbers", "[1.]"]),
    "compare overflow": (lambda: bounds.compare([1, 1, 0], X * 1e300, Y), ["squares overflow", "scale"]),
    "theorem 2, losses": (lambda: bounds.theorem_2(U), ["Theorem 2", "without loss", "up to 4"]),
    "tightest variant": (lambda: bounds.tightest("PALS", X, Y), ["variant must be", "'PA-II'", "'PALS'"]),
    "along PA": (along(variant="PA"), ["needs a u without loss"]),
    "along active PA": (along(variant="PA", query="margin"), ["Theorem 1 of Lu, Zhao and Hoi needs"]),
    "along PALS": (along(variant="PALS"), ["No bound here", "variant='PALS' has none"]),
    "along weights": (along(class_weight="balanced"), ["No bound here", "class_weight makes C differ"]),
    "along random": (along(query="random", query_rate=0.5), ["No bound here", "query='random' has none"]),
    "along budget": (along(query="margin", label_budget=1), ["No bound here", "label_budget stops"]),
    "along delta": (along(query="margin", delta=0.5), ["at least 1; got 0.5"]),
    "along batches": (along(batch_size=4), ["batch_size lets examples share an update"]),
    "along regression": (lambda: bounds.along(PARegressor(), X, Y, [1, 1, 0]),
                         ["model must be a PAClassifier", "PARegressor()"], TypeError),
}  # fmt: skip


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Whatever a case writes by mistake lands here, and is seen."""
    monkeypatch.setenv("PA_LAB_OUTPUT", str(tmp_path / "out"))
    yield
    assert not list(tmp_path.rglob("*.json")) and not list(tmp_path.rglob("*.svg"))


@pytest.mark.parametrize("name", CASES)
def test_the_error_says_what_is_wrong(name):
    call, words, *other = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(other[0] if other else ValueError) as caught:
            call()
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


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
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        call()


@pytest.mark.parametrize(
    "starts", [[0, 2, 1, 4], [0, 2, 2, 0], [1, 2, 3, 4], [0, 2, 9, 4], [0, 1, 2, 9], [0, -1, 2, 4], [0, 4]]
)
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("model", [PAClassifier(), KernelPAClassifier()])
def test_a_matrix_with_damaged_pointers_is_refused(model, form, starts):
    """Learnt as they stand, such rows give wrong weights or end the process."""
    damaged = sp.csr_matrix(np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])).asformat(form)
    damaged.indptr = np.array(starts, dtype=damaged.indptr.dtype)
    with pytest.raises(ValueError, match="damaged sparse matrix"):
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
TOO_SMALL_FOR = PAClassifier(fit_intercept=False)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("model", "factor"), [*((m, 1e200) for m in TOO_LARGE_FOR), (TOO_SMALL_FOR, 1e-200)], ids=repr)
def test_rows_too_large_or_too_small_are_refused(model, factor, method, form):
    options = {"classes": [-1, 1]} if method == "partial_fit" and is_classifier(model) else {}
    with pytest.raises(ValueError, match=r"overflow.*(scale the features|Scaling input data)"):
        getattr(clone(model), method)(form(X * factor), Y, **options)


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
