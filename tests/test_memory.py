"""A learner owns its memory: what the caller does with arrays afterwards, or how they are stored, changes nothing."""

import gc
import weakref
from functools import partial

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor
from pa_lab.budget import POLICIES

N = 600  # several blocks of rows
WAYS = {
    "growing": {},
    "averaged": {"average": True},
    "batches": {"batch_size": 7},
    "landmarks": {"landmarks": 30},
    "landmarks averaged": {"landmarks": 30, "average": True},
    "means": {"landmarks": 10, "landmark_choice": "kmeans"},
    "callable": {"kernel": partial(rbf_kernel, gamma=0.5)},
} | {policy: {"budget": 20, "budget_policy": policy} for policy in POLICIES}
LEARNERS = {name: lambda options=options: KernelPAClassifier(**({"gamma": 0.5, "random_state": 0} | options))
            for name, options in WAYS.items()}  # fmt: skip
LEARNERS |= {
    "linear": lambda: PAClassifier(C=0.1),
    "linear averaged": lambda: PAClassifier(C=0.1, average=True),
    "linear batches": lambda: PAClassifier(C=0.1, batch_size=7),
    "regression": lambda: PARegressor(C=0.1),
    "kernel regression": lambda: KernelPARegressor(gamma=0.5),
}
each_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)


def problem(dtype=np.float64, n=N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(dtype)
    return X, np.where((X**2).sum(axis=1) + rng.normal(size=n) > 4, 1.0, 0.0)


def scores(model, Z):
    return model.decision_function(Z) if hasattr(model, "decision_function") else model.predict(Z)


def shown(model):
    """Everything that a learner shows of itself."""
    names = [name for name in ("coef_", "intercept_", "dual_coef_", "support_", "support_vectors_", "n_seen_",
                               "n_updates_", "n_mistakes_") if hasattr(model, name)]  # fmt: skip
    return {name: np.array(getattr(model, name)) for name in names}


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


@each_learner
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_may_be_changed_afterwards(make, dtype):
    X, y = problem(dtype)
    Z = np.random.default_rng(1).normal(size=(50, 4)).astype(dtype)
    model, parts = make().fit(X, y), make()
    first, labels = X[:200].copy(), y[:200].copy()
    options = {"classes": [0.0, 1.0]} if hasattr(model, "classes_") else {}
    parts.partial_fit(first, labels, **options)
    whole, half, before = scores(model, Z), scores(parts, Z), shown(model)
    X += 2.0
    y[:] = y[::-1].copy()
    first[:], labels[:] = np.nan, 1.0
    assert np.array_equal(scores(model, Z), whole) and np.array_equal(scores(parts, Z), half)
    assert same(shown(model), before)
    X, y = problem(dtype)
    parts.partial_fit(X[200:], y[200:])
    straight = make()
    for part in (slice(0, 200), slice(200, N)):
        straight.partial_fit(X[part], y[part], **options)
    assert same(shown(straight), shown(parts)) and np.array_equal(scores(straight, Z), scores(parts, Z))


@each_learner
def test_no_learner_keeps_the_rows_alive(make):
    X, y = problem()
    rows, labels = weakref.ref(X), weakref.ref(y)
    model = make().fit(X, y)
    scores(model, X)
    del X, y
    gc.collect()
    assert rows() is None and labels() is None
    X, y = problem()
    rows = weakref.ref(X)
    model.partial_fit(X, y)
    del X
    gc.collect()
    assert rows() is None


@pytest.mark.parametrize("way", WAYS)
def test_what_is_shown_is_a_copy(way):
    X, y = problem()
    model = LEARNERS[way]().fit(X, y)
    before, expected = shown(model), scores(model, X)
    for name in ("dual_coef_", "support_", "support_vectors_"):
        getattr(model, name)[:] = 7
    assert same(shown(model), before) and np.array_equal(scores(model, X), expected)


def test_given_landmarks_and_kernel_values_are_copied():
    X, y = problem()
    L, K = X[:20].copy(), rbf_kernel(X, gamma=0.5)
    by_rows = KernelPAClassifier(gamma=0.5, landmarks=L).fit(X, y)
    by_values = KernelPAClassifier(kernel="precomputed").fit(K, y)
    Z = K[:50].copy()
    before = scores(by_rows, X), scores(by_values, Z)
    L[:] = 0.0
    K[:] = 0.0
    assert np.array_equal(scores(by_rows, X), before[0]) and np.array_equal(scores(by_values, Z), before[1])


# ---------------------------------------------------------------- calls that fail


def refused(model, X, y):
    """Have a call fail near its end, after it has changed much: the same row comes with targets far apart."""
    X, y = X.copy(), y.copy()
    X[-20:], y[-20:] = X[-1], np.resize([1e308, -1e308], 20)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="overflow"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "callable"])
def test_a_refused_call_leaves_everything_as_it_was(way):
    """To the last bit, now and in all that is learnt later."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    options = {"gamma": 0.5, "epsilon": 0.1, "random_state": 0, "C": 1.7e308} | WAYS[way]
    model, untouched = (KernelPARegressor(**options).fit(X[:200], y[:200]) for _ in range(2))
    before = shown(model)
    refused(model, X[200:], y[200:])
    assert same(shown(model), before) and np.array_equal(scores(model, X), scores(untouched, X))
    for at in range(200, 700, 50):
        part = slice(at, at + 50)
        model.partial_fit(X[part], y[part])
        untouched.partial_fit(X[part], y[part])
        refused(model, X[:60], y[:60])
    assert same(shown(model), shown(untouched)) and np.array_equal(scores(model, X), scores(untouched, X))
