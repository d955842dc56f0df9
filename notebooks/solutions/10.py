"""Solutions to the exercises of notebook 10."""

import numpy as np

from pa_lab import KernelPAClassifier
from pa_lab.study import experiments, toy
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


def mistakes(policy, size=5):
    """Count the mistakes on a long toy stream."""
    model = KernelPAClassifier(gamma=0.5, budget=size, budget_policy=policy)
    return model.fit(*toy.stream(500)).n_mistakes_


@exercise("10.2")
def five_vectors():
    """Keep five vectors of 500 points, with projection."""
    yield (
        mistakes("projection"),
        "Five vectors that share what is dropped can draw this boundary.",
    )
    yield (
        mistakes("removal"),
        "That is removal, which loses what the dropped vector knew.",
    )
    yield mistakes("projection", 500), "That is without a limit."


def error(policy, C):
    """Percent of wrong predictions in the second half of rows that move."""
    X, y = toy.wave(True, seed=0, n=2000)
    model = KernelPAClassifier(gamma=1.0, C=C, budget=50, budget_policy=policy)
    made = experiments.progressive(model, X, y, 1000)["mistakes"].to_numpy()
    return (made[1] - made[0]) / 10


@exercise("10.3")
def a_larger_C():
    """Give projection C = 1 instead of 0.25 where the rows move."""
    assert error("projection", 1.0) < 0.6 * error("projection", 0.25)
    yield (
        "follows",
        "A newcomer with a large coefficient is no longer the cheapest to give up.",
    )
    yield "stays", "That is what it does with a small C."
