"""The numerical references against each other; the plain loops have `test_plain.py`."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from oracles import VARIANTS, batch_step, batch_step_primal, pa_batch, pa_binary, primal_step, solve_step

VARIANT = pytest.mark.parametrize("variant", VARIANTS)


def random_problem(rng, d=None):
    """A weight vector, an example and C in 1e-3 .. 1e3, over several magnitudes."""
    d = d or int(rng.integers(1, 6))
    return rng.normal(size=d) * 10 ** rng.uniform(-2, 1), rng.normal(size=d), 10 ** rng.uniform(-3, 3)


def distance(a, b):
    """Largest difference, relative to the size of what is compared."""
    return np.max(np.abs(np.subtract(a, b))) / max(1.0, np.max(np.abs(b)))


def data(seed=0, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.8 * rng.normal(size=n) > 0.2, 1, -1)


def joined(r, fit_intercept):
    return np.append(r["w"], r["b"]) if fit_intercept else r["w"]


# ---------------------------------------------------------------- one step


@VARIANT
@pytest.mark.parametrize("epsilon", [None, 0.1])
def test_root_finder_equals_general_solver_over_all_coordinates(variant, epsilon):
    rng = np.random.default_rng(1)
    for _ in range(60):
        w, x, C = random_problem(rng)
        y = rng.choice([-1.0, 1.0]) if epsilon is None else rng.normal()
        v, _ = solve_step(w, x, y, variant, C, epsilon)
        assert distance(primal_step(w, x, y, variant, C, epsilon), v) < 1e-9


@VARIANT
@pytest.mark.parametrize("epsilon", [None, 0.1])
def test_no_nearby_point_is_better(variant, epsilon):
    def objective(v):
        gap = 1 - y * (v @ x) if epsilon is None else v @ x - y
        loss = max(0.0, gap if epsilon is None else abs(gap) - epsilon)
        price = {"PA": 1e9 * loss, "PA-I": C * loss, "PA-II": C * loss**2, "PALS": C * gap**2}
        return 0.5 * np.sum((v - w) ** 2) + price[variant]

    rng = np.random.default_rng(2)
    for _ in range(20):
        w, x, C = random_problem(rng)
        y = rng.choice([-1.0, 1.0]) if epsilon is None else rng.normal()
        v, _ = solve_step(w, x, y, variant, C, epsilon)
        best = objective(v)
        for _ in range(20):
            assert objective(v + 1e-3 * rng.normal(size=v.shape)) >= best - 1e-6 * (variant == "PA")


# ---------------------------------------------------------------- batches


def random_batch(rng, max_size=7):
    d, B = int(rng.integers(2, 7)), int(rng.integers(1, max_size))
    w, X, y = rng.normal(size=d), rng.normal(size=(B, d)), rng.choice([-1, 1], size=B)
    if rng.random() < 0.4:
        X[-1] = X[0]  # a singular Gram matrix, with agreeing or contradicting labels
    return w, X, y, 10 ** rng.uniform(-3, 3)


def every_active_set(w, X, y, variant, C):
    """The mini-batch dual by trying all 3^B ways to put each tau at 0, at C or in between."""
    G = X * y[:, None]
    h, H = 1 - G @ w, G @ G.T + (np.eye(len(y)) / (2 * C) if variant == "PA-II" else 0)
    high, best, answer = C if variant == "PA-I" else np.inf, np.inf, None
    for pattern in product((0, 1, 2) if variant == "PA-I" else (0, 1), repeat=len(y)):
        free, tau = np.array(pattern) == 1, np.where(np.array(pattern) == 2, C, 0.0)
        if free.any():
            tau[free] = np.linalg.lstsq(H[np.ix_(free, free)], (h - H @ tau)[free])[0]
        tau = np.clip(tau, 0, high)
        violation = np.max(np.abs(tau - np.clip(tau + h - H @ tau, 0, high)))
        if violation < best:
            best, answer = violation, w + G.T @ tau
    return answer


@VARIANT
def test_batch_of_one_equals_the_closed_form(variant):
    rng = np.random.default_rng(14)
    for C in 10.0 ** np.arange(-3, 4):
        X, y = data(int(rng.integers(1e6)), n=15)
        for fit_intercept in (False, True):
            a = pa_batch(X, y, variant, C, fit_intercept, class_weight=(0.5, 2.0))
            b = pa_binary(X, y, variant, C, fit_intercept, class_weight=(0.5, 2.0))
            assert distance(joined(a, fit_intercept), joined(b, fit_intercept)) < 1e-9
            assert a["n_mistakes"] == b["n_mistakes"]


@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
def test_batch_equals_every_active_set(variant):
    rng, solved = np.random.default_rng(15), 0
    for _ in range(25):
        w, X, y, C = random_batch(rng, 6)
        try:
            v, _ = batch_step(w, X, y, variant, C)
        except ValueError:  # only plain PA, and only when no v exists
            rows = -X * y[:, None]
            assert variant == "PA" and linprog(0 * w, rows, -np.ones(len(y)), bounds=(None, None)).status == 2
            continue
        assert distance(v, every_active_set(w, X, y, variant, C)) < 1e-10
        solved += 1
    assert solved > 12


@VARIANT
def test_batch_equals_general_solver_over_all_coordinates(variant):
    rng = np.random.default_rng(16)
    for _ in range(20):
        w, X, y, C = random_batch(rng)
        try:
            v, tau = batch_step(w, X, y, variant, C)
        except ValueError:
            continue
        assert distance(batch_step_primal(w, X, y, variant, C), v) < 1e-6
        assert variant == "PALS" or np.all(tau >= 0)
        assert variant != "PA-I" or np.all(tau <= C * (1 + 1e-12))


def test_batch_ridge_is_one_over_two_C():
    # C xi^2 with xi = tau / (2C): two orthogonal unit examples, C = 1/2: each tau = 1 / (1 + 1) = 1/2
    for variant in ("PA-II", "PALS"):
        np.testing.assert_allclose(batch_step(np.zeros(2), np.eye(2), [1, -1], variant, 0.5)[0], [0.5, -0.5])
    # the same example twice, C = 1/2: (1 + 1 + 1) tau = 1, so w = 2/3; PA-I with C = 0.1 puts both at the cap
    twice = np.ones((2, 1))
    assert batch_step(np.zeros(1), twice, [1, 1], "PA-II", 0.5)[0][0] == pytest.approx(2 / 3, rel=1e-14)
    assert batch_step(np.zeros(1), twice, [1, 1], "PA-I", 0.1)[0][0] == pytest.approx(0.2, rel=1e-14)
    with pytest.raises(ValueError, match="contradict"):
        batch_step(np.zeros(1), twice, [1, -1], "PA")


def test_zero_rows_in_a_batch_change_nothing():
    w, X, y, C = random_batch(np.random.default_rng(17))
    padded, labels = np.insert(X, 0, 0.0, axis=0), np.insert(y, 0, 1)
    for variant in VARIANTS[1:]:
        v, tau = batch_step(w, padded, labels, variant, C)
        np.testing.assert_allclose(v, batch_step(w, X, y, variant, C)[0], rtol=1e-12)
        assert tau[0] == 0 and np.array_equal(batch_step(w, 0 * X, y, variant, C)[0], w)
