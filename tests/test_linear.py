"""The linear learners against plain loops, a general solver, scikit-learn, and themselves in other clothes."""

from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracles
from pa_lab import KernelPAClassifier, PAClassifier, PARegressor
from pa_lab.rules import VARIANTS

VARIANT = pytest.mark.parametrize("variant", VARIANTS)
INTERCEPT = pytest.mark.parametrize("fit_intercept", [False, True])
FORMATS = {"dense": np.asarray, "csr": sparse.csr_array}
FORMAT = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
SIX_DECADES = 10.0 ** np.arange(-3, 4)


def stream(seed=0, n=120, d=7, n_classes=2, density=0.6):
    """Noisy rows with zeros among them, and targets: labels, class indices, or (n_classes=1) numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    scores = X @ rng.normal(size=(d, max(n_classes, 2))) + rng.normal(size=(n, max(n_classes, 2)))
    if n_classes == 1:
        return X, 3.0 * scores[:, 0] + 1.0
    return X, np.where(scores[:, 0] > scores[:, 1], 1, -1) if n_classes == 2 else scores.argmax(axis=1)


def assert_same(model, oracle, tolerance=1e-12):
    scale = max(1.0, np.abs(oracle["w"]).max())
    assert np.abs(model.coef_ - oracle["w"]).max() < tolerance * scale
    assert np.abs(model.intercept_ - oracle["b"]).max() < tolerance * scale


# ---------------------------------------------------------------- the oracles


# by the number of classes, 1 for regression
LEARNERS = {1: PARegressor, 2: PAClassifier, 4: PAClassifier}
PLAIN = {1: oracles.pa_regression, 2: oracles.pa_binary, 4: partial(oracles.pa_multiclass, n_classes=4)}


@VARIANT
@INTERCEPT
@FORMAT
@pytest.mark.parametrize("n_classes", LEARNERS)
def test_a_fit_equals_the_plain_loop(n_classes, variant, fit_intercept, form):
    X, y = stream(n_classes, n_classes=n_classes)
    for C, epochs, average in [*product(SIX_DECADES, [1], [False]), (0.3, 3, True), (0.3, 3, False)]:
        for tube in ({"epsilon": 0.0}, {"epsilon": 0.5}) if n_classes == 1 else ({},):
            options = {"variant": variant, "C": C, "fit_intercept": fit_intercept, "average": average} | tube
            oracle = PLAIN[n_classes](X, y, epochs=epochs, **options)
            model = LEARNERS[n_classes](**options, max_iter=epochs).fit(form(X), y)
            assert_same(model, oracle)
            assert (model.n_updates_, model.n_seen_) == (oracle["n_updates"], epochs * len(y))
            assert model.n_mistakes_ == oracle.get("n_mistakes", model.n_mistakes_)


@pytest.mark.parametrize("variant", ["PA-I", "PA-II", "PALS"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_class_weight_multiplies_C(variant, n_classes):
    X, y = stream(4, n_classes=n_classes)
    factors = np.array([3.0, 0.25, 1.0, 0.5])[:n_classes]
    weights = dict(zip(np.unique(y).tolist(), factors.tolist(), strict=True))
    oracle = PLAIN[n_classes](X, y, variant=variant, C=0.1, class_weight=factors)
    assert_same(PAClassifier(variant, 0.1, class_weight=weights).fit(X, y), oracle)
    balanced = len(y) / (n_classes * np.unique(y, return_counts=True)[1])
    oracle = PLAIN[n_classes](X, y, variant=variant, C=0.1, class_weight=balanced)
    assert_same(PAClassifier(variant, 0.1, class_weight="balanced").fit(X, y), oracle)


@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_shuffle_is_another_order_each_epoch(n_classes):
    X, y = stream(5, n_classes=n_classes)
    model = LEARNERS[n_classes](shuffle=True, max_iter=2, random_state=7).fit(X, y)
    rng = np.random.default_rng(7).spawn(2)[0]
    orders = np.array([rng.permutation(len(y)) for _ in range(2)])
    assert not np.array_equal(orders[0], orders[1])
    assert_same(model, PLAIN[n_classes](X, y, epochs=2, order=orders))


# ---------------------------------------------------------------- scikit-learn


@pytest.mark.parametrize(("variant", "schedule"), [("PA-I", "pa1"), ("PA-II", "pa2")])
@FORMAT
def test_equals_scikit_learn_without_intercept_and_on_a_column_of_ones(variant, schedule, form):
    sgd = {"penalty": None, "learning_rate": schedule, "shuffle": False, "max_iter": 1, "tol": None}
    ones = np.ones((120, 1))
    for n_classes, C in product((1, 2), SIX_DECADES):
        X, y = stream(8, n_classes=n_classes)
        if n_classes == 1:
            ours, theirs = PARegressor, SGDRegressor(loss="epsilon_insensitive", epsilon=0.1, **sgd)
        else:
            ours, theirs = PAClassifier, SGDClassifier(loss="hinge", **sgd)
        theirs.set_params(eta0=C, fit_intercept=False)
        without = ours(variant, C, fit_intercept=False).fit(form(X), y).coef_
        assert np.abs(without - theirs.fit(form(X), y).coef_).max() < 1e-10 * max(1.0, np.abs(without).max())
        model = ours(variant, C).fit(form(X), y)
        column = theirs.fit(form(np.hstack([X, ones])), y).coef_
        both = np.append(model.coef_, model.intercept_)
        assert np.abs(both - column).max() < 1e-10 * max(1.0, np.abs(both).max())


@parametrize_with_checks(
    [
        PAClassifier(),
        PAClassifier("PA-II", average=True, shuffle=True, max_iter=2, random_state=0),
        PAClassifier("PALS"),
        PAClassifier(query="margin", random_state=0),
        PAClassifier(multi_class="ovr", max_iter=50, tol=1e-3, shuffle=True, random_state=0),
        PARegressor(),
        PARegressor("PA-II", average=True, shuffle=True, max_iter=2, random_state=0),
    ],
    expected_failed_checks=oracles.expected_failed_checks,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning", "ignore:the labels come in long runs")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- the same answer whatever the input's form


def layouts(X):
    """The same numbers in other clothes."""
    wide = np.zeros((2 * X.shape[0], 2 * X.shape[1]))
    wide[::2, ::2] = X
    locked = X.copy()
    locked.flags.writeable = False
    yield from (X.copy(order="F"), wide[::2, ::2], locked, pd.DataFrame(X).set_axis(list("abcdefg"), axis=1))


@pytest.mark.parametrize(
    "model",
    [
        PAClassifier(),
        PAClassifier("PA-II", batch_size=5, average=True),
        KernelPAClassifier(gamma=0.2),
        KernelPAClassifier(gamma=0.2, landmarks=9),
        KernelPAClassifier(gamma=0.2, landmarks=9, landmark_choice="kmeans", random_state=0),
        KernelPAClassifier(kernel="laplacian", budget=9),
        KernelPAClassifier(kernel=lambda a, b: a @ b.T),
    ],
    ids=["linear", "batches", "growing", "landmarks", "means", "budget", "callable"],
)
def test_memory_layout_does_not_matter(model):
    X, y = stream(9)
    expected = model.fit(X, y).decision_function(X)
    for other in layouts(X):
        assert np.array_equal(model.fit(other, y).decision_function(other), expected)


def test_sparse_forms_do_not_matter():
    X, y = stream(10)
    expected = PAClassifier().fit(sparse.csr_array(X), y).coef_
    assert np.abs(expected - PAClassifier().fit(X, y).coef_).max() < 1e-12
    shuffled = sparse.csr_matrix(X)
    for row in range(X.shape[0]):  # columns of a row out of order
        part = slice(*shuffled.indptr[row : row + 2])
        shuffled.indices[part], shuffled.data[part] = shuffled.indices[part][::-1], shuffled.data[part][::-1].copy()
    shuffled.has_sorted_indices = False
    csr = sparse.csr_matrix(X)
    twice = sparse.csr_matrix((np.repeat(csr.data / 2, 2), np.repeat(csr.indices, 2), 2 * csr.indptr), X.shape)
    assert not twice.has_canonical_format
    for other in (sparse.csc_matrix(X), sparse.coo_array(X), shuffled, twice, sparse.csr_matrix(X)):
        before = other.copy()
        model = PAClassifier().fit(other, y)
        assert np.abs(model.coef_ - expected).max() < 1e-12
        assert np.abs(model.decision_function(other) - X @ expected[0] - model.intercept_).max() < 1e-9
        assert (abs(before - other)).max() == 0  # the caller's matrix is left alone


# ---------------------------------------------------------------- streaming


def test_C_may_change_between_partial_fits():
    X, y = stream(15, n_classes=1)
    model = PARegressor(C=3.0).partial_fit(X[:30], y[:30])
    model.set_params(C=0.1).partial_fit(X[30:], y[30:])
    w = np.zeros(8)
    for t, x in enumerate(np.hstack([X, np.ones((len(X), 1))])):
        w, _ = oracles.solve_step(w, x, y[t], "PA-I", 3.0 if t < 30 else 0.1, 0.1)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), w, rtol=1e-9, atol=1e-9)


def test_warm_start_goes_on_and_fit_starts_again():
    X, y = stream(16)
    twice = PAClassifier(max_iter=2).fit(X, y)
    warm = PAClassifier(warm_start=True).fit(X, y).fit(X, y)
    assert np.array_equal(twice.coef_, warm.coef_) and warm.n_seen_ == 2 * len(y)
    cold = PAClassifier().fit(X[:50], y[:50]).fit(X, y)
    assert np.array_equal(cold.coef_, PAClassifier().fit(X, y).coef_) and cold.n_seen_ == len(y)


def test_passes_are_counted_by_call():
    X, y = np.array([[1.0], [-1.0]]), [1, 0]
    model = PAClassifier(max_iter=5).fit(X, y)
    assert (model.n_iter_, model.n_seen_) == (5, 10)
    assert (model.partial_fit(X, y).n_iter_, model.n_seen_) == (1, 12)
