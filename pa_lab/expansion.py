"""Two ways to hold a weighted sum of kernel functions ``f(x) = sum_j W[j] k(x, s_j)`` and to learn its weights.

`Growing` does exactly what the algorithm says: every example that moves the hypothesis becomes a vector of the sum.
`Landmarks` keeps the hypothesis in the span of fixed vectors. A third, within a budget, is in `pa_lab.budget`.

The stream is worked off in blocks. The scores of a block under the vectors held so far are computed at once, see
`pa_lab.kernels`. Its examples then go one by one through the linear learner's own pass, as rows known by their inner
products, which here are kernel values (`pa_lab.rows`).
"""

import copy
from typing import NamedTuple

import numpy as np

from pa_lab.calls import twin_of
from pa_lab.compiled import COMPILED
from pa_lab.jit import njit
from pa_lab.kernels import Factor, Vectors, with_room
from pa_lab.passes import NO_FADING, Examples, State, Way, mean, room, run, shrink, widen
from pa_lab.queries import N_AVERAGED
from pa_lab.rows import GramRows, dot


class Block(NamedTuple):
    """The next rows of the stream and how to learn from them; see `pa_lab.passes.run`.

    ``X`` holds dense rows, ``ids`` their numbers in the stream.
    """

    X: np.ndarray
    ids: np.ndarray
    examples: Examples
    way: Way
    counts: np.ndarray
    threads: int = 1


class Expansion:
    """A sum of kernel functions: its ``vectors``, at first ``rows``, and a weight for each vector and output.

    Attributes
    ----------
    vectors : `pa_lab.kernels.Vectors`
    W : ndarray of shape (at least n_vectors, n_outputs)
        The last weights; rows beyond the vectors are spare.
    drift : ndarray of the same shape, or without columns
        What the mean of the weights needs, see `mean`.
    fading : tuple of two floats
        How fast the mean forgets; made from None there is no mean.
    first, places : int, ndarray
        While it learns: the number of this call's first row in the stream, and where its rows stand among the vectors,
        -1 for those that do not. Rows of earlier calls never come again.
    """

    def __init__(self, kernel, rows, ids, n_outputs, fading):
        self.kernel, self.vectors, self.fading = kernel, Vectors(rows, ids, kernel.dtype), fading or NO_FADING
        self.W = np.zeros((len(rows), n_outputs))
        self.drift = np.zeros((len(rows), 0 if fading is None else n_outputs))

    @property
    def last(self):
        """The last weights, an array of shape (n_vectors, n_outputs)."""
        return self.W[: self.vectors.n]

    def mean(self, counts):
        """Return the weights to predict with: the last or, with averaging, their mean after each example."""
        return mean(self.last, self.drift[: self.vectors.n], counts, self.fading)

    def make_room(self, counts, n):
        """Let ``n`` more examples count in the mean."""
        if counts[N_AVERAGED] + n > room(self.fading):
            shrink(self.drift, counts, self.fading, room(self.fading))

    def fork(self, first, n_rows):
        """Return a model that learns from ``n_rows`` rows, from number ``first`` on, and leaves this one as it is.

        The two share vectors, which are only added to, by one of them.
        """
        new = copy.copy(self)
        new.vectors, new.W, new.drift = twin_of(self.vectors), self.W.copy(), self.drift.copy()
        new.first, new.places = first, np.full(n_rows, -1, np.int32)
        return new

    def widened(self, places, n, half):
        """Return a model of more classes, with the same vectors; see `pa_lab.passes.widen`."""
        new = copy.copy(self)
        new.W, new.drift = (widen(array, places, n, half) for array in (self.W, self.drift))
        return new

    def _run(self, gram, start, block):
        """Run the linear pass over rows known by their inner products.

        Returns the changes of `W` and `drift`, a row for each example, and what `pa_lab.passes.run` returns.
        """
        move = np.zeros((len(block.ids) + 1, self.W.shape[1]))
        drift = np.zeros((len(move), self.drift.shape[1]))
        sums = run(GramRows(gram, start), block.examples, block.way, State(move, drift, block.counts, self.fading))
        return move[:-1], drift[:-1], sums


class Growing(Expansion):
    """The exact expansion: every example that moved the hypothesis is kept."""

    def learn(self, block):
        """Pass a block through the learner and keep the examples that moved the hypothesis."""
        start = self.kernel.scores(block.X, self.vectors, self.last, block.threads)
        move, drift, sums = self._run(self.kernel.gram(block.X, block.ids, block.threads), start, block)
        moved = np.flatnonzero(move.any(axis=1))
        rows = block.ids[moved] - self.first
        new = self.places[rows] < 0
        self.places[rows[new]] = places = self.vectors.n + np.arange(np.count_nonzero(new))
        self.vectors.put(places, block.X[moved[new]], block.ids[moved[new]])
        self.W, self.drift = with_room(self.W, self.vectors.n), with_room(self.drift, self.vectors.n)
        self.W[self.places[rows]] += move[moved]
        self.drift[self.places[rows]] += drift[moved]
        return sums


class Landmarks(Expansion):
    """A hypothesis in the span of fixed landmarks, ``f(x) = k(x)' W`` with ``k(x)`` the row of kernel values.

    The passive-aggressive step in that span is taken along ``z = K^-1 k(x)``, whose squared norm is ``k'z``. With
    ``norm="euclidean"`` it is taken along ``z = k(x)``. Landmarks that the others span (to the rounding of the dtype)
    are left out, so ``K`` is regular.
    """

    def __init__(self, kernel, rows, ids, n_outputs, fading, norm):
        keep, self.inverse = np.arange(len(rows)), ()
        if norm == "kernel":
            inverse, keep = invert_factor(kernel.gram(rows, ids), len(rows) * np.finfo(kernel.dtype).eps)
            inverse = inverse.astype(kernel.dtype, copy=False)
            self.inverse = Factor(inverse, lower=True), Factor(inverse.T, upper=True)
        super().__init__(kernel, rows[keep], ids[keep], n_outputs, fading)

    def learn(self, block):
        """Pass a block through the learner, again until no row moves whose direction ``z`` was not known.

        Directions cost far more than all the rest, and most rows never move. A row whose direction is not known shows
        that it wants to move, and no more. Until then it has a norm of 1 and no effect on other rows or, with many
        landmarks, the inner products of kernel values: their span all but reproduces these, so that hardly a direction
        is made in vain. A batch needs them all.
        """
        start, k = self.kernel.compute(block.X, self.vectors, self.W, True, block.threads)
        values, Z, known = Factor(k), np.zeros_like(k), np.zeros(len(k), bool)
        few = not self.inverse or k.shape[1] < len(k)
        gram = np.eye(len(k)) if few else self.kernel.gram(block.X, block.ids, block.threads)
        new = np.arange(len(k) if block.way.batch_size > 1 else 0)
        changed = [(array, array.copy()) for array in (block.counts, block.way.asking.memory) if array is not None]
        while True:
            known[new] = True
            z = k[new]
            for factor in self.inverse:  # with K = L L', z = L'^-1 L^-1 k
                z = factor.times(z, block.threads)
            Z[new] = z
            gram[new] = values.times(z, block.threads)
            gram[:, new] = gram[new].T
            for array, before in changed:
                array[:] = before
            move, drift, sums = self._run(gram, start, block)
            new = np.flatnonzero(move.any(axis=1) & ~known)
            if not len(new):
                break
        self.W += multiply_transposed(move, Z).T
        self.drift += multiply_transposed(drift, Z).T
        return sums


def invert_factor(K, tolerance):
    """Return the inverse of a lower factor of the part of ``K`` that is regular, and the rows of that part.

    The part is regular to a relative tolerance. The sums run in a fixed order, so the digits are the same on every
    processor.
    """
    L, inverse, rows, left = np.zeros(K.shape), np.zeros(K.shape), np.arange(len(K)), K.diagonal().copy()
    rank = _invert_factor(K, L, inverse, rows, left, tolerance * left.max(initial=0.0))
    return np.ascontiguousarray(inverse[:rank, :rank]), rows[:rank]


@njit(**COMPILED)
def _invert_factor(K, L, inverse, rows, left, least):
    """Fill in the columns of the factor, the pivots first in ``rows``, and the inverse of its regular part.

    ``left`` is the part of the diagonal that the columns so far do not explain. Returns how many pivots exceed
    ``least``.
    """
    rank = len(K)
    for m in range(len(K)):
        pivot = m
        for i in range(m, len(K)):
            if left[rows[i]] > left[rows[pivot]]:
                pivot = i
        p = rows[pivot]
        if not left[p] > least:
            rank = m
            break
        rows[m], rows[pivot] = p, rows[m]
        L[p, m] = np.sqrt(left[p])
        for i in range(m + 1, len(K)):
            q = rows[i]
            L[q, m] = (K[q, p] - dot(L[q], L[p], m)) / L[p, m]
            left[q] -= L[q, m] * L[q, m]
    for m in range(rank):
        row = L[rows[m]]
        for k in range(m):
            for j in range(k + 1):
                inverse[m, j] -= row[k] * inverse[k, j]
        for j in range(m):
            inverse[m, j] /= row[m]
        inverse[m, m] = 1.0 / row[m]
    return rank


def multiply_transposed(A, B):
    """Return ``A' B``, summed row after row."""
    out = np.zeros((A.shape[1], B.shape[1]))
    _add_transposed(A, B, out)
    return out


@njit(**COMPILED)
def _add_transposed(A, B, out):
    """Add ``A' B``, row after row."""
    for k in range(A.shape[0]):
        for i in range(A.shape[1]):
            if A[k, i] != 0.0:
                for j in range(B.shape[1]):
                    out[i, j] += A[k, i] * B[k, j]
