"""The references against each other, against hand-computed numbers and against deliberate mistakes."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import oracles
from oracles import (
    VARIANTS,
    batch_step,
    batch_step_primal,
    budget_objective,
    budget_step,
    budget_support,
    pa_active,
    pa_batch,
    pa_binary,
    pa_kernel,
    pa_multiclass,
    pa_regression,
    primal_step,
    solve_step,
)

INTERCEPT = pytest.mark.parametrize("fit_intercept", [False, True])
VARIANT = pytest.mark.parametrize("variant", VARIANTS)


def random_problem(rng, d=None):
    """A weight vector, an example and C in 1e-3 .. 1e3, over several magnitudes."""
    d = d or int(rng.integers(1, 6))
    return rng.normal(size=d) * 10 ** rng.uniform(-2, 1), rng.normal(size=d), 10 ** rng.uniform(-3, 3)


def distance(a, b):
    """Largest difference, relative to the size of what is compared."""
    return np.max(np.abs(np.subtract(a, b))) / max(1.0, np.max(np.abs(b)))


def data(seed=0, n=40, d=3, n_classes=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if n_classes:
        return X, rng.integers(0, n_classes, size=n)
    return X, np.where(X[:, 0] + 0.8 * rng.normal(size=n) > 0.2, 1, -1)


def row(x, fit_intercept):
    return np.append(x, 1.0) if fit_intercept else np.asarray(x)


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


@VARIANT
@INTERCEPT
def test_binary_loop_equals_the_numerical_solution(variant, fit_intercept):
    rng = np.random.default_rng(3)
    for C in 10.0 ** np.arange(-3, 4):
        X, y = data(int(rng.integers(1e6)), n=12)
        r, w = pa_binary(X, y, variant, C, fit_intercept), np.zeros(3 + fit_intercept)
        for t in range(len(X)):
            w, tau = solve_step(w, row(X[t], fit_intercept), y[t], variant, C)
            assert abs(tau - r["taus"][t]) < 1e-9 * max(1, abs(tau))
        assert distance(joined(r, fit_intercept), w) < 1e-9


@VARIANT
@INTERCEPT
def test_regression_loop_equals_the_numerical_solution(variant, fit_intercept):
    rng = np.random.default_rng(4)
    for C in 10.0 ** np.arange(-3, 4):
        X, y = rng.normal(size=(12, 3)), 3 * rng.normal(size=12)
        r = pa_regression(X, y, variant, C, 0.2, fit_intercept)
        w = np.zeros(3 + fit_intercept)
        for t in range(len(X)):
            w, _ = solve_step(w, row(X[t], fit_intercept), y[t], variant, C, 0.2)
        assert distance(joined(r, fit_intercept), w) < 1e-9


@VARIANT
@INTERCEPT
def test_multiclass_loop_equals_the_numerical_solution(variant, fit_intercept):
    X, y = data(5, n=25, n_classes=4)
    for C in (1e-3, 0.3, 1e3):
        W = np.zeros((4, 3 + fit_intercept))
        for t in range(len(X)):
            x, feature, scores = row(X[t], fit_intercept), np.zeros_like(W), W @ row(X[t], fit_intercept)
            wrong = int(np.argmax(np.where(np.arange(4) == y[t], -np.inf, scores)))
            feature[y[t]], feature[wrong] = x, -x
            W = solve_step(W.ravel(), feature.ravel(), 1, variant, C)[0].reshape(W.shape)
        r = pa_multiclass(X, y, 4, variant, C, fit_intercept)
        assert distance(np.column_stack([r["w"], r["b"]]) if fit_intercept else r["w"], W) < 1e-9


@VARIANT
def test_a_doubled_step_is_detected(variant, monkeypatch):
    X, y = data(6, n=12)
    right, correct = oracles.step_size, pa_binary(X, y, variant, 0.1)
    monkeypatch.setattr(oracles, "step_size", lambda *problem: 2 * right(*problem))
    assert distance(pa_binary(X, y, variant, 0.1)["w"], correct["w"]) > 1e-3
    w = np.zeros(3)
    v, _ = solve_step(w, X[0], y[0], variant, 0.1)
    doubled = pa_binary(X[:1], y[:1], variant, 0.1, fit_intercept=False)["w"]
    assert distance(doubled, v) > 1e-3 and distance(doubled, primal_step(w, X[0], y[0], variant, 0.1)) > 1e-3


# ---------------------------------------------------------------- by hand


@pytest.mark.parametrize(
    ("variant", "C", "tau"),
    [("PA", 1, 1 / 25), ("PA-I", 0.01, 0.01), ("PA-II", 0.02, 1 / 50), ("PALS", 0.02, 1 / 50)],
)
def test_first_step_by_hand(variant, C, tau):
    r = pa_binary([[3.0, 4.0]], [-1], variant, C, fit_intercept=False)
    np.testing.assert_allclose(r["w"], [-3 * tau, -4 * tau], rtol=1e-15)
    np.testing.assert_allclose(solve_step([0, 0], [3, 4], -1, variant, C)[0], [-3 * tau, -4 * tau], rtol=1e-12)
    assert (r["n_updates"], r["n_mistakes"], r["b"]) == (1, 0, 0)  # p = 0 is read as -1


def test_two_steps_with_intercept_and_average_by_hand():
    # step 1: n = 2, loss 1, tau 1/2, w = (1/2, 1/2)
    # step 2: p = 3/2, y = -1, loss 5/2, n = 5, tau 1/2, w = (-1/2, 0)
    r = pa_binary([[1.0], [2.0]], [1, -1], "PA", fit_intercept=True)
    assert (r["w"][0], r["b"], r["avg_w"][0], r["avg_b"]) == (-0.5, 0.0, 0.0, 0.25)
    assert (r["n_updates"], r["n_mistakes"], list(r["taus"])) == (2, 2, [0.5, 0.5])
    assert pa_binary([[1.0], [2.0]], [1, -1], "PA", average=True)["b"] == 0.25


def test_regression_by_hand():
    # y - p = 3, tube 1, n = 4: loss 2, tau 1/2; then p = 1, y = 1.5 lies in the tube
    r = pa_regression([[2.0], [1.0]], [3.0, 1.5], "PA", epsilon=1, fit_intercept=False)
    assert (r["w"][0], r["n_updates"], list(r["losses"])) == (1.0, 1, [2.0, 0.0])
    assert pa_regression([[2.0]], [3.0], "PALS", C=0.5, epsilon=9, fit_intercept=False)["w"][0] == 6 / 5


def test_multiclass_by_hand():
    # all scores 0: predicted class 0, right class 2, wrong class 0 (lowest index); n = 2 * 1, tau 1/2
    r = pa_multiclass([[1.0], [1.0]], [2, 2], 3, "PA", fit_intercept=False)
    assert (r["n_mistakes"], r["taus"].tolist()) == (1, [0.5, 0.25])
    assert r["w"][:, 0].tolist() == [-0.5, -0.25, 0.75]  # second step: scores -1/2, 0, 1/2, loss 1/2


def test_least_squares_pulls_back_a_large_margin():
    assert pa_binary([[1.0], [2.0]], [1, 1], "PALS", C=1e9, fit_intercept=False)["taus"][1] < 0
    assert pa_binary([[1.0], [2.0]], [1, 1], "PA-II", C=1e9, fit_intercept=False)["taus"][1] == 0


# ---------------------------------------------------------------- conventions


@VARIANT
def test_zero_rows_change_nothing_and_are_still_judged(variant):
    X, y = data(7)
    padded, labels = np.insert(X, 5, 0.0, axis=0), np.insert(y, 5, 1)
    a, b = pa_binary(X, y, variant, 0.5, False), pa_binary(padded, labels, variant, 0.5, False)
    np.testing.assert_array_equal(a["w"], b["w"])
    assert b["n_updates"] == a["n_updates"] and b["n_mistakes"] == a["n_mistakes"] + 1


def test_class_weight_multiplies_C_and_not_tau():
    X, y = data(8)
    for variant in ("PA", "PA-I", "PA-II", "PALS"):
        a = pa_binary(X, y, variant, 0.5, class_weight=(2.0, 2.0))
        np.testing.assert_array_equal(a["w"], pa_binary(X, y, variant, 1.0)["w"])
    r = pa_binary([[0.1], [0.1]], [-1, 1], "PA-I", 1.0, class_weight=(3.0, 0.5), fit_intercept=False)
    assert r["taus"].tolist() == [3.0, 0.5]


def test_orders_and_epochs():
    X, y = data(9)
    order = np.random.default_rng(0).permutation(len(X))
    a = pa_binary(X, y, order=[order, order[::-1]], epochs=2)
    twice = np.r_[order, order[::-1]]
    np.testing.assert_array_equal(a["w"], pa_binary(X[twice], y[twice])["w"])
    np.testing.assert_array_equal(
        pa_binary(X, y, order=order, epochs=2)["w"], pa_binary(X, y, order=[order] * 2, epochs=2)["w"]
    )


def test_average_counts_passive_steps():
    X, y = data(10)
    weights = [pa_binary(X[:t], y[:t], C=0.3)["w"] for t in range(1, len(X) + 1)]
    np.testing.assert_allclose(pa_binary(X, y, C=0.3)["avg_w"], np.mean(weights, axis=0), atol=1e-14)


@VARIANT
def test_uncapped_step_leaves_no_loss(variant):
    X, y = data(11)
    for t in range(1, len(X)):
        r = pa_binary(X[:t], y[:t], variant, C=1e12)
        assert y[t - 1] * (X[t - 1] @ r["w"] + r["b"]) > 1 - 1e-9


# ---------------------------------------------------------------- reading labels


def test_margin_rule_becomes_all_as_delta_grows():
    X, y = data(12)
    draws = np.random.default_rng(0).random(len(X))
    np.testing.assert_array_equal(pa_active(X, y, draws, delta=1e12)["w"], pa_binary(X, y)["w"])


def test_unread_labels_do_not_matter_and_the_budget_holds():
    X, y = data(13)
    draws = np.random.default_rng(0).random(len(X))
    a = pa_active(X, y, draws, delta=0.3)
    flipped = np.where(np.isin(np.arange(len(X)), a["queried"]), y, -y)
    np.testing.assert_array_equal(a["w"], pa_active(X, flipped, draws, delta=0.3)["w"])
    assert 0 < a["n_queries"] < len(X) and a["n_mistakes_queried"] <= a["n_mistakes"]
    b = pa_active(X, y, draws, delta=0.3, label_budget=4)
    assert b["queried"] == a["queried"][:4]
    assert pa_active(X, y, draws, rule="random", query_rate=0.25)["queried"] == np.flatnonzero(draws < 0.25).tolist()


def test_query_probability_by_hand():
    # p_1 = 0: probability 1; after it w = 1, so |p_2| = 3 and the probability is 1 / (1 + 3)
    for draw, n in ((0.249, 2), (0.25, 1)):
        for second in (3.0, -3.0):
            r = pa_active([[1.0], [second]], [1, 1], [0.999, draw], "PA", fit_intercept=False)
            assert r["n_queries"] == n


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
            np.testing.assert_allclose(a["taus"], b["taus"], rtol=1e-9, atol=1e-9)
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


# ---------------------------------------------------------------- kernels


@VARIANT
@INTERCEPT
def test_linear_kernel_equals_the_linear_model(variant, fit_intercept):
    X, y = data(18)
    for C in (1e-3, 0.3, 1e3):
        kernel = (lambda a, b: a @ b + 1) if fit_intercept else (lambda a, b: a @ b)
        a = pa_kernel(kernel, X, y, variant, C, epochs=2, class_weight=(2.0, 0.7))
        b = pa_binary(X, y, variant, C, fit_intercept, epochs=2, class_weight=(2.0, 0.7))
        for coef, w, intercept in (("coef", "w", "b"), ("avg_coef", "avg_w", "avg_b")):
            assert distance(a[coef] @ X[a["support"]], b[w]) < 1e-9
            assert not fit_intercept or distance(a[coef].sum(), b[intercept]) < 1e-9
        assert (a["n_updates"], a["n_mistakes"]) == (b["n_updates"], b["n_mistakes"])
        assert len(set(a["support"])) == len(a["support"])


@VARIANT
def test_linear_kernel_regression_equals_the_linear_model(variant):
    X, y = data(19)
    a = pa_kernel(lambda a, b: a @ b, X, y * X[:, 1], variant, 0.4, epsilon=0.2)
    b = pa_regression(X, y * X[:, 1], variant, 0.4, 0.2, fit_intercept=False)
    assert distance(a["coef"] @ X[a["support"]], b["w"]) < 1e-9 and a["n_updates"] == b["n_updates"]


def test_kernel_by_hand():
    # K(a, b) = (a b)^2, examples 1, 2, 1: tau = 1; then p = 4, y = -1, loss 5, n = 16, tau 5/16; then p = -1/4
    r = pa_kernel(lambda a, b: (a * b) ** 2, [1.0, 2.0, 1.0], [1, -1, 1], "PA")
    assert r["scores"].tolist() == [0.0, 4.0, -0.25] and r["support"] == [0, 1, 2] and r["n_mistakes"] == 3
    np.testing.assert_allclose(r["coef"], [1, -5 / 16, 5 / 4], rtol=1e-15)


# ---------------------------------------------------------------- budgets

POLICY = pytest.mark.parametrize("policy", ["removal", "nearest", "projection"])


def random_expansion(rng, size=5):
    """A Gaussian Gram matrix, coefficients and a new label that suffers a loss."""
    X = rng.normal(size=(size + 1, 2))
    K = np.exp(-0.5 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    alpha = rng.normal(size=size)
    return K, alpha, -1 if K[-1, :-1] @ alpha > 0 else 1


def numerical_minimum(K, alpha, y_t, C, V, r):
    """The budgeted problem for one removal r, over (beta, xi), by SLSQP."""
    p_t, fixed = K[-1, :-1] @ alpha, np.zeros(len(K))
    fixed[r] = -np.append(alpha, 0.0)[r]

    def change(u):
        moved = fixed.copy()
        moved[V] += u[:-1]
        return moved

    return minimize(
        lambda u: 0.5 * change(u) @ K @ change(u) + C * u[-1],
        np.append(np.zeros(len(V)), 1.0),
        constraints={"type": "ineq", "fun": lambda u: y_t * (p_t + K[-1] @ change(u)) - 1 + u[-1]},
        bounds=[(None, None)] * len(V) + [(0, None)],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    ).fun


@POLICY
def test_budget_step_equals_general_solver(policy):
    rng = np.random.default_rng(20)
    for C in (1e-2, 0.3, 10.0):
        K, alpha, y_t = random_expansion(rng)
        found, start = budget_step(K, alpha, y_t, C, policy), np.append(alpha, 0.0)
        for r, (best, coef) in enumerate(zip(found["objectives"], found["coefs"], strict=True)):
            slow = numerical_minimum(K, alpha, y_t, C, budget_support(policy, K, r), r)
            assert best == pytest.approx(slow, rel=1e-6, abs=1e-9) and coef[r] == 0
            assert best == pytest.approx(budget_objective(coef - start, K[-1] @ start, K, y_t, C), rel=1e-9)
        assert found["objective"] == min(found["objectives"]) == found["objectives"][found["r"]]


def test_more_freedom_never_costs_more():
    rng = np.random.default_rng(21)
    for _ in range(20):
        K, alpha, y_t = random_expansion(rng)
        S, NN, P = (budget_step(K, alpha, y_t, 0.5, p)["objectives"] for p in ("removal", "nearest", "projection"))
        assert np.all(np.array(P) <= np.array(NN) + 1e-10) and np.all(np.array(NN) <= np.array(S) + 1e-10)


@POLICY
def test_budget_on_orthonormal_points_by_hand(policy):
    # nothing can stand in for r, so the smallest coefficient goes; the new one gets min(C, 1)
    for C, tau, cost in ((0.5, 0.5, 0.5**2 / 2 + 0.5 * 0.5), (4.0, 1.0, 0.5)):
        found = budget_step(np.eye(4), [2.0, -0.1, 3.0], 1, C, policy)
        assert found["r"] == 1 and found["objective"] == pytest.approx(0.005 + cost, rel=1e-12)
        np.testing.assert_allclose(found["coef"], [2, 0, 3, tau], atol=1e-12)


def test_a_duplicate_is_absorbed_for_free():
    points = np.array([0.0, 0.0, 3.0, 5.0])
    K = np.exp(-((points[:, None] - points) ** 2))
    alpha, y_t, C = np.array([1.0, 2.0, -1.0]), 1, 0.5
    step = min(C, 1 - K[-1, :-1] @ alpha)
    plain = 0.5 * step**2 + C * max(0.0, 1 - K[-1, :-1] @ alpha - step)
    for policy in ("nearest", "projection"):
        found = budget_step(K, alpha, y_t, C, policy)
        assert found["r"] in (0, 1) and found["objective"] == pytest.approx(plain, rel=1e-9)
        np.testing.assert_allclose(K @ found["coef"], K @ np.append(alpha, step), atol=1e-9)


@POLICY
def test_no_loss_means_no_change(policy):
    found = budget_step(np.eye(3) + 0.5, [1.0, 2.0], 1, 1.0, policy)
    assert found["r"] == 2 and found["objective"] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(found["coef"], [1, 2, 0], atol=1e-9)
