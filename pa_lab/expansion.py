"""Kernels, and two ways to hold a weighted sum of kernel functions ``f(x) = sum_j a_j k(x, s_j)``.

Growing: every update adds a vector, exactly as the algorithm says. Landmarks: the sum runs over a fixed set. A third,
within a budget, is in `pa_lab.budget`.

The stream is worked off in blocks. The scores of a block under the vectors held so far are one matrix product, one
vectorised function of it and a second product; the block's examples then pass one by one through the linear learner's
own loop, as rows known by their inner products (`pa_lab.rows`).

Glossary: ``K`` kernel values; ``W`` coefficients, a row per class (one row for two classes); ``drift`` what lazy
averaging needs; ``left`` and ``right`` rows prepared to be a kernel's first or second argument.
"""

import copy
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs, lapack, solve_triangular
from scipy.spatial.distance import cdist

from pa_lab.passes import IN_ORDER, State, run
from pa_lab.queries import Asking
from pa_lab.rows import make_gram_rows
from pa_lab.rules import Rule

KERNELS = ("linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed")
BLOCK, TILE = 128, 256  # examples at a time, and vectors at a time: a tile of kernel values stays in the cache


class Kernel:
    """Kernel values of whole blocks: an inner product of prepared rows, then one function of it, in place.

    Parameters
    ----------
    kind : str in ``KERNELS`` or callable
        A callable takes two arrays of rows and returns the matrix of values, as for scikit-learn's SVC.
    gamma, degree, coef0
        As in scikit-learn.
    origin : ndarray of shape (n_features,)
        A row of the data, whose dtype is the one computed in. RBF values do not change when it is subtracted from
        all rows, but their rounding does: ``|x|^2 + |s|^2 - 2 x.s`` is bad far from 0.

    Examples
    --------
    >>> rbf = Kernel("rbf", 0.5, 3, 0.0, np.zeros(1))
    >>> x = np.array([[0.0], [2.0]])
    >>> rbf(rbf.left(x), rbf.right(x)).round(3).tolist()
    [[1.0, 0.135], [0.135, 1.0]]
    """

    def __init__(self, kind, gamma, degree, coef0, origin):
        self.kind, self.gamma, self.degree, self.coef0, self.origin = kind, gamma, degree, coef0, origin

    def left(self, X):
        """Rows as first argument. RBF: ``(2 gamma x, -gamma |x|^2, 1)``, so that one product gives the exponent."""
        if self.kind == "rbf":
            x = X - self.origin
            return self._joined(2 * self.gamma * x, -self.gamma * _squared_norms(x), 1.0)
        if self.kind in ("poly", "sigmoid"):
            return self._joined(self.gamma * X, self.coef0)
        return X

    def right(self, X, ids=None):
        """Rows as second argument. RBF: ``(s, 1, -gamma |s|^2)``; precomputed: their numbers."""
        if self.kind == "precomputed":
            return ids
        if self.kind == "rbf":
            s = X - self.origin
            return self._joined(s, 1.0, -self.gamma * _squared_norms(s))
        return self._joined(X, 1.0) if self.kind in ("poly", "sigmoid") else X

    def _joined(self, X, *columns):
        out = np.empty((len(X), X.shape[1] + len(columns)), self.origin.dtype)
        out[:, : X.shape[1]] = X
        for j, column in enumerate(columns, X.shape[1]):
            out[:, j] = column
        return out

    def __call__(self, left, right):
        """``k(x, s)`` for all pairs."""
        if callable(self.kind):
            K = np.asarray(self.kind(left, right), self.origin.dtype)
            if K.shape != (len(left), len(right)):
                raise ValueError(f"kernel must return an array of shape {(len(left), len(right))}; got {K.shape}.")
            return K
        if self.kind == "precomputed":
            return left[:, right]
        if self.kind == "laplacian":
            K = (-self.gamma * cdist(left, right, "cityblock")).astype(self.origin.dtype, copy=False)
        else:
            K = left @ right.T
        if self.kind in ("rbf", "laplacian"):
            np.exp(K, out=K)
        elif self.kind == "sigmoid":
            np.tanh(K, out=K)
        elif self.kind == "poly":
            base = K.copy()
            K[:] = 1.0
            for _ in range(self.degree):
                K *= base
        return K

    def gram(self, left, right):
        """Values of a block with itself, as the loops want them."""
        K = np.ascontiguousarray(self(left, right))
        if (np.diag(K) < 0).any():
            raise ValueError(f"k(x, x) = {np.diag(K).min():.3g} is negative for a row of X: a squared norm is not.")
        return K

    def scores(self, left, right, W):
        """``W`` times the kernel values of ``right`` with ``left``, in tiles: an array (n_classes, n_rows)."""
        out = np.zeros((len(W), len(left)))
        for at in range(0, len(right), TILE):
            K = self(left, right[at : at + TILE])
            out += W[:, at : at + TILE].astype(K.dtype, copy=False) @ K.T
        return out


class Block(NamedTuple):
    """The next rows of the stream, and how to learn from them: see `pa_lab.passes.run`; ``ids`` number the rows."""

    X: np.ndarray
    ids: np.ndarray
    y: np.ndarray
    C: np.ndarray
    rule: Rule
    asking: Asking
    counts: np.ndarray
    trace: np.ndarray
    batch_size: int
    one_vs_rest: bool


class Expansion:
    """What the ways to hold a sum share: ``W`` and ``drift`` on ``n`` vectors, ``rows``, whose numbers are ``ids``."""

    changes = ("W", "drift")  # what `learn` changes in place

    def copy(self):
        """A copy that can learn on without touching this one."""
        new = copy.copy(self)
        vars(new).update({name: getattr(self, name).copy() for name in self.changes})
        return new

    def last(self):
        """The last coefficients."""
        return self.W[:, : self.n]

    def coefficients(self, n_seen):
        """Coefficients to predict with: the last, or the mean over the stream."""
        return (self.W - self.drift / max(n_seen, 1))[:, : self.n] if len(self.drift) else self.last()

    def _loop(self, gram, base, block):
        """Run the linear pass over rows known by their inner products: changes of `W` and `drift`, by row."""
        move = np.zeros((len(block.y) + 1, len(self.W)))
        drift = np.zeros_like(move) if len(self.drift) else move[:, :0]
        rows, state = make_gram_rows(gram, np.ascontiguousarray(base.T)), State(move, drift, block.counts)
        size, loss = run(rows, block.y, IN_ORDER, block.C, block.rule, block.asking, state, block.trace,
                        block.batch_size, block.one_vs_rest)  # fmt: skip
        return move[:-1].T, drift[:-1].T, size, loss


class Growing(Expansion):
    """The exact expansion: every example that moved the hypothesis is kept.

    ``n`` vectors: ``rows`` as they came, ``right`` the same prepared, ``ids`` their numbers in the stream, ``slots``
    where each number stands.
    """

    changes = ("W", "drift", "slots")

    def __init__(self, kernel, n_rows, rows, average):
        self.kernel, self.n, self.ids, self.slots = kernel, 0, np.empty(0, np.int64), {}
        self.rows, self.right = rows[:0], kernel.right(rows[:0], self.ids)
        self.W = np.zeros((n_rows, 0))
        self.drift = np.zeros((n_rows, 0)) if average else np.empty((0, 0))

    def learn(self, block):
        """Pass a block through the loop and keep the examples that moved the hypothesis."""
        X, ids = block.X, block.ids
        left, right = self.kernel.left(X), self.kernel.right(X, ids)
        base = self.kernel.scores(left, self.right[: self.n], self.last())
        move, drift, size, loss = self._loop(self.kernel.gram(left, right), base, block)
        moved = np.flatnonzero(move.any(axis=0))
        at = np.array([self.slots.get(j, -1) for j in ids[moved].tolist()], np.int64)
        new = at < 0
        at[new] = self.n + np.arange(new.sum())
        self.add(X[moved[new]], right[moved[new]], ids[moved[new]])
        self.W[:, at] += move[:, moved]
        if len(self.drift):
            self.drift[:, at] += drift[:, moved]
        return size, loss

    def add(self, rows, right, ids):
        """Append vectors with coefficient 0."""
        end = self.n + len(ids)
        for name, new in (("rows", rows), ("right", right), ("ids", ids)):
            setattr(self, name, _room(getattr(self, name), end))
            getattr(self, name)[self.n : end] = new
        self.W, self.drift = (np.ascontiguousarray(_room(A.T, end).T) for A in (self.W, self.drift))
        self.slots.update(zip(ids.tolist(), range(self.n, end), strict=True))
        self.n = end


class Landmarks(Expansion):
    """A hypothesis in the span of fixed landmarks, ``f(x) = W k(x)`` with ``k(x)`` the row of kernel values.

    The passive-aggressive step in that span is taken along ``z = K^-1 k(x)``, whose squared norm is ``k'z``. With
    ``norm="euclidean"`` it is taken along ``z = k(x)``. Landmarks that the others span (to the rounding of the dtype)
    are left out, so ``K`` is regular.
    """

    def __init__(self, kernel, n_rows, rows, ids, average, norm):
        keep, self.inverse = np.arange(len(rows)), None
        if norm == "kernel":
            K = np.asarray(kernel(kernel.left(rows), kernel.right(rows, ids)), np.float64)
            factor, keep = pivoted_cholesky(K, len(K) * np.finfo(kernel.origin.dtype).eps)
            inverse = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)
            self.inverse = np.asfortranarray(inverse, kernel.origin.dtype)
        self.kernel, self.n, self.rows, self.ids = kernel, len(keep), rows[keep], ids[keep]
        self.right = kernel.right(self.rows, self.ids)
        self.W = np.zeros((n_rows, self.n))
        self.drift = np.zeros_like(self.W) if average else self.W[:0]

    def learn(self, block):
        """Pass a block through the loop, anew until no row moves whose direction ``z`` was not known.

        Directions cost far more than all the rest, and most rows never move. A row whose direction is not known has a
        norm of 1 and no effect on other rows, so it shows that it wants to move, and no more. A batch needs them all.
        """
        k = self.kernel(self.kernel.left(block.X), self.right)
        base = np.asarray(self.W.astype(k.dtype, copy=False) @ k.T, np.float64)
        gram, Z, known = np.eye(len(k)), np.zeros_like(k), np.zeros(len(k), bool)
        wanted, before = np.full(len(k), block.batch_size > 1), block.counts.copy()
        while True:
            new = np.flatnonzero(wanted & ~known)
            known[new] = True
            Z[new] = z = self._directions(k[new])
            gram[:, new] = k @ z.T
            gram[new] = gram[:, new].T
            block.counts[:] = before
            move, drift, size, loss = self._loop(gram, base, block)
            wanted = move.any(axis=0)
            if not (wanted & ~known).any() or not np.isfinite(size):
                break
        self.W += move @ Z
        self.drift += drift @ Z
        return size, loss

    def _directions(self, k):
        """Rows ``z`` for rows ``k``: with ``K = L L'`` they are ``L'^-1 L^-1 k``."""
        if self.inverse is None:
            return k
        multiply = get_blas_funcs("trmm", (self.inverse,))
        return multiply(1.0, self.inverse, multiply(1.0, self.inverse, k.T, lower=1), lower=1, trans_a=1).T


def pivoted_cholesky(K, tolerance):
    """Lower factor of the part of ``K`` that is regular to a relative tolerance, and the rows that make it up.

    >>> factor, keep = pivoted_cholesky(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 4.0]]), 1e-10)
    >>> factor.tolist(), keep.tolist()[0]
    ([[2.0, 0.0], [0.0, 1.0]], 2)
    """
    factor, pivots, rank, _ = lapack.dpstrf(K, lower=1, tol=tolerance * np.diag(K).max(initial=0.0))
    return np.tril(factor[:rank, :rank]), pivots[:rank] - 1


def _squared_norms(X):
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def _room(A, end):
    """``A`` with space for ``end`` rows at least, the new ones 0; doubles, so that appending is cheap on average."""
    if end <= len(A):
        return A
    out = np.zeros((max(end, 2 * len(A)), *A.shape[1:]), A.dtype)
    out[: len(A)] = A
    return out
