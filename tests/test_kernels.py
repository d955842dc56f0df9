"""Kernel values and sums of kernel functions against numpy, one row at a time; exp against mpmath."""

import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.sparse import csr_matrix

from pa_lab import kernels
from pa_lab.kernels import DISTANCES, KINDS, TILE, Kernel, Vectors

RELATIVE = {np.float64: 1e-12, np.float32: 1e-5}


@njit
def apply_all(x, exp, exp_single):
    for i in range(x.size):
        exp[i] = kernels.exp(-abs(x[i]))
        exp_single[i] = kernels.exp(-abs(np.float32(x[i])))


def applied(x):
    """exp(-|x|) by our function, double and single."""
    out = [np.empty(len(x), dtype) for dtype in (np.float64, np.float32)]
    apply_all(np.asarray(x, np.float64), *out)
    return out


def errors(got, x, exact):
    """Errors in units in the last place of the exact value."""
    with mpmath.workprec(200):
        return np.array([
            abs(mpmath.mpf(float(g)) - exact(mpmath.mpf(float(v)))) / float(np.spacing(got.dtype.type(abs(exact(v)))))
            for g, v in zip(got, x, strict=True)
        ], float)  # fmt: skip


def expression(kind, gamma, coef0, degree, x, S):
    """Kernel values of a row with all vectors, by numpy, and the size to which their rounding is relative."""
    if kind in ("rbf", "laplacian"):
        exponents = -gamma * ((x - S) ** 2 if kind == "rbf" else np.abs(x - S)).sum(axis=1)
        return np.exp(exponents), np.exp(exponents) * (1 - exponents)
    inner, terms = (x * S).sum(axis=1), np.abs(x * S).sum(axis=1)
    return {
        "linear": (inner, terms),
        "poly": ((gamma * inner + coef0) ** degree, (gamma * terms + coef0) ** degree),
    }[kind]


def held(rows, dtype=np.float64):
    return Vectors(rows, np.arange(len(rows)), dtype)


# ---------------------------------------------------------------- exp


def test_exp_is_right_to_1_1_units_in_the_last_place():
    rng = np.random.default_rng(0)
    halves = (rng.integers(0, 1020, 3000) + 0.5) * np.log(2) * (1 + 2e-16 * rng.normal(size=3000))  # k is in doubt
    x = np.concatenate([rng.uniform(-3, 3, 9000), rng.uniform(0, 708.39, 3000), 10.0 ** rng.uniform(-300, 2, 2000),
                        halves, np.log(2) * rng.integers(0, 1020, 500), [0.0, 1.0, 708.396]])  # fmt: skip
    worst = errors(applied(x)[0], -np.abs(x), mpmath.exp).max()
    assert worst <= 1.1, worst
    x = np.concatenate([x[:9000], rng.uniform(0, 87.33, 3000), 10.0 ** rng.uniform(-30, 1.9, 2000)])
    x = x.astype(np.float32).astype(np.float64)
    worst = errors(applied(x)[1], -np.abs(x), mpmath.exp).max()
    assert worst <= 1.1, worst


def test_exp_at_the_ends():
    exp, single = applied([0.0, -0.0, np.inf, -np.inf, np.nan, 708.3965, 1e38, -1e38])
    assert exp[:4].tolist() == single[:4].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert np.isnan([exp[4], single[4]]).all() and exp[5:].tolist() == [0.0, 0.0, 0.0]
    assert applied([708.396])[0][0] > np.finfo(np.float64).tiny
    assert applied([87.336, 87.337])[1].astype(bool).tolist() == [True, False]


# ---------------------------------------------------------------- values and sums against the plain expression


@settings(max_examples=120, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), dtype=st.sampled_from([np.float64, np.float32]),
       d=st.sampled_from([1, 2, 3, 4, 5, 22, 37, 200]), n=st.sampled_from([1, 2, 127, 128, 129, 300, 700]),
       gamma=st.sampled_from([1e-12, 1e-3, 0.3, 1.0, 40.0, 1e6]), far=st.sampled_from([0.0, 3.0, 1000.0, 2.0**20]),
       columns=st.integers(1, 4))  # fmt: skip
def test_scores_are_those_of_the_plain_expression(seed, kind, dtype, d, n, gamma, far, columns):
    """Duplicates, huge and tiny gamma, rows far from the origin, 1 to 200 features, weights of all sizes."""
    rng = np.random.default_rng(seed)
    scale = 1.0 if kind in DISTANCES else 1.0 / max(1.0, far)
    S = ((rng.normal(size=(n, d)) + far) * scale).astype(dtype)
    S[rng.integers(0, n, n // 3)] = S[0]
    X = np.concatenate([S[: min(n, 5)], ((rng.normal(size=(4, d)) + far) * scale).astype(dtype)])
    W = rng.normal(size=(n, columns)) * 10.0 ** rng.integers(-3, 3, (n, 1))
    gamma = gamma if kind in DISTANCES else min(gamma, 1.0) / d
    kernel, vectors = Kernel(kind, gamma, 3, 0.5, dtype), held(S, dtype)
    scores, values = kernel.scores(X, vectors, W), kernel.values(X, vectors)
    for x, p, k in zip(X.astype(float), scores, values, strict=True):
        exact, size = expression(kind, float(dtype(gamma)), 0.5, 3, x, S.astype(float))
        if dtype is np.float64 and kind in DISTANCES:
            size = exact  # a relative error, however small the value
        tolerance = RELATIVE[dtype] * size + np.finfo(dtype).tiny
        assert (np.abs(k - exact) <= tolerance).all()
        assert (np.abs(p - exact @ W) <= tolerance @ np.abs(W)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_the_same_bits_however_they_are_cut(kind):
    """With any number of threads, alone or in a block, in one chunk or several, kept with more vectors or without."""
    rng = np.random.default_rng(1)
    X, S, W = rng.normal(size=(300, 7)), rng.normal(size=(1500, 7)), rng.normal(size=(1500, 3))
    kernel, vectors = Kernel(kind, 0.2, 3, 0.1, np.float64), held(S)
    scores = kernel.scores(X, vectors, W)
    for threads in (2, 3, 7):
        assert np.array_equal(kernel.scores(X, vectors, W, threads), scores)
    assert np.array_equal(np.vstack([kernel.scores(X[i : i + 1], vectors, W) for i in range(300)]), scores)
    assert np.array_equal(np.hstack([kernel.scores(X, vectors, W[:, k : k + 1]) for k in range(3)]), scores)
    grown = held(S[:0])
    for at in range(0, 1500, 50):
        grown.put(np.arange(at, at + 50), S[at : at + 50], np.arange(at, at + 50))
    assert np.array_equal(kernel.scores(X, grown, W), scores)
    assert np.array_equal(kernel.scores(X, pickle.loads(pickle.dumps(grown)), W), scores)
    assert np.array_equal(kernel.scores(csr_matrix(X), vectors, W), scores)
    gram = kernel.gram(np.abs(X[:200]), np.arange(200))
    assert np.array_equal(gram, gram.T) and np.array_equal(gram, kernel.values(np.abs(X[:200]), held(np.abs(X[:200]))))


def test_squared_distances_do_not_depend_on_the_origin():
    X = np.random.default_rng(0).integers(-8, 8, (50, 5)) / 4.0
    kernel = Kernel("rbf", 0.3, 3, 0.0, np.float64)
    assert np.array_equal(kernel.gram(X, np.arange(50)), kernel.gram(X + 2.0**30, np.arange(50)))


def test_given_values_are_summed_in_the_same_order():
    X, S = np.random.default_rng(0).normal(size=(2, 200, 4))
    W, vectors = np.random.default_rng(1).normal(size=(200, 2)), held(S)
    rbf = Kernel("rbf", 0.3, 3, 0.0, np.float64)
    again = Kernel(lambda a, b: rbf.values(a, held(b)), 0.3, 3, 0.0, np.float64)
    assert np.array_equal(again.scores(X, vectors, W), rbf.scores(X, vectors, W))
    matrix = Kernel("precomputed", 0.3, 3, 0.0, np.float64)
    numbers = Vectors(np.zeros((200, 400)), np.arange(200) * 2, np.float64)
    values = np.zeros((200, 400))
    values[:, ::2] = rbf.values(X, vectors)
    assert np.array_equal(matrix.scores(values, numbers, W), rbf.scores(X, vectors, W))


# ---------------------------------------------------------------- vectors


def test_vectors_are_kept_and_replaced():
    rng = np.random.default_rng(0)
    rows, vectors = rng.normal(size=(1000, 6)), held(np.empty((0, 6)))
    for at in (0, 1, 128, 500):
        stop = {0: 1, 1: 128, 128: 500, 500: 1000}[at]
        vectors.put(np.arange(at, stop), rows[at:stop], np.arange(at, stop))
    assert np.array_equal(vectors.rows(), rows) and vectors.ids.tolist() == list(range(1000))
    assert len(vectors.tiles) * TILE < 1.6 * 1000
    places = np.array([3, 999, 130])
    vectors.put(places, rows[:3], np.array([5000, 5001, 5002]))
    assert np.array_equal(vectors.rows()[places], rows[:3]) and vectors.ids[places].tolist() == [5000, 5001, 5002]
    assert vectors.n == 1000 and vectors.tiles.ctypes.data % kernels.LINE == 0
    again = pickle.loads(pickle.dumps(vectors))
    assert np.array_equal(again.rows(), vectors.rows()) and np.array_equal(again.ids, vectors.ids)
    assert again.tiles.ctypes.data % kernels.LINE == 0


def test_what_overflows_says_so():
    """A sum that overflows is infinite or NaN; a distance that does is a kernel value of 0."""
    X = np.array([[1e200], [-1e200], [0.0]])
    assert Kernel("rbf", 1.0, 3, 0.0, np.float64).values(X, held(X)).tolist() == np.eye(3).tolist()
    assert np.isinf(Kernel("linear", 1.0, 3, 0.0, np.float64).values(X, held(X))).any()
    assert np.isinf(Kernel("poly", 1.0, 3, 0.0, np.float64).values(X, held(X))).any()


@pytest.mark.parametrize("n, d, rows", [(0, 0, 3), (1, 1, 1), (5, 5, 4), (300, 300, 7), (130, 200, 3)])
def test_products_with_a_factor(n, d, rows):
    rng = np.random.default_rng(0)
    A, X = rng.normal(size=(n, d)), rng.normal(size=(rows, d))
    for matrix, shape in ((A, {}), (np.tril(A), {"lower": True}), (np.triu(A), {"upper": True})):
        product = kernels.Factor(matrix, **shape).times(X)
        assert product.shape == (rows, n) and np.abs(product - X @ matrix.T).max(initial=0) < 1e-12
        assert np.array_equal(kernels.Factor(matrix, **shape).times(X, 2), product)
        assert np.array_equal(kernels.Factor(matrix, **shape).times(X[:1]), product[:1])
