"""The drop-in estimators against scikit-learn's own: its tests, and the same weights from the same seeds."""

import importlib.util
import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from sklearn.datasets import load_iris, make_regression
from sklearn.utils.estimator_checks import parametrize_with_checks

from pa_lab import PAClassifier, PARegressor
from pa_lab.compat import PassiveAggressiveClassifier, PassiveAggressiveRegressor

THEIRS = Path(sklearn.linear_model.__file__).parent / "tests" / "test_passive_aggressive.py"
GONE = not hasattr(sklearn.linear_model, "PassiveAggressiveClassifier") or not THEIRS.exists()
needs_theirs = pytest.mark.skipif(GONE, reason="this release of scikit-learn no longer has the classes")
IRIS = load_iris()
ORDER = np.random.default_rng(0).permutation(150)
X, Y3 = IRIS.data[ORDER] - 3.0, IRIS.target_names[IRIS.target[ORDER]]
Y2 = np.where(IRIS.target[ORDER] == 1, 1, -1)
XR, YR = make_regression(150, 6, noise=1.0, random_state=0)


def cases():
    """Functions of scikit-learn's own test file, with their parameters, on our classes."""
    if GONE:
        return []
    spec = importlib.util.spec_from_file_location("test_passive_aggressive_of_scikit_learn", THEIRS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.PassiveAggressiveClassifier = PassiveAggressiveClassifier
    module.PassiveAggressiveRegressor = PassiveAggressiveRegressor
    found = []
    for name, function in vars(module).items():
        if not name.startswith("test_") or name == "test_class_deprecation":
            continue
        axes = []
        for mark in getattr(function, "pytestmark", []):
            if mark.name == "parametrize":
                names = mark.args[0].split(",") if isinstance(mark.args[0], str) else list(mark.args[0])
                values = [value if len(names) > 1 else (value,) for value in mark.args[1]]
                axes.append([dict(zip(names, value, strict=True)) for value in values])
        for choice in itertools.product(*axes):
            arguments = {k: v for part in choice for k, v in part.items()}
            found.append(pytest.param(function, arguments, id=f"{name}-{len(found)}"))
    return found


@needs_theirs
@pytest.mark.parametrize(("function", "arguments"), cases())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_own_tests_pass(function, arguments):
    function(**arguments)


@needs_theirs
def test_the_cases_are_as_many_as_in_release_1_9():
    assert len(cases()) == 61  # 63 less the two that ask the classes to warn of their own removal


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@needs_theirs
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "CSR"])
@pytest.mark.parametrize("average", [False, True, 40])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"C": 0.03, "shuffle": False, "max_iter": 7, "tol": None},
        {"early_stopping": True},
        {"class_weight": "balanced", "max_iter": 20},
        {"n_iter_no_change": 2, "tol": 0.01, "loss": 2},
        {"C": 1e-3, "max_iter": 5, "tol": None, "loss": 2},
        {"C": 30.0, "max_iter": 5, "tol": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("task", ["two", "three", "regression"])
def test_the_same_seed_gives_the_same_weights(task, options, fit_intercept, average, sparse):
    options = {**options, "fit_intercept": fit_intercept, "average": average, "random_state": 5}
    squared = options.pop("loss", None) == 2
    rows, y = (XR, YR) if task == "regression" else (X, Y2 if task == "two" else Y3)
    if task == "regression":
        options.pop("class_weight", None)
        options["loss"] = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
        ours, theirs = PassiveAggressiveRegressor, sklearn.linear_model.PassiveAggressiveRegressor
    else:
        options["loss"] = "squared_hinge" if squared else "hinge"
        ours, theirs = PassiveAggressiveClassifier, sklearn.linear_model.PassiveAggressiveClassifier
    rows = sp.csr_matrix(rows) if sparse else rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = ours(**options).fit(rows, y), theirs(**options).fit(rows, y)
        for model in (one, other):
            assert model.n_iter_ == one.n_iter_ and model.t_ == one.t_
        np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-12, atol=1e-12)
        if options.get("early_stopping") or options.get("class_weight") == "balanced":
            return
        if average and fit_intercept and task != "regression":
            return  # see test_a_stream_in_blocks_is_one_pass
        extra = {} if task == "regression" else {"classes": np.unique(y)}
        one, other = ours(**options), theirs(**options)
        for start in range(0, 150, 30):
            for model in (one, other):
                model.partial_fit(rows[start : start + 30], y[start : start + 30], **extra)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("average", [False, True, 40])
@pytest.mark.parametrize("labels", [Y2, Y3], ids=["two", "three"])
def test_a_stream_in_blocks_is_one_pass(labels, average):
    """With averaging and an intercept scikit-learn's is not."""
    whole = PassiveAggressiveClassifier(average=average, shuffle=False, max_iter=1, tol=None).fit(X, labels)
    parts = PassiveAggressiveClassifier(average=average, shuffle=False)
    for start in range(0, 150, 30):
        parts.partial_fit(X[start : start + 30], labels[start : start + 30], classes=np.unique(labels))
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-9)


@pytest.mark.parametrize("variant", ["PA-I", "PA-II"])
def test_the_exact_intercept_is_that_of_our_own_learners(variant):
    loss = "hinge" if variant == "PA-I" else "squared_hinge"
    options = {"C": 0.1, "shuffle": False, "max_iter": 3, "tol": None, "intercept": "exact"}
    drop_in = PassiveAggressiveClassifier(loss=loss, class_weight={1: 0.3, -1: 2.0}, **options).fit(X, Y2)
    own = PAClassifier(variant, C=0.1, max_iter=3, class_weight={1: 0.3, -1: 2.0}).fit(X, Y2)
    np.testing.assert_allclose(drop_in.coef_, own.coef_, rtol=1e-10)
    np.testing.assert_allclose(drop_in.intercept_, own.intercept_, rtol=1e-10)
    loss = "epsilon_insensitive" if variant == "PA-I" else "squared_epsilon_insensitive"
    drop_in = PassiveAggressiveRegressor(loss=loss, **options).fit(XR, YR)
    own = PARegressor(variant, C=0.1, max_iter=3).fit(XR, YR)
    np.testing.assert_allclose(drop_in.coef_, own.coef_, rtol=1e-10)


@needs_theirs
@pytest.mark.parametrize("average", [False, True, 40])
@pytest.mark.parametrize("task", ["three", "regression"])
def test_edited_weights_are_learnt_on_from(task, average):
    names, options = ("PassiveAggressiveClassifier", {"classes": np.unique(Y3)}), {"average": average}
    rows, y = X, Y3
    if task == "regression":
        names, options, (rows, y) = ("PassiveAggressiveRegressor", {}), {"average": average}, (XR, YR)
    weights = []
    for module in (sklearn.linear_model, importlib.import_module("pa_lab.compat")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(module, names[0])(shuffle=False, fit_intercept=False, **options)
            model.partial_fit(rows[:60], y[:60], **names[1])
        model.coef_ *= 0.5
        model.partial_fit(rows[60:], y[60:])
        weights.append(model.coef_)
    np.testing.assert_allclose(*weights, rtol=1e-12, atol=1e-12)


@needs_theirs
@pytest.mark.parametrize("average", [False, True, 10])
@pytest.mark.parametrize("task", ["two", "three", "regression"])
def test_a_warm_start_goes_on_as_in_scikit_learn(task, average):
    name = "PassiveAggressiveRegressor" if task == "regression" else "PassiveAggressiveClassifier"
    rows, y = (XR, YR) if task == "regression" else (X, Y2 if task == "two" else Y3)
    weights = []
    for module in (sklearn.linear_model, importlib.import_module("pa_lab.compat")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(module, name)(max_iter=3, tol=None, warm_start=True, average=average, random_state=0)
            model.fit(rows[:90], y[:90]).fit(rows[60:], y[60:])
        weights.append(np.c_[np.atleast_2d(model.coef_), model.intercept_])
    np.testing.assert_allclose(*weights, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("model", [PassiveAggressiveClassifier, PassiveAggressiveRegressor])
def test_every_attribute_can_be_listed(model, average):
    model = model(average=average).fit(X, Y2)
    assert {"coef_", "predict"} <= set(dir(model)) and (model._average_coef is None) == (not average)


def test_weights_become_sparse_and_dense_again():
    model = PassiveAggressiveClassifier(random_state=0).fit(X, Y3)
    before = model.predict(X)
    assert sp.issparse(model.sparsify().coef_) and (model.predict(X) == before).all()
    assert not sp.issparse(model.densify().coef_) and (model.predict(X) == before).all()


@parametrize_with_checks(
    [
        PassiveAggressiveClassifier(random_state=0),
        PassiveAggressiveClassifier(random_state=0, intercept="exact", loss="squared_hinge", average=True),
        PassiveAggressiveRegressor(random_state=0),
        PassiveAggressiveRegressor(random_state=0, intercept="exact"),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)
