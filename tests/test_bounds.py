"""The bounds hold on real runs, fail on wrong ones, and refuse where their assumptions fail."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from pa_lab import PAClassifier, rules
from pa_lab.study import bounds
from pa_lab.study.experiments import trace

VARIANT = pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])


def separable(seed=0, n=400, d=5, unit=False):
    rng = np.random.default_rng(seed)
    X, u = rng.normal(size=(n, d)), rng.normal(size=d)
    X = X[np.abs(X @ u) > 0.3]
    X = X / np.linalg.norm(X, axis=1, keepdims=True) if unit else X
    return X, np.where(X @ u > 0, 1, -1)


def noisy(seed=0, unit=False):
    X, y = separable(seed, unit=unit)
    return X, np.where(np.random.default_rng(seed + 1).random(len(y)) < 0.15, -y, y)


@VARIANT
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 1e3])
def test_bounds_hold_after_every_example(variant, fit_intercept, C):
    X, y = separable() if variant == "PA" else noisy()
    u = bounds.tightest(variant, X, y, C, fit_intercept)
    for vector in (u, u / 2, np.zeros_like(u)):
        if variant == "PA" and vector is not u:
            continue
        run = bounds.along(PAClassifier(variant, C, fit_intercept=fit_intercept), X, y, vector)
        assert (run["observed"] <= run["bound"]).all() and run["observed"].iloc[-1] > 0


@VARIANT
@pytest.mark.parametrize("query", ["all", "margin"])
def test_what_a_bound_is_compared_with(variant, query):
    """Mistakes, but for the squared losses of PA and PA-II with all labels."""
    X, y = separable()
    model = PAClassifier(variant, 0.1, fit_intercept=False, query=query, random_state=0)
    observed = bounds.along(model, X, y, bounds.tightest("PA", X, y, 0.1, False))["observed"]
    scores = trace(model, X, y)["score"].to_numpy()
    losses = np.maximum(0.0, 1.0 - y * scores) ** 2
    mistakes = np.where(scores > 0, 1, -1) != y
    expected = mistakes if query == "margin" or variant == "PA-I" else losses
    np.testing.assert_allclose(observed, np.cumsum(expected))


def test_a_broken_bound_is_an_error(monkeypatch):
    X, y = noisy()
    whole = bounds.along
    monkeypatch.setattr(bounds, "along", lambda *args: whole(*args).assign(bound=lambda run: run.observed - 1))
    with pytest.raises(ValueError, match="does not hold after 1 example"):
        bounds.at_end("PA-II", X, y)


def test_theorem_3_holds_on_unit_norms_with_label_noise():
    X, y = noisy(unit=True)
    for u in (LinearSVC(fit_intercept=False).fit(X, y).coef_[0], np.zeros(X.shape[1])):
        run = bounds.along(PAClassifier("PA", fit_intercept=False), X, y, u)
        assert (run["observed"] <= run["bound"]).all()


def test_twice_the_step_breaks_theorem_2():
    """A narrow cone of solutions: steps twice too long are reflections, which keep the distance to its tip.

    With the right step the plain loop gives the recorded run, so it is the step alone that breaks the bound.
    """
    X, y = np.tile([[1.0, 0.1], [1.0, -0.1]], (50, 1)), np.tile([1, -1], 50)
    bound = bounds.theorem_2(bounds.compare([0.0, 10.0], X, y, fit_intercept=False))
    totals = {}
    for factor in (1.0, 2.0):
        w, losses = np.zeros(2), np.zeros(len(y))
        for t, x in enumerate(X):
            losses[t] = rules.hinge(float(y[t]), float(x @ w))
            w = w + factor * rules.step(rules.PA, losses[t], float(x @ x), 1.0) * y[t] * x
        totals[factor] = np.cumsum(losses**2)
        if factor == 1.0:
            np.testing.assert_allclose(losses, trace(PAClassifier("PA", fit_intercept=False), X, y)["loss"], atol=1e-12)
    assert (totals[1.0] <= bound).all()
    assert totals[2.0][-1] > 2.0 * bound[-1]


@pytest.mark.parametrize("rho", [1.0, 2.0, 8.0])
@VARIANT
def test_active_bounds_hold_on_average(variant, rho):
    """The theorems bound the expected number of mistakes over all examples, asked for or not."""
    X, y = separable() if variant == "PA" else noisy()
    u, active = bounds.tightest(variant, X, y, rho=rho), PAClassifier(variant, query="margin", delta=rho)
    runs = [bounds.along(active.set_params(random_state=seed), X, y, u) for seed in range(20)]
    mean = np.mean([run["observed"] for run in runs], axis=0)
    assert (mean <= runs[0]["bound"]).all() and mean[-1] > 0
    with pytest.raises(ValueError, match="of at least 1; got"):
        bounds.along(active.set_params(delta=0.5), X, y, u)


def test_active_theorems_as_printed():
    """Typed from the paper's statements, on numbers where every term counts."""
    u, R2, C, rho = bounds.Comparison(3.0, np.array([0.5, 0.0, 2.0]), np.array([1.0, 4.0, 2.0])), 4.0, 0.2, 3.0
    without = u._replace(losses=np.zeros(3))
    assert bounds.active_theorem_1(without, rho)[-1] == pytest.approx(R2 / 4 * (3 + 1 / 3 + 2) * 3.0)
    assert bounds.active_theorem_2(u, C, rho)[-1] == pytest.approx(1 / 3 * 5.0 * (4 * 3.0 + 4 * 0.2 * 2.5))
    assert bounds.active_theorem_3(u, C, rho)[-1] == pytest.approx(1 / 3 * 6.5 * 4 * (3.0 + 0.4 * 4.25))


def test_tightest_minimizes_the_bound():
    X, y = noisy()
    for variant, theorem in (("PA-I", bounds.theorem_4), ("PA-II", bounds.theorem_5)):
        u = bounds.tightest(variant, X, y, 0.3)
        least = theorem(bounds.compare(u, X, y), 0.3)[-1]
        rng = np.random.default_rng(0)
        for scale in (0.01, 0.1, 1.0):
            other = bounds.compare(u + scale * rng.normal(size=len(u)), X, y)
            assert theorem(other, 0.3)[-1] > least
    X, y = separable()
    assert (y * (X @ bounds.tightest("PA", X, y, fit_intercept=False))).min() == pytest.approx(1.0)


@pytest.mark.parametrize("rho", [1.0, 4.0])
def test_tightest_minimizes_the_bound_of_active_pa1(rho):
    X, y = noisy()
    us = [bounds.tightest("PA-I", X, y, *at) for at in ((0.01, True, rho), (0.002,), (0.05,), (0.1,))]
    least, *others = (bounds.active_theorem_2(bounds.compare(u, X, y), 0.01, rho)[-1] for u in us)
    assert least < min(others)
