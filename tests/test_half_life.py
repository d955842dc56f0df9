"""The mean that forgets: against a sum over all rows, whatever learns, whatever the calls, and at its two limits."""

import pickle
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor, plain
from pa_lab.study.experiments import trace

RNG = np.random.default_rng(3)
X, NEW = RNG.normal(size=(150, 4)), RNG.normal(size=(5, 4))
NUMBERS = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * RNG.normal(size=150)
TWO, MANY = np.where(NUMBERS > 0, "b", "a"), np.digitize(NUMBERS, [-0.5, 0.5])
HALF_LIVES = 0.001, 0.02, 0.3, 7.3, 100.0, 1e12
LEARNERS = {
    "two": (PAClassifier, {}, TWO),
    "wide constant": (PAClassifier, {"variant": "PA", "intercept_scaling": 3.0}, TWO),
    "many": (PAClassifier, {"variant": "PA-II"}, MANY),
    "ovr": (PAClassifier, {"multi_class": "ovr"}, MANY),
    "batch": (PAClassifier, {"batch_size": 7}, TWO),
    "regression": (PARegressor, {"variant": "PALS"}, NUMBERS),
    "growing": (KernelPAClassifier, {"gamma": 0.5}, TWO),
    "growing, many": (KernelPAClassifier, {"gamma": 0.5}, MANY),
    "landmarks": (KernelPAClassifier, {"gamma": 0.5, "landmarks": X[:9]}, TWO),
    "kernel regression": (KernelPARegressor, {"gamma": 0.5, "landmarks": X[:9], "landmark_norm": "euclidean"}, NUMBERS),
}


def scores(model):
    return model.decision_function(NEW) if hasattr(model, "decision_function") else model.predict(NEW)


def feed(model, y, parts, form=np.asarray):
    options = {"classes": np.unique(y)} if hasattr(model, "decision_function") else {}
    for part in parts:
        model.partial_fit(form(X[part]), y[part], **options)
        yield scores(model)


@cache
def on_the_way(name):
    """The scores of new rows under the weights after each example; those of a batch count for each of its rows."""
    make, options, y = LEARNERS[name]
    size = options.get("batch_size", 1)
    parts = np.split(np.arange(150), range(size, 150, size))
    return np.repeat(list(feed(make(**options), y, parts)), [len(part) for part in parts], axis=0)


@pytest.mark.parametrize("half_life", HALF_LIVES)
@pytest.mark.parametrize("name", LEARNERS)
def test_scores_are_the_weighted_mean_of_the_scores_on_the_way(name, half_life):
    (make, options, y), path = LEARNERS[name], on_the_way(name)
    model = make(average=True, half_life=half_life, **options)
    expected = plain.average(path, half_life)
    np.testing.assert_allclose(scores(model.fit(X, y)), expected, rtol=0, atol=1e-12 * abs(path).max())
    limit = {0.001: path[-1], 1e12: path.mean(axis=0)}.get(half_life, expected)
    np.testing.assert_allclose(scores(model), limit, rtol=0, atol=1e-9 * abs(path).max())
    if "batch_size" not in options:
        *_, last = feed(
            make(average=True, half_life=half_life, **options), y, np.split(np.arange(150), [1, 2, 40, 149])
        )
        np.testing.assert_allclose(last, expected, rtol=0, atol=1e-12 * abs(path).max())


@pytest.fixture(scope="module")
def million():
    """A million rows, and what the steps of PA-I add up to after each, in extended precision."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1_000_000, 3)) * (rng.random((1_000_000, 3)) < 0.7)
    y = np.where(rows @ [1.0, -2.0, 0.5] + rng.normal(size=len(rows)) > 0, 1, -1)
    tau = trace(PAClassifier(C=0.5, fit_intercept=False), rows, y)["tau"].to_numpy()
    return rows, y, np.cumsum((tau * y)[:, None] * rows.astype(np.longdouble), axis=0)


@pytest.mark.parametrize(("half_life", "calls"), [(1.0, 1), (60.0, 900), (5e3, 7), (2e5, 50), (1e9, 3)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_million_rows_agree_with_the_sum(million, half_life, calls, form):
    rows, y, path = million
    weight = np.exp2(-(np.arange(len(y))[::-1] / np.longdouble(half_life)))
    model = PAClassifier(C=0.5, fit_intercept=False, average=True, half_life=half_life)
    for part in np.split(np.arange(len(y)), np.sort(np.random.default_rng(calls).integers(1, len(y), calls - 1))):
        model.partial_fit(form(rows[part]), y[part], classes=[-1, 1])
    assert abs(model.coef_[0] - weight @ path / weight.sum()).max() < 1e-12 * abs(path).max()


def test_short_rows_of_a_wide_stream_do_not_touch_every_weight():
    """With a half-life of one row the sum is scaled every 448 rows, and only then is every weight read."""
    rng, wide = np.random.default_rng(2), 5000
    rows = sparse.random(2000, wide, 0.002, "csr", random_state=rng)
    y = np.where(rng.random(2000) < 0.5, 1, -1)
    model, copies = PAClassifier(average=True, half_life=1.0), 0
    for i in range(2000):
        held = getattr(getattr(model, "_model", None), "last", None)
        model.partial_fit(rows[[i]], y[[i]], classes=[-1, 1])
        copies += model._model.last is not held
    assert copies < 8
    whole = PAClassifier(average=True, half_life=1.0).fit(rows, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=0, atol=1e-12)


def test_it_goes_on_from_pickles_weights_from_outside_answers_and_blocks():
    model = PAClassifier(average=True, half_life=9.0).fit(X[:70], TWO[:70])
    whole = PAClassifier(average=True, half_life=9.0).fit(X, TWO)
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[70:], TWO[70:])
    np.testing.assert_allclose(again.coef_, whole.coef_, rtol=1e-12)
    model.coef_ = given = np.ones((1, 4))  # they stand for the 70 rows before
    path = plain.linear(np.column_stack([X[70:], np.ones(80)]), np.where(TWO[70:] == "b", 1, -1))
    np.testing.assert_array_equal(model.coef_, given)
    path = [np.append(given, model.intercept_)] * 70
    live = PAClassifier().partial_fit(X[:1], TWO[:1], classes=["a", "b"])
    live.coef_, live.intercept_ = given, model.intercept_
    for i in range(70, 150):
        path.append(np.append(live.partial_fit(X[[i]], TWO[[i]]).coef_, live.intercept_))
    np.testing.assert_allclose(model.partial_fit(X[70:], TWO[70:]).coef_[0], plain.average(np.array(path), 9.0)[:4])
    asking = {"average": True, "half_life": 0.4, "query": "margin", "random_state": 5}
    whole, live = PAClassifier(**asking).fit(X, TWO), PAClassifier(**asking)
    for i in range(150):
        if live.should_query(X[[i]])[0]:
            live.partial_fit(X[[i]], TWO[[i]], classes=["a", "b"], asked=True)
    np.testing.assert_allclose(live.coef_, whole.coef_, rtol=1e-12)
    asked = live.should_query(X)
    live.partial_fit(X[asked], TWO[asked], asked=True)
    assert np.isfinite(live.coef_).all()


def test_it_is_refused_where_it_says_nothing():
    with pytest.raises(ValueError, match=r"half_life=5\.0 is the memory of the mean of the weights: set average=True"):
        PAClassifier(half_life=5.0).fit(X, TWO)
    with pytest.raises(ValueError, match="average=True needs every vector"):
        KernelPAClassifier(average=True, half_life=5.0, budget=9).fit(X, TWO)
    with pytest.raises(ValueError, match="half_life cannot change while the model learns on"):
        PAClassifier(average=True, half_life=5.0).fit(X, TWO).set_params(half_life=6.0).partial_fit(X, TWO)
    for wrong in (0.0, -1.0, np.inf, np.nan, "long"):
        with pytest.raises(ValueError, match="'half_life' parameter"):
            PAClassifier(average=True, half_life=wrong).fit(X, TWO)
