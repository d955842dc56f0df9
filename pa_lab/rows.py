"""What a learner does with one row of the data: score it, measure it, add it. Dense and CSR rows alike.

Weights lie feature by feature: ``W`` has the shape (n_features + 1, n_classes), a single vector ``w`` the shape
(n_features + 1,), and the last entry is the intercept. The row's part in it is the constant feature behind the
intercept; see `Rows`.

Rows known only by their inner products, as in a kernel's feature space, have the matrix of these products as ``data``
and a ``base``: the score from which each row starts.

Sums run in one fixed order on every machine: a dense inner product in four interleaved partial sums, which are
independent of each other and so can be added at once without reordering anything.
"""

from typing import NamedTuple

import numpy as np

from pa_lab.compiled import COMPILED
from pa_lab.jit import njit

AT_ONCE = 2**24  # numbers that a compiled loop works through before Python is asked whether the user wants to stop


class Rows(NamedTuple):
    """Rows as the compiled passes take them; the compiler drops what is None.

    ``data, indices, indptr`` are those of a CSR matrix; a dense matrix is ``data`` alone. ``base`` of shape (n_rows,
    n_classes) marks ``data`` as inner products between the rows. ``norm_one`` is what the constant feature adds to a
    squared norm, ``step_one`` what it adds to the intercept per unit step: both 1 with an intercept, both 0 without.
    """

    data: np.ndarray
    indices: np.ndarray | None
    indptr: np.ndarray | None
    base: np.ndarray | None
    norm_one: float
    step_one: float


def make_rows(X, norm_one=0.0, step_one=None) -> Rows:
    """Return the rows of a C-contiguous float array or a CSR matrix.

    >>> make_rows(np.ones((2, 3)), 1.0)[1:]
    (None, None, None, 1.0, 1.0)
    """
    step_one = norm_one if step_one is None else step_one
    if hasattr(X, "indptr"):
        return Rows(X.data, X.indices, X.indptr, None, norm_one, step_one)
    return Rows(X, None, None, None, norm_one, step_one)


def make_gram_rows(gram, base, norm_one=0.0) -> Rows:
    """Return rows known by their inner products ``gram`` (n, n), and the scores ``base`` that they start from."""
    return Rows(gram, None, None, base, norm_one, norm_one)


def slices(rows, n, times=1, whole=1):
    """Cut ``n`` rows into slices for compiled loops, which cannot be interrupted, to take one after the other.

    A loop reads each number of a row ``times`` times over. Slices hold a multiple of ``whole`` rows, but for the last.
    Rows known by their inner products stay together.

    >>> rows = make_rows(np.ones((10, 2**22)))
    >>> slices(rows, 10), slices(rows, 10, whole=4)
    ([slice(0, 3, None), slice(3, 6, None), slice(6, 9, None), slice(9, 10, None)], \
[slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)])
    """
    if rows.base is not None:
        return [slice(0, n)]
    row = rows.data.size // max(1, len(rows.data) if rows.indptr is None else len(rows.indptr) - 1)
    step = max(1, AT_ONCE // ((row + 32) * times * whole)) * whole  # a row costs as much as 32 numbers besides
    return [slice(at, min(at + step, n)) for at in range(0, n, step)]


def take(rows, part) -> Rows:
    """Return a slice of dense or CSR rows, without a copy."""
    if rows.indptr is None:
        return rows._replace(data=rows.data[part])
    return rows._replace(indptr=rows.indptr[part.start : part.stop + 1])


@njit(**COMPILED, forceinline=True)
def dot(x, w, n):
    """Inner product of the first ``n`` numbers of two arrays, in double, summed in a fixed order.

    >>> dot(np.ones(5), np.ones(6), 5)
    5.0
    """
    whole = n - n % 4
    a = b = c = d = tail = 0.0
    for j in range(0, whole, 4):
        a += np.float64(x[j]) * np.float64(w[j])
        b += np.float64(x[j + 1]) * np.float64(w[j + 1])
        c += np.float64(x[j + 2]) * np.float64(w[j + 2])
        d += np.float64(x[j + 3]) * np.float64(w[j + 3])
    for j in range(whole, n):
        tail += np.float64(x[j]) * np.float64(w[j])
    return ((a + c) + (b + d)) + tail


@njit(**COMPILED, forceinline=True)
def score(data, indices, indptr, base, i, w):
    """``(x_i, 1) . w``."""
    if data.ndim == 2:
        total = dot(data[i], w, data.shape[1])
        if base is not None:
            total += base[i, 0]
    else:
        total = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[at]) * w[indices[at]]
    return total + w[w.shape[0] - 1]


@njit(**COMPILED)
def score_classes(data, indices, indptr, base, i, W, lanes):
    """Scores of row ``i`` for every class into ``lanes[4]``; the other four rows of ``lanes`` are for partial sums.

    >>> lanes = np.empty((5, 2)); score_classes(np.ones((1, 2)), None, None, None, 0, np.ones((3, 2)), lanes)
    >>> lanes[4].tolist()
    [3.0, 3.0]
    """
    n_classes, last = W.shape[1], W.shape[0] - 1
    lanes[:] = 0.0
    if data.ndim == 2:
        whole = data.shape[1] - data.shape[1] % 4
        for j in range(whole):
            x, lane = np.float64(data[i, j]), j % 4
            for k in range(n_classes):
                lanes[lane, k] += x * W[j, k]
        for j in range(whole, data.shape[1]):
            x = np.float64(data[i, j])
            for k in range(n_classes):
                lanes[4, k] += x * W[j, k]
        for k in range(n_classes):
            lanes[4, k] = ((lanes[0, k] + lanes[2, k]) + (lanes[1, k] + lanes[3, k])) + lanes[4, k]
            if base is not None:
                lanes[4, k] += base[i, k]
    else:
        for at in range(indptr[i], indptr[i + 1]):
            x, j = np.float64(data[at]), indices[at]
            for k in range(n_classes):
                lanes[4, k] += x * W[j, k]
    for k in range(n_classes):
        lanes[4, k] += W[last, k]


@njit(**COMPILED, forceinline=True)
def best_two(scores):
    """The best class, the second-best, and 0, or NaN if a score is not finite. Of equals the first is the better.

    >>> best_two(np.array([3.0, 1.0, 3.0]))
    (0, 2, 0.0)
    """
    first, finite = 0, 0.0
    for k in range(scores.shape[0]):
        finite += scores[k] - scores[k]
        if scores[k] > scores[first]:
            first = k
    second = 1 if first == 0 else 0
    for k in range(scores.shape[0]):
        if k != first and scores[k] > scores[second]:
            second = k
    return first, second, finite


@njit(**COMPILED, forceinline=True)
def squared_norm(data, indices, indptr, base, i, norm_one):
    """``||x_i||^2`` plus what the constant feature adds."""
    if data.ndim == 2:
        total = dot(data[i], data[i], data.shape[1]) if base is None else np.float64(data[i, i])
    else:
        total = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[at])
            total += value * value
    return total + norm_one


@njit(**COMPILED)
def is_zero(data, indptr, base, i):
    """Whether every entry of a row is 0; rows known by their inner products count as 0 where their norm does."""
    if base is not None:
        return True
    if data.ndim == 2:
        for j in range(data.shape[1]):
            if data[i, j] != 0.0:
                return False
    else:
        for at in range(indptr[i], indptr[i + 1]):
            if data[at] != 0.0:
                return False
    return True


@njit(**COMPILED, forceinline=True)
def product(data, indices, indptr, base, i, k, norm_one):
    """``x_i . x_k`` plus what the constant feature adds; CSR rows with sorted indices."""
    if data.ndim == 2:
        total = dot(data[i], data[k], data.shape[1]) if base is None else np.float64(data[i, k])
    else:
        total = 0.0
        at, to = indptr[i], indptr[k]
        while at < indptr[i + 1] and to < indptr[k + 1]:
            if indices[at] == indices[to]:
                total += np.float64(data[at]) * np.float64(data[to])
                at += 1
                to += 1
            elif indices[at] < indices[to]:
                at += 1
            else:
                to += 1
    return total + norm_one


@njit(**COMPILED, forceinline=True)
def add(data, indices, indptr, base, i, step_one, scale, w):
    """``w += scale * (x_i, step_one)``, in place."""
    if data.ndim == 2:
        if base is None:
            for j in range(data.shape[1]):
                w[j] += scale * np.float64(data[i, j])
        else:
            w[i] += scale
    else:
        for at in range(indptr[i], indptr[i + 1]):
            w[indices[at]] += scale * np.float64(data[at])
    w[w.shape[0] - 1] += scale * step_one
