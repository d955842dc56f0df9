"""The plain algorithms: each update against a numerical solver of the problem as printed, and the fast learners."""

import re
from functools import partial
from itertools import product
from pathlib import Path

import clarabel
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from oracles import VARIANTS, primal_qp, primal_step
from pa_lab import KernelPAClassifier, plain

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guide" / "family.md"
MEMBERS = vars(plain).copy()  # and those that stand on the page of the guide
exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S).group(1), MEMBERS)
VARIANT = pytest.mark.parametrize("variant", VARIANTS)
POLICY = pytest.mark.parametrize("policy", ["removal", "nearest", "projection"])


def assert_close(found, expected, tolerance=1e-12):
    """Equal, relative to the largest number."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1e-300, np.abs(expected).max()))


def data(seed=0, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.8 * rng.normal(size=n) > 0.2, 1, -1)


# ---------------------------------------------------------------- every member, as printed


def features(x, label, n_classes=4):
    """The example as features of a label: in its block, among zeros."""
    return np.outer(np.arange(n_classes) == label, x)


def demand_of_multiclass(W, x, y):
    wrong = max((k for k in range(4) if k != y), key=lambda k: W[k] @ x)
    return features(x, y) - features(x, wrong), 1.0


def demand_of_ranking(W, x, relevant):
    pairs = product(np.flatnonzero(relevant), np.flatnonzero(~relevant))
    right, wrong = min(pairs, key=lambda pair: (W[pair[0]] - W[pair[1]]) @ x)
    return features(x, right) - features(x, wrong), 1.0


def demand_of_prediction_based(W, x, y, cost):
    predicted = max(range(4), key=lambda k: W[k] @ x)
    return features(x, y) - features(x, predicted), np.sqrt(cost[y, predicted])


def demand_of_max_loss(W, x, y, cost):
    worst = max(range(4), key=lambda k: (W[k] - W[y]) @ x + np.sqrt(cost[y, k]))
    return features(x, y) - features(x, worst), np.sqrt(cost[y, worst])


def demand_of_sequences(W, X, y, cost):
    """Of all sequences, the one with the highest score: of each element, and of each pair of neighbours."""

    def of(labels):
        total = np.zeros_like(W)
        for i, label in enumerate(labels):
            total[label, : X.shape[1]] += X[i]
            if i:
                total[label, X.shape[1] + labels[i - 1]] += 1
        return total

    predicted = max(product(range(4), repeat=len(y)), key=lambda labels: np.sum(W * of(labels)))
    return of(y) - of(predicted), np.sqrt(sum(cost[a, b] for a, b in zip(y, predicted, strict=True)))


def draw(rng, member):
    """Weights, an example and what else a member of the family is given."""
    x, y, cost = rng.normal(size=3), int(rng.integers(4)), rng.uniform(0.2, 4, size=(4, 4)) * (1 - np.eye(4))
    if member == "ranking":
        return rng.normal(size=(4, 3)), (x, np.array([True, *rng.permutation([True, False, False])])), {}
    if member == "multiclass":
        return rng.normal(size=(4, 3)), (x, y), {}
    if member == "sequences":
        return rng.normal(size=(4, 7)), (rng.normal(size=(5, 3)), rng.integers(4, size=5)), {"cost": cost}
    return rng.normal(size=(4, 3)), (x, y), {"cost": cost}


@VARIANT
@pytest.mark.parametrize("member", ["multiclass", "ranking", "prediction_based", "max_loss", "sequences"])
def test_an_update_solves_its_problem(member, variant):
    """min 1/2 ||v - w||^2 + price of xi such that <v, direction> >= goal - xi, for the demand that fails most."""
    rng, moved = np.random.default_rng(0), 0
    for C in (0.03, 0.3, 3.0):
        for _ in range(15):
            W, example, given = draw(rng, member)
            direction, goal = globals()[f"demand_of_{member}"](W, *example, **given)
            (after,) = plain.learn(MEMBERS[member], W, [example], C, variant, **given)
            solved = primal_qp(W.ravel(), [direction.ravel()], [goal], [0], variant, C) if direction.any() else W
            np.testing.assert_allclose(after, np.reshape(solved, W.shape), atol=1e-7)
            moved += np.any(after != W)
    assert moved > 20


@VARIANT
@pytest.mark.parametrize("epsilon", [None, 0.2])
def test_an_update_of_one_score_solves_its_problem(epsilon, variant):
    X, y = data(1, 12)
    y, given = (y, {}) if epsilon is None else (3 * X[:, 1] + y, {"loss": plain.tube, "epsilon": epsilon})
    if variant == "PALS" and given:
        given["epsilon"] = 0.0
    for C in 10.0 ** np.arange(-3, 4):
        w = np.zeros(3)
        for x, target, after in zip(X, y, plain.linear(X, y, C, variant, **given), strict=True):
            np.testing.assert_allclose(primal_step(w, x, target, variant, C, epsilon), after, atol=1e-8)
            w = after


def closest_in_ball(w, x, epsilon, variant, C):
    """min 1/2 ||v - w||^2 + C xi (or xi^2) such that ||v - x|| <= epsilon + xi, as a cone program in (v, xi)."""
    d, price = len(w), {"PA": (0.0, 1e6), "PA-I": (0.0, C), "PA-II": (2 * C, 0.0)}[variant]
    P, q = sparse.diags([*np.ones(d), price[0]], format="csc"), np.append(-w, price[1])
    A = -np.vstack(
        [np.eye(d + 1)[d], np.eye(d + 1)[d], np.eye(d + 1)[:d]]
    )  # xi >= 0; (epsilon + xi, v - x) in the cone
    cones = [clarabel.NonnegativeConeT(1), clarabel.SecondOrderConeT(d + 1)]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.tol_gap_abs, settings.tol_gap_rel, settings.tol_feas = False, 1e-12, 1e-12, 1e-12
    bounds = np.concatenate([[0.0, epsilon], -x])
    return np.array(clarabel.DefaultSolver(P, q, sparse.csc_matrix(A), bounds, cones, settings).solve().x)[:d]


@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
def test_an_update_of_uniclass_solves_its_problem(variant):
    rng = np.random.default_rng(2)
    for C, epsilon in product((0.1, 0.5, 2.0), (0.5, 1.0, 3.0)):
        w, x = rng.normal(size=(2, 3))
        (after,) = plain.learn(MEMBERS["uniclass"], w, [(x,)], C, variant, epsilon=epsilon)
        np.testing.assert_allclose(after, closest_in_ball(w, x, epsilon, variant, C), atol=1e-5)


def test_uniclass_learns_a_radius():
    """With one more coordinate it ends with a ball around all the points; not the smallest, it moves no further."""
    angles = np.random.default_rng(3).uniform(0, 2 * np.pi, 3000)
    X = np.column_stack([1 + 2 * np.cos(angles), 2 * np.sin(angles), 0 * angles])
    w = plain.learn(MEMBERS["uniclass"], np.array([0.0, 0.0, 5.0]), [(x,) for x in X], 1.0, "PA", epsilon=5.0)[-1]
    radius = np.sqrt(25 - w[2] ** 2)
    assert 2 <= radius < 3 and np.linalg.norm(X[:, :2] - w[:2], axis=1).max() < radius + 1e-3


def random_expansion(rng, size=5):
    """A Gaussian Gram matrix, coefficients with 0 for the newest, and its label, which suffers a loss."""
    X = rng.normal(size=(size + 1, 2))
    K = np.exp(-0.5 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    a = np.append(rng.normal(size=size), 0.0)
    return K, a, -1 if K[-1] @ a > 0 else 1


@POLICY
def test_giving_up_a_vector_solves_its_problem(policy):
    """min 1/2 ||f - f_t||^2 + C xi over the free coefficients and xi, such that y f(x_t) >= 1 - xi."""
    rng = np.random.default_rng(4)
    for C, r in product((1e-2, 0.3, 10.0), range(6)):
        K, a, y = random_expansion(rng)
        free = plain.free_to_change(K, r, policy)

        def change(u, free=free, r=r, a=a):
            moved = np.zeros(len(a))
            moved[r], moved[free] = -a[r], u[:-1]
            return moved

        solved = minimize(
            lambda u, K=K, change=change, C=C: 0.5 * change(u) @ K @ change(u) + C * u[-1],
            np.append(np.zeros(len(free)), 1.0),
            constraints={
                "type": "ineq",
                "fun": lambda u, y=y, K=K, a=a, c=change: y * (K[-1] @ (a + c(u))) - 1 + u[-1],
            },
            bounds=[(None, None)] * len(free) + [(0, None)],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        objective, after = plain.give_up(K, a, y, C, r, policy)
        assert objective == pytest.approx(solved.fun, rel=1e-6, abs=1e-9) and after[r] == 0


def test_a_batch_of_least_squares_solves_its_problem():
    X, y = data(6, 12)
    w, C = np.zeros(3), np.linspace(0.1, 3, 12)
    for at, after in zip(
        (slice(0, 5), slice(5, 10), slice(10, 12)), plain.least_squares_batch(X, y, 5, C), strict=True
    ):

        def objective(v, w=w, at=at):
            return np.sum((v - w) ** 2) / 2 + np.sum(C[at] * (1 - y[at] * (X[at] @ v)) ** 2)

        np.testing.assert_allclose(minimize(objective, w, tol=1e-12).x, after, atol=1e-6)
        w = after


def test_passive_where_nothing_is_missing_except_for_least_squares():
    for variant in VARIANTS:
        first, second = plain.linear(np.array([[1.0], [2.0]]), [1, 1], 1e9, variant)
        assert (second < first) if variant == "PALS" else (second == first)
        assert plain.step(1.0, 0.0, 1.0, variant) == 0.0  # a row of zeros
    with pytest.raises(ValueError, match="variant must be"):
        plain.step(1.0, 1.0, 1.0, "PA-III")


# ---------------------------------------------------------------- the fast learners


@POLICY
def test_a_budget_equals_the_fast_learner(policy):
    """Without a cap in reach: where two vectors have the same coefficient C, rounding decides which one goes."""
    X, y = data(9, 150, 3)
    K = np.exp(-4.0 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    held, a = plain.budget(K, y, 12, policy, C=50.0)
    fast = KernelPAClassifier("PA-I", C=50.0, gamma=4.0, budget=12, budget_policy=policy).fit(X, y)
    assert sorted(fast.support_) == sorted(held)
    assert_close(fast.dual_coef_[0, [fast.support_.tolist().index(i) for i in held]], a)


@VARIANT
def test_landmarks_equal_the_fast_learner(variant):
    X, y = data(10, 150, 3)
    k = partial(lambda A, B: np.exp(-4.0 * np.sum((A[:, None] - B[None]) ** 2, axis=2)))
    path = plain.landmarks(k(X[:8], X[:8]), k(X, X[:8]), y, 0.4, variant)
    for average, expected in ((False, path[-1]), (True, plain.average(path))):
        fast = KernelPAClassifier(variant, C=0.4, gamma=4.0, landmarks=X[:8], average=average).fit(X, y)
        assert_close(fast.decision_function(X), k(X, X[:8]) @ expected)
