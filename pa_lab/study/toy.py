"""The small two-dimensional stream that every notebook uses as its running example."""

import numpy as np

CENTRE = np.array([1.2, 0.8])  # of the cloud labelled +1; the other cloud is its mirror image


def stream(n: int = 40, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Return a stream of points from two overlapping Gaussian clouds.

    Both clouds have unit variance. The one labelled +1 is centred at (1.2, 0.8), the one labelled -1 at (-1.2, -0.8).
    Labels are drawn at random, so the points come in random order.

    Parameters
    ----------
    n : int, default=40. Number of points.
    seed : int, default=7. Seed of the random generator. The same seed gives the same points.

    Returns
    -------
    X : float array of shape (n, 2)
    y : int array of shape (n,), values -1 and +1

    >>> X, y = stream()
    >>> X.shape, y[:5].tolist()
    ((40, 2), [1, 1, -1, 1, -1])
    """
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n, 2))
    y = rng.choice([-1, 1], size=n)
    return noise + y[:, np.newaxis] * CENTRE, y
