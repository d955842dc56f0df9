"""The closed forms of `pa_lab.rules` against the problems they solve."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from pa_lab.rules import PA, PA1, PA2, PALS, VARIANTS, gap_of, ridge, slack_price, step_cost

SLACK = {PA1: lambda C, xi: C * xi, PA2: lambda C, xi: C * xi**2, PALS: lambda C, xi: C * xi**2}


@pytest.mark.parametrize("C", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("loss, sqnorm", [(0.3, 2.0), (1.0, 0.5), (4.0, 3.0)])
def test_a_step_costs_the_least_that_its_problem_can_cost(loss, sqnorm, C):
    assert step_cost(PA, loss, sqnorm, C) == pytest.approx(0.5 * loss**2 / sqnorm, rel=1e-12)
    for variant, price in SLACK.items():
        least = minimize_scalar(lambda tau: 0.5 * tau**2 * sqnorm + price(C, max(0.0, loss - tau * sqnorm)),  # noqa: B023
                                bounds=(0.0, loss / sqnorm), method="bounded", options={"xatol": 1e-9})  # fmt: skip
        assert step_cost(variant, loss, sqnorm, C) == pytest.approx(least.fun, rel=1e-5)


@pytest.mark.parametrize("variant", [PA1, PA2])
def test_the_gaps_of_the_examples_add_up_to_primal_minus_dual(variant):
    rng = np.random.default_rng(0)
    for _ in range(200):
        X, C, loss = rng.normal(size=(3, 2)), 10 ** rng.uniform(-1, 1), rng.normal(1.0, 2.0, 3)
        tau = rng.uniform(0, C if variant == PA1 else 3.0, 3) * rng.integers(0, 2, 3)
        A, r = X @ X.T, ridge(variant, C)
        primal = 0.5 * tau @ A @ tau + SLACK[variant](C, np.maximum(0.0, loss - A @ tau)).sum()
        dual = loss @ tau - 0.5 * tau @ (A + r * np.eye(3)) @ tau
        gaps = [gap_of(variant, t, g, C) for t, g in zip(tau, A @ tau + r * tau - loss, strict=True)]
        assert min(gaps) >= -1e-12 and sum(gaps) == pytest.approx(primal - dual, abs=1e-9)


def test_what_slack_costs():
    assert {PA, *SLACK} == set(range(len(VARIANTS)))
    assert [slack_price(PA, xi, 1.0, 1.0) for xi in (0.0, 1e-12, 1e-6, 0.3, 2.0)] == [0.0, 0.0, np.inf, np.inf, np.inf]
    assert [slack_price(variant, 0.5, 1.0, 4.0) for variant in (PA1, PA2, PALS)] == [2.0, 1.0, 1.0]
