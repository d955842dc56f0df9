"""Generated data in the form of the real sets, for machines that have neither the files nor a network.

Nothing learned from these rows says anything about the real sets. They exist so that every notebook runs anywhere, and
`misfire_blocks` also so that streams longer than memory can be studied.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.signal import lfilter
from sklearn.datasets import make_classification

N_FEATURES, MISFIRE_RATE = 22, 0.0985  # of ijcnn1
JITTER = 0.02  # standard deviation of the noise on each value of the stream; the values lie between -1 and 1

Block = tuple[np.ndarray, np.ndarray]


def lookalike(
    n_rows: int, n_features: int, *, share: float = 0.5, nonzeros: int | None = None, seed: int = 0
) -> tuple[np.ndarray | sp.csr_matrix, np.ndarray]:
    """Return rows of a given shape, sparsity and class balance, in two overlapping clusters per class.

    Parameters
    ----------
    n_rows, n_features : int
    share : float, default=0.5
        Share of the rows labelled +1.
    nonzeros : int, optional
        Average number of ones per row of a binary CSR matrix. Without it X is dense.
    seed : int

    Returns
    -------
    X : float64 array or CSR matrix of shape (n_rows, n_features)
    y : int64 array of shape (n_rows,)
        Values -1 and +1.

    Examples
    --------
    >>> X, y = lookalike(200, 30, share=0.25, nonzeros=6)
    >>> X.format, X.shape, int((y == 1).sum())
    ('csr', (200, 30), 50)
    """
    X, y = make_classification(
        n_rows,
        n_features,
        n_informative=min(n_features, 8),
        n_redundant=0,
        weights=[1 - share, share],
        flip_y=0,
        random_state=seed,
    )
    X = np.round(X, 6)  # the same on every processor, whatever the last digit of a product
    if nonzeros is not None:
        cut = np.quantile(X, 1 - nonzeros / n_features, axis=0)  # of each column
        X = sp.csr_matrix((cut < X).astype(float))
    return X, 2 * y - 1


def misfire_blocks(n_rows: int, block_rows: int = 65_536, seed: int = 0) -> Iterator[Block]:
    """Yield a stream in the form of ijcnn1, block by block, in constant memory.

    The rows are drawn with replacement from one generated set, with a little noise on each value. About one in ten is
    positive. Streams with different seeds obey the same rule.

    Parameters
    ----------
    n_rows : int
        Rows in all. A longer stream begins with the shorter one.
    block_rows : int, default=65,536
        Rows per block; the last one may be shorter. The rows do not depend on it.
    seed : int

    Yields
    ------
    X : float64 array of shape (rows, 22)
    y : int64 array of shape (rows,)
        Values -1 and +1.

    Examples
    --------
    >>> [len(y) for X, y in misfire_blocks(100_000, block_rows=40_000)]
    [40000, 40000, 20000]
    """
    X, y = _source()
    choice, noise = np.random.default_rng(seed).spawn(2)  # one stream each: blocks of any size then draw the same
    for start in range(0, n_rows, block_rows):
        rows = choice.integers(len(y), size=min(block_rows, n_rows - start))
        yield X[rows] + JITTER * noise.standard_normal((len(rows), N_FEATURES)), y[rows]


@cache
def _source():
    """Return the rows that `misfire_blocks` draws from."""
    X, y = lookalike(20_000, N_FEATURES, share=MISFIRE_RATE)
    return np.round(X / np.abs(X).max(), 6), y


def misfire_stream(n_rows: int, *, seed: int = 0) -> Block:
    """Return the first ``n_rows`` rows, at least 1, of the stream of `misfire_blocks` as one pair of arrays.

    >>> X, y = misfire_stream(1000)
    >>> X.shape, y.shape
    ((1000, 22), (1000,))
    """
    return next(misfire_blocks(n_rows, block_rows=n_rows, seed=seed))


def drifting(n_rows, n_features, *, share=0.5, seed=0):
    """Return rows whose features wander from row to row, and whose label slowly changes what it depends on.

    Parameters
    ----------
    n_rows, n_features : int
    share : float
        Part of the rows labelled +1.
    seed : int

    Returns
    -------
    X : float64 array of shape (n_rows, n_features)
    y : int64 array of shape (n_rows,)
        Values -1 and +1.

    Examples
    --------
    >>> X, y = drifting(200, 6, share=0.3)
    >>> X.shape, int((y == 1).sum())
    ((200, 6), 60)
    """
    rng = np.random.default_rng(seed)
    X = lfilter([0.5], [1.0, -0.85], rng.standard_normal((n_rows, n_features)), axis=0)
    angle = np.linspace(0, np.pi, n_rows)
    first, second = X @ rng.standard_normal((n_features, 2)).T[:, :, None]
    score = np.cos(angle) * first.ravel() + np.sin(angle) * second.ravel() + 0.3 * rng.standard_normal(n_rows)
    return X, np.where(score.argsort().argsort() >= n_rows - round(share * n_rows), 1, -1)


def wire(n_rows, topics, *, seed=0):
    """Return stories in the form of `pa_lab.study.newswire`, in made-up words, of which topics change some over time.

    Parameters
    ----------
    n_rows : int
    topics : sequence of str
        Names of the largest topics, by size; ten small ones are added.
    seed : int

    Examples
    --------
    >>> wire(100, ["earn", "acq"]).columns.tolist()[-2:]
    ['topics', 'text']
    """
    rng = np.random.default_rng(seed)
    syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
    words = np.array(["".join(word) for word in rng.choice(syllables, (6000, 3))])
    names = [*topics, *(f"minor-{k}" for k in range(10))]
    common = rng.zipf(1.3, (n_rows, 40)) % 3000  # the first half of the words is for everybody
    size = 1 / np.arange(1, len(names) + 1)
    main = rng.choice(len(names), n_rows, p=size / size.sum())
    also = np.where(rng.random(n_rows) < 0.15, rng.choice(len(names), n_rows), main)
    judged = rng.random(n_rows) < 0.63
    # A topic draws on 60 words at a time, and this window moves on by 60 more from the first story to the last.
    moved = np.linspace(0, 60, n_rows).astype(int)
    window = 3000 + 120 * np.stack([main, also], axis=1)[:, [0] * 8 + [1] * 4] + moved[:, None]
    own = window + rng.integers(0, 60, window.shape)
    rows = []
    for i in range(n_rows):
        mine = dict.fromkeys([names[main[i]], names[also[i]]]) if judged[i] and rng.random() < 0.85 else ()
        kept = rng.random(own.shape[1]) < 0.7
        rows.append((tuple(mine), " ".join(words[np.r_[own[i][kept], common[i]] % len(words)])))
    frame = pd.DataFrame(rows, columns=["topics", "text"])
    frame.insert(0, "newid", np.arange(1, n_rows + 1))
    minutes = np.linspace(0, 236 * 24 * 60, n_rows).astype("timedelta64[m]")
    frame.insert(1, "date", (np.datetime64("1987-02-26T15:00") + minutes).astype("datetime64[s]"))
    frame.insert(2, "date_malformed", False)
    frame.insert(3, "split", np.where(np.arange(n_rows) < 0.7 * n_rows, "TRAIN", "TEST"))
    frame.insert(4, "judged", np.where(judged, "YES", "NO"))
    return frame.astype({"text": object})
