"""Generated data in the form of the real sets, for machines that have neither the files nor a network.

Nothing learned from these rows says anything about the real sets. They exist so that every notebook runs
anywhere, and `misfire_blocks` also so that streams longer than memory can be studied.
"""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.signal import lfilter

CYLINDERS, WINDOW = 10, 10
MISFIRE_RATE = 0.0985
_CHUNK = 16_000  # rows drawn at a time, whatever the caller's block: a multiple of CYLINDERS and _KNOT
_KNOT = 80  # rows between two knots of the slow operating conditions
_LAG = 5  # a row shows the label of this many rows ago, so that the window sees the engine's answer to it
# Crank acceleration at the misfire and on the three strokes after it, at the slowest and fastest speed.
_SLOW = np.array([0.04, -0.16, 0.10, 0.04])
_FAST = np.array([-0.20, 0.16, -0.24, 0.05])
# Each cylinder's own share of the acceleration; it grows and turns with the speed.
_SHARE = np.array([0.3, -0.9, 0.6, 1.0, -1.1, 0.7, -0.2, -0.8, 0.9, -0.5])


def _conditions(start, stop, phases):
    """Speed and load of rows start..stop: slow waves taken at knots, straight lines between them."""
    t = np.arange(start, stop + _KNOT, _KNOT)[:, None] / np.array([[90.0, 500.0, 2300.0]])
    waves = [np.sin(t + phase) @ [0.1, 0.3, 0.6] for phase in phases]  # each within [-1, 1]
    ramp = np.arange(_KNOT) / _KNOT
    speed, load = ((w[:-1, None] + np.diff(w)[:, None] * ramp).ravel() for w in waves)
    return -0.1 + 0.75 * speed, 0.37 + 0.33 * load


def _chunks(seed):
    """Yield (X, y) of `_CHUNK` rows for ever; draws never depend on how the caller cuts them."""
    rng = np.random.default_rng(seed)
    phases = rng.uniform(0, 2 * np.pi, (2, 3))
    fired, past = np.zeros(_LAG, bool), np.zeros(WINDOW - 1)
    share, turned = np.tile(_SHARE, _CHUNK // CYLINDERS), np.tile(np.roll(_SHARE, 3), _CHUNK // CYLINDERS)
    start = 0
    while True:
        speed, load = _conditions(start, start + _CHUNK, phases)
        fast = (speed + 0.85) / 1.5
        fired = np.concatenate([fired[-_LAG:], rng.random(_CHUNK) < MISFIRE_RATE])
        new = 0.17 * fast * ((1 - fast) * share + fast * turned)
        new += (0.03 + 0.03 * fast) * (0.7 + load) * rng.standard_normal(_CHUNK)
        for k, (slow_k, fast_k) in enumerate(zip(_SLOW, _FAST, strict=True)):
            new += fired[_LAG - k : _LAG - k + _CHUNK] * (slow_k + fast * (fast_k - slow_k))
        past = np.concatenate([past[1 - WINDOW :], new])
        X = np.empty((_CHUNK, CYLINDERS + 2 + WINDOW))
        X.reshape(-1, CYLINDERS, X.shape[1])[:, :, :CYLINDERS] = np.eye(CYLINDERS)
        X[:, CYLINDERS], X[:, CYLINDERS + 1] = speed, load
        X[:, CYLINDERS + 2 :] = np.lib.stride_tricks.sliding_window_view(past, WINDOW)
        yield X, np.where(fired[:_CHUNK], 1, -1)
        start += _CHUNK


def misfire_blocks(n_rows, block_rows=65_536, seed=0):
    """Yield a misfire-like stream in ijcnn1's form, block by block, in constant memory.

    Columns 0-9 say which cylinder fired (they cycle), 10 and 11 are slow operating conditions, 12-21 the last ten
    crank accelerations, newest last: column j of a row is column j + 1 of the row before. About one row in ten is a
    misfire; its trace in the accelerations changes shape with the speed, so no linear rule sees every one. Form, rate
    and size of the traces follow the ijcnn1 training set (Prokhorov, IJCNN 2001).

    Parameters
    ----------
    n_rows : int. Rows in all. A longer stream begins with the shorter one.
    block_rows : int. Rows per block, the last may be shorter. The rows do not depend on it.
    seed : int

    Yields
    ------
    X : float64 array of shape (rows, 22)
    y : int64 array of shape (rows,), values -1 and +1

    Raises
    ------
    ValueError. If `n_rows` is negative or `block_rows` is below 1.

    >>> [len(y) for X, y in misfire_blocks(100_000, block_rows=40_000)]
    [40000, 40000, 20000]
    """
    if n_rows < 0 or block_rows < 1:
        raise ValueError(f"need n_rows >= 0 and block_rows >= 1, got {n_rows} and {block_rows}")
    return _cut(n_rows, block_rows, _chunks(seed))


def _cut(n_rows, block_rows, chunks):
    """Cut the endless chunks to blocks of the wanted size."""
    X, y = next(chunks)
    for first in range(0, n_rows, block_rows):
        rows = min(block_rows, n_rows - first)
        if missing := max(rows - len(y), 0):
            more = [next(chunks) for _ in range(-(-missing // _CHUNK))]
            X, y = (np.concatenate(parts) for parts in zip((X, y), *more, strict=True))
        yield X[:rows], y[:rows]
        X, y = X[rows:], y[rows:]


def misfire_stream(n_rows, *, seed=0):
    """Return the first `n_rows` rows, at least 1, of the stream of `misfire_blocks` as one pair of arrays.

    >>> X, y = misfire_stream(1000)
    >>> X.shape, bool((X[1:, 12:21] == X[:-1, 13:]).all())
    ((1000, 22), True)
    """
    return next(misfire_blocks(n_rows, block_rows=n_rows, seed=seed))


def lookalike(n_rows, n_features, *, share=0.5, nonzeros=None, seed=0):
    """Return rows of a given shape, sparsity and class balance, with a noisy label that is not linear.

    Parameters
    ----------
    n_rows, n_features : int
    share : float. Part of the rows labelled +1.
    nonzeros : int, optional. Ones per row of a binary CSR matrix, on average; without it X is dense and normal.
    seed : int

    Returns
    -------
    X : float64 array or CSR matrix of shape (n_rows, n_features)
    y : int64 array of shape (n_rows,), values -1 and +1

    >>> X, y = lookalike(200, 30, share=0.25, nonzeros=6)
    >>> X.format, X.shape, int((y == 1).sum())
    ('csr', (200, 30), 50)
    """
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((3, n_features))
    if nonzeros is None:
        X = rng.standard_normal((n_rows, n_features))
    else:
        X = sp.csr_matrix((rng.random((n_rows, n_features), np.float32) < nonzeros / n_features).astype(float))
    linear, bend, turn = ((a - a.mean()) / (a.std() or 1) for a in (X @ direction for direction in directions))
    score = linear + 0.7 * bend * turn + 0.5 * rng.standard_normal(n_rows)
    y = np.full(n_rows, -1)
    y[np.argsort(score)[n_rows - round(share * n_rows) :]] = 1
    return X, y


def drifting(n_rows, n_features, *, share=0.5, seed=0):
    """Return rows whose features wander from row to row, and whose label slowly changes what it depends on.

    Parameters
    ----------
    n_rows, n_features : int
    share : float. Part of the rows labelled +1.
    seed : int

    Returns
    -------
    X : float64 array of shape (n_rows, n_features)
    y : int64 array of shape (n_rows,), values -1 and +1

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
    topics : sequence of str. Names of the largest topics, by size; ten small ones are added.
    seed : int

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
    return frame
