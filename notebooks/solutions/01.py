"""Solutions to the exercises of notebook 01."""

import numpy as np

from pa_lab import plain
from pa_lab.study import toy
from solutions import exercise


def updates(variant, C):
    """Count the examples of the toy stream that move the weights."""
    path = plain.linear(*toy.stream(), C, variant)
    return np.any(np.diff(path, axis=0, prepend=0), axis=1).sum()


@exercise("1.1")
def updates_with_a_cap():
    """Cap tau at 0.1."""
    yield updates("PA-I", 0.1), "Short steps leave some loss, and later points find it."
    yield updates("PA", 0.1), "That is the number without a cap: PA ignores C."
    yield 40, "That is the number of points; some have no loss."


def worked(label, C, variant="PA-I"):
    """Take the worked step with a label."""
    w, x = np.array([0.5, -0.5]), np.array([1.0, 2.0])
    return w + plain.step(1 - label * (w @ x), x @ x, C, variant) * label * x


@exercise("1.2")
def worked_step_with_the_wrong_label():
    """Take the step of PA-I for the label -1."""
    yield worked(-1, 0.04), "PA would go further, so the cap binds: tau is C."
    yield worked(-1, 0.04, "PA"), "That is PA, which has no cap."
    yield worked(1, 0.04), "This step is for the label +1; look at its direction."


def draw(rng):
    """Draw the arguments of a step."""
    return *rng.normal(size=(2, 3)), rng.choice([-1, 1]), rng.uniform(0.1, 2)


@exercise("1.3", inputs=draw)
def least_squares_step():
    """Write the step of PALS."""

    def solution(w, x, y, C):
        return w + plain.step(1 - y * (w @ x), x @ x, C, "PALS") * y * x

    def positive(w, x, y, C):
        return w + plain.step(1 - y * (w @ x), x @ x, C, "PA-II") * y * x

    def doubled(w, x, y, C):
        return w + (1 - y * (w @ x)) / (x @ x + 1 / C) * y * x

    yield solution, "A margin above 1 counts as an error too, and is pulled back."
    yield positive, "This one is passive where the margin is above 1: it is PA-II."
    yield doubled, "The ridge is 1 / (2 C), from the price C xi^2."


@exercise("1.4")
def margin_without_the_constant():
    """Compute 1 + loss / ||x||^2."""
    norm, loss = 0.5, 1.0
    yield 1 + loss / norm**2, "The shorter the example, the further it overshoots."
    yield 1 + loss / norm, "Take the squared norm."
    yield 1.0, "That is the margin with the 1 counted in the norm."
