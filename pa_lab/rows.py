"""What a learner does with one row of the data: score it, measure it, add it. Dense and CSR rows alike.

Weights lie feature by feature: ``W`` has the shape (n_features + 1, n_classes), a single vector ``w`` the shape
(n_features + 1,), and the last entry is the intercept. The row's part in it is the constant feature behind the
intercept: ``constant`` is what that adds to a squared norm, and to the intercept per unit step. It is 1 with an
intercept and 0 without.

Sums run in one fixed order on every machine: a dense inner product in four interleaved partial sums, which are
independent of each other and so can be added at once without reordering anything.
"""

from typing import NamedTuple

import numpy as np

from pa_lab.compiled import COMPILED, INLINED, INNER
from pa_lab.jit import method, njit

AT_ONCE = 2**24  # numbers that a compiled loop works through before Python is asked whether the user wants to stop


class DenseRows(NamedTuple):
    """The rows of a matrix ``data``."""

    data: np.ndarray
    constant: float

    def score(self, i, w):
        """``(x_i, 1) . w``."""
        return dot(self.data[i], w, self.data.shape[1]) + w[-1]

    def add_scores(self, i, W, lanes):
        """Add ``x_i . W`` to ``lanes[4]``; the other four rows of ``lanes`` are for partial sums."""
        dot_classes(self.data[i], W, lanes)

    def is_zero(self, i):
        """Whether every entry of a row is 0."""
        return not self.data[i].any()

    def product(self, i, k):
        """``x_i . x_k`` plus what the constant feature adds; with ``i = k`` a squared norm."""
        return dot(self.data[i], self.data[k], self.data.shape[1]) + self.constant

    def add(self, i, scale, w):
        """``w += scale * (x_i, constant)``, in place."""
        for j in range(self.data.shape[1]):
            w[j] += scale * np.float64(self.data[i, j])
        w[-1] += scale * self.constant


class SparseRows(NamedTuple):
    """The rows of a CSR matrix; for `product` the indices of each are sorted."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    constant: float

    def score(self, i, w):
        """As `DenseRows.score`."""
        total = 0.0
        for at in range(self.indptr[i], self.indptr[i + 1]):
            total += np.float64(self.data[at]) * w[self.indices[at]]
        return total + w[-1]

    def add_scores(self, i, W, lanes):
        """As `DenseRows.add_scores`."""
        for at in range(self.indptr[i], self.indptr[i + 1]):
            x, j = np.float64(self.data[at]), self.indices[at]
            for k in range(W.shape[1]):
                lanes[4, k] += x * W[j, k]

    def is_zero(self, i):
        """As `DenseRows.is_zero`."""
        return not self.data[self.indptr[i] : self.indptr[i + 1]].any()

    def product(self, i, k):
        """As `DenseRows.product`; a squared norm without a search for equal indices."""
        total, at, to = 0.0, self.indptr[i], self.indptr[k]
        if i == k:
            for each in range(at, self.indptr[i + 1]):
                total += np.float64(self.data[each]) * np.float64(self.data[each])
            return total + self.constant
        while at < self.indptr[i + 1] and to < self.indptr[k + 1]:
            j, l = self.indices[at], self.indices[to]
            if j == l:
                total += np.float64(self.data[at]) * np.float64(self.data[to])
            at += j <= l
            to += l <= j
        return total + self.constant

    def add(self, i, scale, w):
        """As `DenseRows.add`."""
        for at in range(self.indptr[i], self.indptr[i + 1]):
            w[self.indices[at]] += scale * np.float64(self.data[at])
        w[-1] += scale * self.constant


class GramRows(NamedTuple):
    """Rows known by their inner products ``data``, as in a kernel's feature space; scores begin with ``start``."""

    data: np.ndarray
    start: np.ndarray

    def score(self, i, w):
        """As `DenseRows.score`, from the start."""
        return dot(self.data[i], w, self.data.shape[1]) + self.start[i, 0] + w[-1]

    def add_scores(self, i, W, lanes):
        """As `DenseRows.add_scores`, from the start."""
        dot_classes(self.data[i], W, lanes)
        for k in range(W.shape[1]):
            lanes[4, k] += self.start[i, k]

    def is_zero(self, i):
        """Whether a row whose norm is 0 is: always."""
        return True

    def product(self, i, k):
        """As `DenseRows.product`."""
        return self.data[i, k]

    def add(self, i, scale, w):
        """``w += scale * e_i``, in place: weights belong to the rows."""
        w[i] += scale


score = method("score")
add_scores = method("add_scores")
is_zero = method("is_zero")
product = method("product")
add = method("add")


def make_rows(X, constant=0.0):
    """Return the rows of a C-contiguous float array or a CSR matrix.

    >>> make_rows(np.ones((2, 3)), 1.0)[1:]
    (1.0,)
    """
    if hasattr(X, "indptr"):
        return SparseRows(X.data, X.indices, X.indptr, constant)
    return DenseRows(X, constant)


def slices(rows, n, times=1, whole=1):
    """Cut ``n`` rows into parts for compiled loops, which cannot be interrupted, to take one after the other.

    A loop reads each number of a row ``times`` times over. Parts hold a multiple of ``whole`` rows, but for the last.

    >>> rows = make_rows(np.ones((10, 2**22)))
    >>> slices(rows, 10), slices(rows, 10, whole=4)
    ([(0, 3), (3, 6), (6, 9), (9, 10)], [(0, 4), (4, 8), (8, 10)])
    """
    row = rows.data.size // max(1, n) + 32  # a row costs as much as 32 numbers besides
    step = max(1, AT_ONCE // (row * times * whole)) * whole
    return [(at, min(at + step, n)) for at in range(0, n, step)]


@njit(**INNER, forceinline=True)
def dot(x, w, n):
    """Inner product of the first ``n`` numbers of two arrays, in double, summed in a fixed order."""
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


@njit(**INNER)
def dot_classes(x, W, lanes):
    """Add the inner products of a row with the columns of ``W`` to ``lanes[4]``, each summed as by `dot`."""
    n, n_classes = x.shape[0], W.shape[1]
    for j in range(n):
        value, lane = np.float64(x[j]), j % 4 if j < n - n % 4 else 4
        for k in range(n_classes):
            lanes[lane, k] += value * W[j, k]
    for k in range(n_classes):
        lanes[4, k] = ((lanes[0, k] + lanes[2, k]) + (lanes[1, k] + lanes[3, k])) + lanes[4, k]


@njit(**COMPILED)
def score_classes(rows, i, W, lanes):
    """Scores of row ``i`` for every class into ``lanes[4]``, see `DenseRows.add_scores`.

    >>> lanes = np.empty((5, 2)); score_classes(make_rows(np.ones((1, 2))), 0, np.ones((3, 2)), lanes)
    >>> lanes[4].tolist()
    [3.0, 3.0]
    """
    lanes[:] = 0.0
    add_scores(rows, i, W, lanes)
    for k in range(W.shape[1]):
        lanes[4, k] += W[-1, k]


@njit(**INLINED)
def best_two(scores):
    """The best class, the second-best, and 0, or NaN if a score is not finite. Of equals the first is the better.

    >>> best_two(np.array([3.0, 1.0, 3.0]))
    (0, 2, 0.0)
    """
    finite = 0.0
    for value in scores:
        finite += value - value
    first = best_but(scores, -1)
    return first, best_but(scores, first), finite


@njit(**INLINED)
def best_but(scores, left_out):
    """The best class but the one left out, -1 for none left out. Of equals the first is the better.

    >>> best_but(np.array([3.0, 1.0, 3.0]), 0)
    2
    """
    best = 1 if left_out == 0 else 0
    for k in range(scores.shape[0]):
        if k != left_out and scores[k] > scores[best]:
            best = k
    return best
