"""Solutions to the exercises of notebook 07."""

import numpy as np

from pa_lab import plain
from pa_lab.study import experiments
from solutions import exercise


@exercise("7.1")
def a_step_in_regression():
    """Move to the edge of the tube."""
    w, x, y = np.array([1.0, 2.0]), np.array([2.0, 1.0]), 1.0
    away = w @ x - y
    yield w - (away - 0.5) / (x @ x) * x, "The prediction is 1.5 now, the near edge."
    yield w - away / (x @ x) * x, "That goes to the target; the near edge is enough."
    yield w + (away - 0.5) / (x @ x) * x, "The prediction is too high: move against x."


@exercise("7.2")
def averages_after_a_turn():
    """Follow the stream with both kinds of weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 10))
    late = np.arange(4000) >= 2000
    y = np.where(np.where(late, X[:, 1], X[:, 0]) > 0, 1, -1)
    y = experiments.flip_labels(y, 0.05, rng)
    last = plain.linear(X, y, C=0.01)
    mean = np.cumsum(last, axis=0) / np.arange(1, 4001)[:, None]
    wrong = [np.sum(np.sum(w[1999:-1] * X[2000:], axis=1) * y[2000:] <= 0)
             for w in (last, mean)]  # fmt: skip
    answer = "more" if wrong[1] > wrong[0] else "fewer"
    yield answer, "The mean keeps the weights of the old world, as a batch fit does."
    yield "fewer", "It is steadier in the calm, and remembers what no longer holds."
    yield "as many", "Half of the weights it averages point into the old direction."


def draw(rng):
    """Draw the arguments of a step."""
    return *rng.normal(size=(2, 3)), rng.normal(), rng.uniform(0.1, 2), 0.2


@exercise("7.3", inputs=draw)
def ridge_step_in_regression():
    """Write the step of PA-II."""

    def with_ridge(w, x, y, C, epsilon, ridge):
        loss = max(0.0, plain.tube(w @ x, y, epsilon)[0])
        return w + loss / (x @ x + ridge) * np.sign(y - w @ x) * x

    def solution(w, x, y, C, epsilon):
        return with_ridge(w, x, y, C, epsilon, 1 / (2 * C))

    def no_ridge(w, x, y, C, epsilon):
        return with_ridge(w, x, y, C, epsilon, 0.0)

    def capped(w, x, y, C, epsilon):
        return w + plain.step(plain.tube(w @ x, y, epsilon)[0], x @ x, C, "PA-I") * (
            np.sign(y - w @ x) * x
        )

    yield solution, "The ridge shortens every step, the long and the short."
    yield no_ridge, "That is PA: the ridge 1 / (2 C) is missing."
    yield capped, "That is PA-I, whose C is a cap."


@exercise("7.4")
def prediction_with_the_intercept_left_out():
    """Add the intercept's move to the prediction."""
    x, y = 0.1, 1.0
    tau = y / x**2
    yield tau * x * x + tau, "The weight gives 1, and the intercept 100 more."
    yield 1.0, "That is the weight's part; the intercept moves too."
    yield tau, "That is the intercept's part; add the weight's."
