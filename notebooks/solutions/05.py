"""Solutions to the exercises of notebook 05."""

import numpy as np
from sklearn.datasets import make_circles

from pa_lab import plain
from pa_lab.study import toy
from solutions import exercise


def values(X, gamma):
    """Compute the RBF kernel of all pairs of points."""
    return np.exp(-gamma * np.sum((X[:, np.newaxis] - X) ** 2, axis=2))


def kept(C, gamma=0.5):
    """Count the vectors that PA-I keeps of the toy stream."""
    X, y = toy.stream()
    return np.count_nonzero(plain.kernel(values(X, gamma), y, C))


@exercise("5.1")
def vectors_with_a_small_cap():
    """Cap the steps at 0.3."""
    yield (
        kept(0.3),
        "A capped step leaves a loss behind, so more rows near it find one.",
    )
    yield kept(1.0), "That is the number for C = 1."
    yield 40, "That is all points; some have no loss even now."


def draw(rng):
    """Draw two points and a width."""
    return *rng.normal(size=(2, 3)), rng.uniform(0.1, 2)


@exercise("5.2", inputs=draw)
def laplacian_kernel():
    """Write the Laplacian kernel."""

    def laplacian(s, x, gamma):
        return np.exp(-gamma * np.sum(np.abs(s - x)))

    def rbf(s, x, gamma):
        return np.exp(-gamma * np.sum((s - x) ** 2))

    def signed(s, x, gamma):
        return np.exp(-gamma * np.sum(s - x))

    yield laplacian, "It is 1 for equal points and falls more slowly far away."
    yield rbf, "That is the RBF kernel: it squares the differences."
    yield signed, "Distances have no sign: take absolute values."


def late(noise):
    """Count the vectors that join among the last 400 of 800 points of two rings."""
    X, y = make_circles(800, noise=noise, factor=0.5, random_state=0)
    return np.count_nonzero(plain.kernel(values(X, 3.0), 2 * y - 1)[400:])


@exercise("5.3")
def rings_that_do_not_overlap():
    """Draw the rings with little noise."""
    assert 0 < late(0.03) < late(0.12) / 3
    yield (
        "far fewer",
        "Few points have a loss once the boundary has its shape.",
    )
    yield "none", "A few still miss the margin of 1, far from any vector."
    yield (
        "as many",
        "That would be so if growth were the kernel's fault; it is the overlap's.",
    )
