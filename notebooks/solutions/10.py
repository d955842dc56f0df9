"""Solutions to the exercises of notebook 10."""

import numpy as np

from pa_lab import plain
from pa_lab.study import toy
from solutions import exercise


def draw(rng):
    """Draw a kernel matrix of landmarks and the kernel values of a row."""
    points = rng.normal(size=(4, 2))
    K = np.exp(-np.sum((points[:, np.newaxis] - points) ** 2, axis=2))
    return K, rng.uniform(0.1, 1, 4)


@exercise("10.1", within=1e-4, inputs=draw)
def squared_norm_among_landmarks():
    """Compute the squared norm of the exact step."""

    def exact(K, k):
        return k @ np.linalg.solve(K, k)

    def features(K, k):
        return k @ k

    def wrong_way(K, k):
        return k @ K @ k

    yield (
        exact,
        "It is the squared norm of what the landmarks span of the row.",
    )
    yield features, "That is the norm if the coefficients are to change least."
    yield (
        wrong_way,
        "The inverse of K belongs there: close landmarks must not count twice.",
    )


def newest(policy, size):
    """Return the number of the last row of the toy stream that is held."""
    X, y = toy.stream()
    K = np.exp(-0.5 * np.sum((X[:, np.newaxis] - X) ** 2, axis=2))
    return plain.budget(K, y, size, policy)[0][-1]


@exercise("10.2")
def last_row_held():
    """Find the newest of six vectors."""
    yield (
        newest("projection", 6),
        "A place goes to what is dear, even at the end.",
    )
    yield newest("nearest", 6), "That is nearest, which hands on less."
    yield 5, "Landmarks stop at the sixth row; a budget goes on."


@exercise("10.3")
def a_larger_C():
    """Give projection C = 1 instead of 0.25 where the rows move."""
    lesson = "A newcomer with a large coefficient is not the cheapest to give up."
    yield "follows", lesson
    yield "stays", "That is what it does with a small C."
