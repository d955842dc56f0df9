"""Kernel values and sums of kernel functions: the same bits on every processor, with any number of threads.

A score ``p = sum_j a_j k(x, s_j)`` is built up tile by tile. A tile holds ``TILE`` vectors feature by feature, so that
each of the loops below runs over the vectors of a tile, and the compiler turns it into vector instructions without
changing the order of any sum. The distances or inner products of one row with a tile, their kernel values and the
weighted sum all stay in the processor's first cache.

Three things make the digits independent of the processor. Every sum runs in an order that is written down here.
Where a product is added to a sum, `fma` says so: it rounds once, on every processor, and the compiler neither takes an
`fma` apart nor makes one of its own. And `exp` is ours, because those of libraries differ from one processor to
the next. Processors without the instruction for `fma`, made before 2013, give the same digits slowly.

Squared distances are sums of squared differences. The usual ``|x|^2 + |s|^2 - 2 x.s`` loses digits far from the origin
and would gain little time.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from pa_lab.compiled import COMPILED, INNER
from pa_lab.jit import lower_builtin, njit, overload, type_callable, types

DISTANCES = ("rbf", "laplacian")
KINDS = ("linear", "poly", *DISTANCES)
LINEAR, POLY, RBF, LAPLACIAN, GIVEN = range(5)
BLOCK = 256  # rows at a time
TILE = 128  # vectors at a time
UNROLL = 4  # features at a time; rows and vectors are filled up with zeros to a multiple of it
CHUNK = 32  # features at a time of a large matrix: this part of a tile stays in the cache for all rows
LINE = 64  # bytes to which tiles are aligned: a cache line, and the widest vector register
WORTH_A_THREAD = 2**18  # kernel values below which starting threads costs more than it brings


def fma(a, b, c):
    """``a b + c``, rounded once; three numbers of one type. Without compiler, which is for debugging, rounded twice.

    >>> fma(2.0, 3.0, 1.0)
    7.0
    """
    return a * b + c


type_callable(fma)(lambda context: lambda a, b, c: a)
lower_builtin(fma, *[types.Float] * 3)(lambda context, builder, signature, arguments: builder.fma(*arguments))


@njit(**INNER, forceinline=True)
def _series(r):
    """``e^r - 1`` for ``|r| <= ln(2) / 2``, with a polynomial fitted for the least relative error."""
    r2 = r * r
    r4 = r2 * r2
    low = fma(fma(0.008333333333389642, r, 0.04166666666657661), r2, fma(0.16666666666666588, r, 0.5000000000000006))
    middle = fma(
        fma(2.7557407604031324e-06, r, 2.4801505207823193e-05),
        r2,
        fma(0.00019841269718867932, r, 0.0013888888931616404),
    )
    high = fma(fma(2.505377850224472e-08, r, 2.762606549074335e-07), r4, middle)
    return fma(r2, fma(high, r4, low), r)


S2, S3, S4, S5, S6 = map(np.float32, (0.49999997, 0.16666543, 0.0416672, 0.008366534, 0.0013882517))


@njit(**INNER, forceinline=True)
def _series_single(r):
    """Single precision: as `_series`."""
    r2 = r * r
    return fma(r2, fma(r2, fma(r2, S6, fma(S5, r, S4)), fma(S3, r, S2)), r)


def _make_exp(real, whole, series, ln2_high, ln2_low, lowest):
    """Return exp for one type of numbers, made from the ``series`` of ``e^r - 1`` about 0.

    Adding ``magic`` rounds to the nearest integer k, which then stands in the lowest bits of the sum. ``ln2_high`` ends
    in zeros, so that k ln2_high is exact. ``lowest`` is the logarithm of the smallest normal number.
    """
    bits = np.finfo(real).nmant
    zero, one, log2_e, magic, ln2_high, ln2_low, lowest = map(
        real, (0.0, 1.0, 1.4426950408889634, 1.5 * 2.0**bits, ln2_high, ln2_low, lowest)
    )
    shift = whole(bits)

    @njit(error_model="numpy", forceinline=True)  # kept with what calls it
    def exp(x):
        """Split ``x = k ln 2 + r`` with ``|r| <= ln(2) / 2``, and add k to the exponent of ``e^r``."""
        shifted = fma(x, log2_e, magic)
        k = shifted - magic
        less_one = series(fma(k, -ln2_low, fma(k, -ln2_high, x)))
        exponent = real(shifted).view(whole) << shift
        scaled = whole(real(one + less_one).view(whole) + exponent).view(real)
        return zero if x < lowest else scaled

    return exp


_exp = _make_exp(np.float64, np.int64, _series, 0.6931471803691238, 1.9082149292705877e-10, -708.3964185322641)
_exp_single = _make_exp(np.float32, np.int32, _series_single, 0.693359375, -2.12194440e-4, -87.33654)


def exp(x):
    """Exponential of ``x <= 0``, a float64 or float32, within 1.1 units in the last place.

    It is 0 where the result is below the smallest normal number, and NaN for NaN.

    >>> exp(0.0), exp(-1.0), exp(-709.0), float(exp(np.float32(-1.0)))
    (1.0, 0.36787944117144233, 0.0, 0.3678794503211975)
    """
    return _exp_single(x) if isinstance(x, np.float32) else _exp(x)


overload(exp, jit_options={"forceinline": True, "error_model": "numpy"})(
    lambda x: (lambda x: _exp_single(x)) if x == types.float32 else (lambda x: _exp(x))
)


@njit(**INNER, forceinline=True)
def _add(products, squared, x, s, j, total):
    """Add ``UNROLL`` features of a row and vector ``j``: products, or squared or absolute distances, see `Formula`."""
    if products is not None:
        return fma(x[3], s[3, j], fma(x[2], s[2, j], fma(x[1], s[1, j], fma(x[0], s[0, j], total))))
    a, b, c, d = x[0] - s[0, j], x[1] - s[1, j], x[2] - s[2, j], x[3] - s[3, j]
    if squared is not None:
        return fma(d, d, fma(c, c, fma(b, b, fma(a, a, total))))
    return (((total + abs(a)) + abs(b)) + abs(c)) + abs(d)


@njit(**INNER, forceinline=True)
def _add_features(products, squared, x, y, s, f, k, l):
    """Add ``UNROLL`` features from ``f`` on of two rows with a tile: of ``x`` to ``k``, of ``y`` to ``l``."""
    x4 = x[f], x[f + 1], x[f + 2], x[f + 3]
    y4 = y[f], y[f + 1], y[f + 2], y[f + 3]
    s4 = s[f:]
    for j in range(TILE):
        k[j] = _add(products, squared, x4, s4, j, k[j])
        l[j] = _add(products, squared, y4, s4, j, l[j])


@njit(**INNER, forceinline=True)
def _transform(formula, products, k, base):
    """What a kernel makes of inner products or distances, in place; ``base`` is memory to write on."""
    if products is None:
        for j in range(TILE):
            k[j] = exp(-formula.gamma * k[j])
    elif formula.kind == POLY:
        for j in range(TILE):
            base[j] = fma(formula.gamma, k[j], formula.coef0)
            k[j] = 1.0
        for _ in range(formula.degree):
            for j in range(TILE):
                k[j] *= base[j]


@njit(**INNER, forceinline=True)
def _weigh(k, w, part):
    """``sum_j w_j k_j`` over a tile, in double precision, in one fixed order; ``part`` is memory to write on."""
    quarter = TILE // 4
    for j in range(quarter):
        low = fma(np.float64(k[j + quarter]), w[j + quarter], k[j] * w[j])
        high = fma(np.float64(k[j + 3 * quarter]), w[j + 3 * quarter], k[j + 2 * quarter] * w[j + 2 * quarter])
        part[j] = low + high
    for j in range(8):
        part[j] = (part[j] + part[j + 8]) + (part[j + 16] + part[j + 24])
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]))


class Formula(NamedTuple):
    """A kernel as the loops take it: one of inner ``products`` or, if that is None, of distances, ``squared`` or not.

    The compiler drops the others. With ``kind`` GIVEN the rows hold kernel values.
    """

    kind: int
    products: bool | None
    squared: bool | None
    gamma: float
    coef0: float
    degree: int


@njit(**COMPILED, nogil=True)
def over_tiles(formula, X, tiles, W, scores, K, work, part):
    """Kernel values of rows ``X`` with the vectors of ``tiles``: put into ``K``, and summed with weights.

    ``K`` has a column for each vector, and no rows if values are not kept. Each row of ``W`` holds the weights of one
    sum, with zeros up to whole tiles; the sums are added to ``scores``, of shape (rows of X, rows of W). ``work`` and
    ``part`` are memory to write on.
    """
    n, n_rows = K.shape[1], X.shape[0]
    for at in range(0, n, TILE):
        m = min(TILE, n - at)
        for i in range(n_rows):
            k = work[i % 2]
            if formula.kind == GIVEN:
                for j in range(m):
                    k[j] = X[i, at + j]
            elif i % 2 == 0:  # two rows at a time, of which the last may have no partner
                x, y, s, l = X[i], X[min(i + 1, n_rows - 1)], tiles[at // TILE], work[1]
                for j in range(TILE):
                    k[j] = l[j] = 0.0
                for f in range(0, X.shape[1], UNROLL):
                    _add_features(formula.products, formula.squared, x, y, s, f, k, l)
            _transform(formula, formula.products, k, work[2])
            k[m:] = 0.0  # the tile's empty places
            for c in range(W.shape[0]):
                scores[i, c] += _weigh(k, W[c, at : at + TILE], part)
            if K.shape[0] > 0:
                for j in range(m):
                    K[i, at + j] = k[j]


def share_out(work, X, n_values, threads):
    """Return what ``work`` makes of slices of rows, in as many threads if there are many kernel values to compute.

    Threads that end with the call that needs them leave nothing behind that a forked process could wait for.

    >>> share_out(len, np.zeros(300), 0, 1), share_out(len, np.zeros(300), WORTH_A_THREAD, 2)
    ([256, 44], [150, 150])
    """
    threads = threads if n_values >= WORTH_A_THREAD else 1
    step = max(1, min(BLOCK, -(-X.shape[0] // threads)))
    parts = [X[at : at + step] for at in range(0, max(X.shape[0], 1), step)]
    if threads == 1:
        return list(map(work, parts))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))


@njit(**COMPILED, nogil=True)
def multiply_tiles(X, tiles, lower, upper, out):
    """Inner products of rows ``X`` with the vectors in ``tiles``, added to ``out`` of as many columns as tiles hold.

    The number of rows is even, as they are taken by two. If the vectors are the rows of a ``lower`` (or ``upper``)
    triangular matrix, the features that are 0 in a whole tile are left out.
    """
    for t in range(tiles.shape[0]):
        # Row r of an upper triangle begins at feature r, row r of a lower one ends there.
        start = t * TILE if upper else 0
        stop = min((t + 1) * TILE, X.shape[1]) if lower else X.shape[1]
        for part in range(start, stop, CHUNK):
            for i in range(0, X.shape[0], 2):
                k, l = out[i, t * TILE :], out[i + 1, t * TILE :]
                for f in range(part, min(part + CHUNK, stop), UNROLL):
                    _add_features(True, None, X[i], X[i + 1], tiles[t], f, k, l)  # products, no distances


class Factor:
    """A matrix to multiply many rows by, in a fixed order of sums; it may be lower or upper triangular.

    >>> Factor(np.array([[1.0, 0.0], [2.0, 3.0]]), lower=True).times(np.array([[1.0, 1.0]])).tolist()
    [[1.0, 5.0]]
    """

    def __init__(self, matrix, lower=False, upper=False):
        self.shape, self.lower, self.upper = matrix.shape, lower, upper
        self.tiles = zeros((-(-len(matrix) // TILE), pad(self.shape[1]), TILE), matrix.dtype)
        for t, tile in enumerate(self.tiles):
            part = matrix[t * TILE : (t + 1) * TILE]
            tile[: self.shape[1], : len(part)] = part.T

    def times(self, X, threads=1):
        """Return the inner products of each row of ``X`` with each row of the matrix."""

        def work(part):
            even = len(part) + len(part) % 2
            widths = self.tiles.shape[1], TILE * len(self.tiles)
            X, out = (zeros((even, width), self.tiles.dtype) for width in widths)
            X[: len(part), : self.shape[1]] = part
            multiply_tiles(X, self.tiles, self.lower, self.upper, out)
            return out[: len(part), : self.shape[0]]

        return np.concatenate(share_out(work, X, len(X) * math.prod(self.shape) // 64, threads))


def zeros(shape, dtype):
    """Zeros that begin at a cache line."""
    dtype, size = np.dtype(dtype), math.prod(shape)
    room = np.zeros(size + LINE // dtype.itemsize, dtype)
    start = -room.ctypes.data % LINE // dtype.itemsize
    return room[start : start + size].reshape(shape)


def with_room(A, n):
    """Return ``A`` with at least ``n`` rows, new ones 0; room grows by a quarter, so that appending is cheap."""
    if n <= len(A):
        return A
    out = zeros((max(n, len(A) + len(A) // 4), *A.shape[1:]), A.dtype)
    out[: len(A)] = A
    return out


class Vectors:
    """The vectors of a sum of kernel functions, made of dense ``rows``, and their numbers in the stream, ``ids``.

    ``n`` vectors lie in ``tiles``, memory of their own, feature by feature. Room grows by a quarter.

    Examples
    --------
    >>> vectors = Vectors(np.ones((2, 3)), np.array([7, 9]), np.float64)
    >>> vectors.n, vectors.ids.tolist(), vectors.rows().shape, vectors.tiles.shape
    (2, [7, 9], (2, 3), (1, 4, 128))
    """

    def __init__(self, rows, ids, dtype):
        self.n_features, self.n = rows.shape[1], 0
        self.tiles, self._ids = zeros((0, pad(rows.shape[1]), TILE), dtype), np.empty(0, np.int64)
        self.put(np.arange(len(rows)), rows, ids)

    @property
    def ids(self):
        """Numbers of the vectors in the stream, an array of shape (n,)."""
        return self._ids[: self.n]

    def __reduce__(self):
        """Pickle and copy the rows only, which are put in aligned memory again."""
        return Vectors, (self.rows(), self.ids, self.tiles.dtype)

    def put(self, places, rows, ids):
        """Put dense rows with their numbers in these places, new ones or ones in use."""
        self.n = max(self.n, int(places.max(initial=-1)) + 1)
        self.tiles, self._ids = with_room(self.tiles, -(-self.n // TILE)), with_room(self._ids, self.n)
        self._ids[places] = ids
        tile, j = np.divmod(places, TILE)
        self.tiles[tile, : self.n_features, j] = rows

    def rows(self):
        """Return a copy of the vectors, row by row: an array of shape (n, n_features)."""
        tile, j = np.divmod(np.arange(self.n), TILE)
        return np.ascontiguousarray(self.tiles[tile, : self.n_features, j])


def pad(n_features):
    """Return the number of features once zeros fill them up to a multiple of ``UNROLL``."""
    return -(-n_features // UNROLL) * UNROLL


class Kernel:
    """Kernel values of rows with vectors, and weighted sums of them.

    Rows are dense or sparse and may lie anywhere: they are copied block by block.

    ``kind`` is one of ``KINDS``, "precomputed" (a row holds its values with all rows of the stream, by their numbers)
    or a callable of two arrays of rows, as for scikit-learn's SVC; ``gamma``, ``degree`` and ``coef0`` are
    scikit-learn's. Values are computed in ``dtype``, sums of them in double.

    Examples
    --------
    >>> rbf, X = Kernel("rbf", 0.5, 3, 0.0, np.float64), np.array([[0.0], [2.0]])
    >>> vectors = Vectors(X[:1], np.array([0]), np.float64)
    >>> rbf.values(X, vectors).round(3).tolist(), rbf.scores(X, vectors, np.array([[2.0]])).round(3).tolist()
    ([[1.0], [0.135]], [[2.0], [0.271]])
    """

    def __init__(self, kind, gamma, degree, coef0, dtype):
        self.kind, self.dtype = kind, np.dtype(dtype)
        number = KINDS.index(kind) if kind in KINDS else GIVEN
        products, squared = None if kind in DISTANCES else True, True if kind == "rbf" else None
        self.formula = Formula(number, products, squared, self.dtype.type(gamma), self.dtype.type(coef0), degree)

    def is_single(self, X):
        """Say whether kernel values of the rows ``X`` carry no more than single precision, whatever their dtype.

        >>> [Kernel("rbf", 1.0, 3, 0.0, dtype).is_single(None) for dtype in (np.float32, np.float64)]
        [True, False]
        """
        if self.kind == "precomputed":
            return np.array_equal(X, X.astype(np.float32))
        if callable(self.kind):
            row = dense(X[:1], X.shape[1], self.dtype)
            return np.asarray(self.kind(row, row)).dtype == np.float32
        return self.dtype == np.float32

    def gram(self, X, ids, threads=1):
        """Return the kernel values of rows with each other, doubles whatever the dtype; ``ids`` are their numbers."""
        K = self.values(X, Vectors(X, ids, self.dtype), threads).astype(np.float64, copy=False)
        if callable(self.kind):
            refuse_asymmetric(K, "kernel must be symmetric; the matrix of its values")
        least = K.diagonal().min()
        if least < 0:
            raise ValueError(f"k(x, x) = {least:.3g} is negative for a row of X: a squared norm is not.")
        return K

    def values(self, X, vectors, threads=1):
        """Return ``k(x, s)`` for all rows and vectors, an array of shape (n_rows, n_vectors) in the kernel's dtype."""
        return self.compute(X, vectors, np.empty((vectors.n, 0)), True, threads)[1]

    def scores(self, X, vectors, W, threads=1):
        """Return ``sum_j W[j] k(x, s_j)`` for all rows, an array of doubles of shape (n_rows, columns of ``W``)."""
        return self.compute(X, vectors, W, False, threads)[0]

    def compute(self, X, vectors, W, keep, threads=1):
        """Return the scores and, with ``keep``, the kernel values; rows are shared out to threads in slices."""
        weights = zeros((W.shape[1], -(-vectors.n // TILE) * TILE), np.float64)
        weights[:, : vectors.n] = W.T

        def work(X):  # calls share nothing that is written to
            scores, K = np.zeros((X.shape[0], len(weights))), np.empty((X.shape[0] * keep, vectors.n), self.dtype)
            if X.shape[0] > 0 and vectors.n > 0:
                X = (
                    self._given_values(X, vectors)
                    if self.formula.kind == GIVEN
                    else dense(X, pad(X.shape[1]), self.dtype)
                )
                memory = zeros((3, TILE), self.dtype), zeros((TILE // 4,), np.float64)
                over_tiles(self.formula, X, vectors.tiles, weights, scores, K, *memory)
            return scores, K

        n_values = 0 if callable(self.kind) else X.shape[0] * vectors.n
        scores, K = zip(*share_out(work, X, n_values, threads), strict=True)
        return np.concatenate(scores), np.concatenate(K)

    def _given_values(self, X, vectors):
        """Return the values that stand in the rows, or that a callable gives."""
        X = dense(X, X.shape[1], self.dtype)
        if self.kind == "precomputed":
            return np.ascontiguousarray(X[:, vectors.ids])
        values = np.asarray(self.kind(X, vectors.rows()))
        if values.shape != (len(X), vectors.n) or values.dtype.kind not in "biuf":
            raise ValueError(f"kernel must return an array of real numbers of shape {(len(X), vectors.n)}; got "
                             f"{values.shape} of {values.dtype}.")  # fmt: skip
        return np.ascontiguousarray(values, self.dtype)


def refuse_asymmetric(K, words):
    """Raise, with the words in front, if a matrix is not symmetric up to rounding."""
    gap = abs(K - K.T).max(initial=0.0)
    if gap > 1e-5 * abs(K).max(initial=0.0):
        raise ValueError(f"{words} and its transpose differ by {gap}.")


def dense(X, width, dtype):
    """Return a copy of dense or sparse rows in aligned memory, with features of value 0 to fill them up."""
    out = zeros((X.shape[0], width), dtype)
    out[:, : X.shape[1]] = X.toarray() if hasattr(X, "indptr") else X
    return out
