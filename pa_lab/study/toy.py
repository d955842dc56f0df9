"""Small two-dimensional streams: the one that every notebook uses as its running example, and one that moves."""

import numpy as np

CENTRE = np.array([1.2, 0.8])  # of the cloud labelled +1; the other cloud is its mirror image


def stream(n: int = 40, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Return a stream of points from two overlapping Gaussian clouds.

    Both clouds have unit variance. The one labelled +1 is centred at (1.2, 0.8), the one labelled -1 at (-1.2, -0.8).
    Labels are drawn at random, so the points come in random order.

    Parameters
    ----------
    n : int, default=40
        Number of points.
    seed : int, default=7
        Seed of the random generator. The same seed gives the same points.

    Returns
    -------
    X : float array of shape (n, 2)
    y : int array of shape (n,)
        Values -1 and +1.

    Examples
    --------
    >>> X, y = stream()
    >>> X.shape, y[:5].tolist()
    ((40, 2), [1, 1, -1, 1, -1])
    """
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n, 2))
    y = rng.choice([-1, 1], size=n)
    return noise + y[:, np.newaxis] * CENTRE, y


def wave(rows_move: bool, seed: int, n: int = 4000, way: float = 8 * np.pi) -> tuple[np.ndarray, np.ndarray]:
    """Return a stream of two classes on either side of a wave, one label in twenty wrong.

    The border is ``x2 = sin(x1)``. Along the stream either the wave moves past rows that stay where they are, or the
    rows move along a wave that stands. Seen from the rows, the two are the same.

    Parameters
    ----------
    rows_move : bool
        Whether it is the rows that move, and not the wave.
    seed : int
        Seed of the random generator.
    n : int, default=4000
        Number of rows.
    way : float, default=8 pi
        How far they move in all; the wave repeats after 2 pi.

    Returns
    -------
    X : float array of shape (n, 2)
    y : int array of shape (n,)
        Values -1 and +1.

    Examples
    --------
    >>> stays, moves = wave(False, seed=0), wave(True, seed=0)
    >>> stays[0].max().round(1), moves[0].max().round(1)
    (np.float64(3.1), np.float64(28.0))
    """
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(-np.pi, np.pi, n), rng.uniform(-2, 2, n)
    moved = way * np.arange(n) / n
    y = np.where(x2 > np.sin(x1 + moved), 1, -1)
    y[rng.random(n) < 0.05] *= -1
    return np.column_stack([x1 + moved * rows_move, x2]), y
