"""Each erratum of `errata.csv`: a check that would fail if the source's version were right.

A check is named in the table's last column; the sources are those named in the first.
"""

import csv
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import oracles
from pa_lab import PAClassifier, rules

TABLE = Path(__file__).with_name("errata.csv")
tau, n, p, y, C, eps, N = sp.symbols("tau n p y C epsilon N", positive=True)  # n = ||x||^2, p = y w_t.x or |w_t.x - y|


def test_every_row_names_a_check_and_every_check_a_row():
    with open(TABLE, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert all(all(row.values()) for row in rows)
    assert {f"test_{row['check']}" for row in rows} == {
        name
        for name in globals()
        if name.startswith("test_") and name != "test_every_row_names_a_check_and_every_check_a_row"
    }


def example(seed=0):
    """Old weights, an example and its label, with positive loss."""
    rng = np.random.default_rng(seed)
    w, x = rng.normal(size=3), rng.normal(size=3)
    return w, x, -1.0 if w @ x > 0 else 1.0


# ---------------------------------------------------------------- Ezukwoke and Zareian (2019)


def test_dual_needs_the_old_weights():
    # p = y w_t.x; the new score is y w.x = p + tau n
    lagrangian = tau**2 * n / 2 + tau * (1 - (p + tau * n))
    assert sp.expand(lagrangian - (-(tau**2) * n / 2 + tau * (1 - p))) == 0  # eq. 8 with w_t
    assert sp.expand(lagrangian - (-(tau**2) * n / 2 + tau * (1 - (p + tau * n)))) != 0  # eq. 8 with w


def test_derivative_of_the_dual():
    right = 1 / n * (1 - p)
    assert sp.solve(sp.diff(-(tau**2) * n / 2 + tau * (1 - p), tau), tau) == [sp.simplify(right)]
    printed = -(tau**2) * n / 2 + tau * (1 - p)
    assert {sp.simplify(root / right) for root in sp.solve(printed, tau)} <= {0, 2}
    w, x, label = example()
    _, step = oracles.solve_step(w, x, label, "PA")
    assert step == pytest.approx((1 - label * w @ x) / (x @ x)) and step > 0


def test_step_uses_the_old_loss():
    w, x, label = example()
    new, step = oracles.solve_step(w, x, label, "PA")
    assert step > 0.1 and abs(1 - label * new @ x) / (x @ x) < 1e-9  # with the new weights nothing is left
    w = 3 * label * x / (x @ x)  # margin 3: passive, but 1 - 3 < 0
    assert oracles.solve_step(w, x, label, "PA")[1] == 0.0 and (1 - label * w @ x) / (x @ x) < 0


def test_sum_of_linear_slacks_is_idle():
    w, x, label = example()
    for cost in (0.01, 0.1, 10.0):
        several = slack_problem(w, x, label, cost, power=1, slacks=3)
        np.testing.assert_allclose(several, oracles.solve_step(w, x, label, "PA-I", cost)[0], atol=1e-6)


def test_sum_of_squared_slacks_changes_the_step():
    w, x, label = example()
    for cost in (0.1, 1.0):
        several = slack_problem(w, x, label, cost, power=2, slacks=3)
        loss = rules.hinge(label, w @ x)
        np.testing.assert_allclose(several, w + loss / (x @ x + 3 / (2 * cost)) * label * x, atol=1e-6)
        assert np.abs(several - oracles.solve_step(w, x, label, "PA-II", cost)[0]).max() > 1e-2


def slack_problem(w, x, label, cost, power, slacks):
    """Solve the printed problem: several slacks in one round."""
    d = len(w)
    return oracles.minimize(
        lambda v: 0.5 * np.sum((v[:d] - w) ** 2) + cost * np.sum(v[d:] ** power),
        np.r_[w, np.ones(slacks)],
        constraints={"type": "ineq", "fun": lambda v: label * v[:d] @ x - 1 + np.sum(v[d:])},
        bounds=[(None, None)] * d + [(0, None)] * slacks,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    ).x[:d]


def test_algorithm_must_accumulate():
    X, labels = np.eye(2), np.array([1.0, 1.0])
    w0 = w = np.zeros(2)
    for x, label in zip(X, labels, strict=True):
        w = w0 + rules.step(rules.PA, rules.hinge(label, w @ x), x @ x, 1.0) * label * x  # as printed
    assert (labels * (X @ w)).tolist() == [0.0, 1.0]  # the first example is forgotten
    model = PAClassifier("PA", fit_intercept=False).partial_fit(X, labels, classes=[-1, 1])
    assert (labels * model.decision_function(X)).tolist() == [1.0, 1.0]


def test_cost_must_be_positive():
    assert rules.step(rules.PA1, 1.0, 1.0, 0.0) == 0.0
    assert not (1 / (2 * C)).subs(C, 0).is_finite
    with pytest.raises(ValueError, match="'C' parameter"):
        PAClassifier(C=0.0).fit(np.eye(2), [-1, 1])


def kernel_run(gap):
    """Kernel PA-I with C = 100 and the linear kernel; `gap(y, score)` is the numerator."""
    X, labels = np.array([[1.0], [0.25], [1.0]]), np.array([1.0, 1.0, 1.0])
    coef = np.zeros(3)
    for t in range(3):
        score = float(coef @ (X @ X[t]))
        coef[t] = labels[t] * min(100.0, gap(labels[t], score) / float(X[t] @ X[t]))
    return X.T @ coef


def test_kernel_step_uses_the_score():
    right = kernel_run(lambda label, score: max(0.0, 1 - label * score))
    printed = kernel_run(lambda label, score: 1 - label * (1 if score > 0 else -1))
    linear = PAClassifier("PA-I", 100.0, fit_intercept=False)
    linear.partial_fit([[1.0], [0.25], [1.0]], [1, 1, 1], classes=[-1, 1])
    assert right == pytest.approx(linear.coef_[0]) and printed != pytest.approx(linear.coef_[0])


def test_kernel_sum_has_an_index():
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    alpha, gram = np.array([1.0, -1.0]), X @ X.T
    assert (alpha @ gram).tolist() == (X @ (X.T @ alpha)).tolist() == [1.0, -1.0]
    for j in range(2):  # one alpha in front of every term, whichever it is, separates nothing
        assert np.ptp(alpha[j] * gram.sum(axis=0)) == 0.0


# ---------------------------------------------------------------- Tutorial 1: passive-aggressive algorithms


def test_right_sign_may_still_move():
    model = PAClassifier("PA-II", fit_intercept=False).partial_fit([[1.0]], [1], classes=[-1, 1])
    assert 0 < model.decision_function([[1.0]])[0] < 1
    assert model.partial_fit([[1.0]], [1]).n_updates_ == 2


def test_score_after_the_step_has_the_sign_of_the_label():
    w, x, label = np.array([-1.0, 0.5]), np.array([1.0, 0.2]), 1.0
    new = w + rules.step(rules.PA, rules.hinge(label, w @ x), x @ x, 1.0) * label * x
    assert w @ x < 0 < new @ x


# ---------------------------------------------------------------- Pérez-Suay et al.


def test_least_squares_numerator_holds_the_label():
    w, x, label, cost = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, 1.0]), -1.0, 0.7
    _, step = oracles.solve_step(w, x, label, "PALS", cost)
    f, norm = w @ x, x @ x + 1 / (2 * cost)
    assert step == pytest.approx((1 - label * f) / norm)
    assert step != pytest.approx((1 - f) / norm)


def test_least_squares_turns_at_margin_one():
    x = np.array([1.0, 0.0])
    steps = {margin: oracles.solve_step(margin * x, x, 1.0, "PALS", 1.0)[1] for margin in (0.5, 1.0, 2.0)}
    assert steps[0.5] > 0 == steps[1.0] > steps[2.0]  # 0.5 is a right prediction


def test_dual_ridge_factor():
    xi, ell = sp.symbols("xi ell", positive=True)
    slack = sp.solve(sp.diff(C * xi**2 - tau * xi, xi), xi)[0]
    dual = -(tau**2) * n / 2 + tau * ell + (C * xi**2 - tau * xi).subs(xi, slack)
    assert sp.simplify(dual - (-(tau**2) * n / 2 + tau * ell - tau**2 / (4 * C))) == 0
    (best,) = sp.solve(sp.diff(dual, tau), tau)
    assert sp.simplify(best - ell / (n + 1 / (2 * C))) == 0  # eq. 6
    (printed,) = sp.solve(sp.diff(-(tau**2) * n / 2 + tau * ell - tau**2 / (2 * C), tau), tau)
    assert sp.simplify(printed - ell / (n + 1 / C)) == 0 and sp.simplify(printed - best) != 0


def test_least_squares_ridge_factor():
    rng = np.random.default_rng(0)
    w, X, labels, cost = rng.normal(size=3), rng.normal(size=(4, 3)), np.array([1.0, -1.0, 1.0, 1.0]), 0.3
    G = labels[:, None] * X
    exact = oracles.batch_step_primal(w, X, labels, "PALS", cost)
    right, printed = (w + G.T @ np.linalg.pinv(G @ G.T + np.eye(4) / c) @ (1 - G @ w) for c in (2 * cost, cost))
    np.testing.assert_allclose(right, exact, atol=1e-8)
    assert np.abs(printed - exact).max() > 1e-2


# ---------------------------------------------------------------- Tutorial 2: models for streams


def test_loss_lives_below_margin_one():
    x = np.array([1.0])
    assert oracles.solve_step([0.5], x, 1.0, "PA")[1] > 0 == oracles.solve_step([2.0], x, 1.0, "PA")[1]
    assert rules.hinge(1.0, 0.5) > 0 == rules.hinge(1.0, 2.0)


def test_regression_dual():
    # p = |w_t.x - y|; one step towards the target leaves |w.x - y| = p - tau n
    lagrangian = tau**2 * n / 2 + tau * (p - tau * n - eps)
    assert sp.expand(lagrangian - (-(tau**2) * n / 2 + tau * (p - eps))) == 0
    assert sp.expand(lagrangian - (tau**2 * n / 2 + tau * p)) != 0


def test_regression_step():
    (best,) = sp.solve(sp.diff(-(tau**2) * n / 2 + tau * (p - eps), tau), tau)
    assert sp.simplify(best - (p - eps) / n) == 0
    assert sp.simplify(-p / n - best) != 0 and sp.simplify(-p / n - (p - eps) / n) != 0
    w, x = np.array([0.2, -0.4]), np.array([1.0, 2.0])
    step = oracles.solve_step(w, x, 3.0, "PA", epsilon=0.5)[1]
    assert step == pytest.approx((abs(w @ x - 3.0) - 0.5) / (x @ x)) and step > 0


def test_classification_derivative():
    dual = -(tau**2) * n / 2 + tau * (1 - p)
    assert sp.expand(sp.diff(dual, tau) - (-tau * n + 1 - p)) == 0
    assert sp.expand(sp.diff(dual, tau) - (tau * n + 1 - p)) != 0
    free = sp.Symbol("tau")  # of any sign
    assert sp.simplify(sp.solve(free * n + 1 - p, free)[0] + (1 - p) / n) == 0


def test_direction_uses_the_old_weights():
    w, x, target = np.array([0.5]), np.array([2.0]), 3.0
    loss = rules.epsilon_insensitive(target, w @ x, 0.0)
    new = w + rules.step(rules.PA, loss, x @ x, 1.0) * np.sign(target - w @ x) * x
    assert new @ x - target == 0.0  # so the printed direction is 0/0
    assert np.sign(w @ x - target) == -1.0
