"""The references against each other, against hand-computed numbers and against deliberate mistakes."""

import numpy as np
import oracles
import pytest
from oracles import (
    VARIANTS,
    pa_active,
    pa_binary,
    pa_multiclass,
    pa_regression,
    primal_qp,
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
    np.testing.assert_allclose(
        solve_step([0, 0], [3, 4], -1, variant, C)[0], [-3 * tau, -4 * tau], rtol=1e-12
    )
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
    assert (
        pa_active(X, y, draws, rule="random", query_rate=0.25)["queried"]
        == np.flatnonzero(draws < 0.25).tolist()
    )


def test_query_probability_by_hand():
    # p_1 = 0: probability 1; after it w = 1, so p_2 = 3 and the probability is 1 / (1 + 3)
    for draw, n in ((0.249, 2), (0.25, 1)):
        assert pa_active([[1.0], [3.0]], [1, 1], [0.999, draw], "PA", fit_intercept=False)["n_queries"] == n


# ---------------------------------------------------------------- batches


def test_general_solver_takes_many_rows():
    # the nearest point to 0 with v_1 >= 1 and v_2 >= 2
    np.testing.assert_allclose(primal_qp(np.zeros(2), np.eye(2), [1, 2], [0, 1], "PA"), [1, 2], atol=1e-12)
