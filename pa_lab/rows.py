"""What a learner does with one row of the data: score it, measure it, add it. Dense and CSR rows alike.

A row ``(x_i, one)`` ends in the constant feature behind the intercept: ``one`` is 1.0, or 0.0 without an intercept.

A matrix travels as three arguments ``data, indices, indptr``, as in CSR; for a dense one ``data`` is the 2-D array
and the other two are None. The compiler knows ``data.ndim`` and drops the branch not taken.

Rows known only by their inner products travel as ``gram, None, base``: row ``i`` stands for a vector whose products
with the other rows are ``gram[i]``, ``W`` holds a coefficient per row, and a score starts from ``base[k, i]``.

Sums run in one fixed order on every machine: a dense product in ``LANES`` interleaved partial sums, which are as
many as a vector register holds, so the processor adds them at once without reordering anything.
"""

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

LANES = 4


def as_rows(X):
    """Split a float array or CSR matrix into ``(data, indices, indptr)``.

    >>> as_rows(np.ones((2, 3)))[1:]
    (None, None)
    """
    if hasattr(X, "indptr"):
        return X.data, X.indices, X.indptr
    return X, None, None


def _dot_python(A, i, B, k):
    """``A[i] . B[k]`` of two C-contiguous 2-D float arrays, summed in double in a fixed order.

    What the compiled ``dot`` must give to the last bit, and its stand-in without compiler.

    >>> _dot_python(np.ones((1, 5)), 0, np.ones((1, 5)), 0)
    5.0
    """
    n = A.shape[1]
    whole = n - n % LANES
    lanes = [0.0] * LANES
    for j in range(whole):
        lanes[j % LANES] += float(A[i, j]) * float(B[k, j])
    tail = 0.0
    for j in range(whole, n):
        tail += float(A[i, j]) * float(B[k, j])
    return ((lanes[0] + lanes[2]) + (lanes[1] + lanes[3])) + tail


@intrinsic
def _dot_vector(typing_context, A, i, B, k):
    """The same product as vector instructions: numba alone keeps such a sum scalar, at half the speed."""
    if not A.layout == B.layout == "C":
        raise TypingError("rows must lie one after the other: pass C-contiguous arrays, as from np.ascontiguousarray.")
    double, vector = ir.DoubleType(), ir.VectorType(ir.DoubleType(), LANES)

    def row(context, builder, array_type, array, index):
        """Pointer to the first element of a row of a C-contiguous array, and a function that loads as double."""
        a = context.make_array(array_type)(context, builder, array)
        n = builder.extract_value(a.shape, 1)
        start = builder.gep(a.data, [builder.mul(index, n)])
        element = context.get_data_type(array_type.dtype)

        def load(j, lanes):
            kind = ir.VectorType(element, lanes) if lanes > 1 else element
            pointer = builder.bitcast(builder.gep(start, [j]), kind.as_pointer())
            value = builder.load(pointer, align=array_type.dtype.bitwidth // 8)
            wide = vector if lanes > 1 else double
            return value if array_type.dtype == types.float64 else builder.fpext(value, wide)

        return n, load

    def codegen(context, builder, signature, args):
        a_type, _, b_type, _ = signature.args
        n, load_a = row(context, builder, a_type, args[0], args[1])
        _, load_b = row(context, builder, b_type, args[2], args[3])
        whole = builder.and_(n, ir.Constant(n.type, -LANES))

        def accumulate(start, stop, lanes, zero):
            total = cgutils.alloca_once_value(builder, zero)
            step = ir.Constant(n.type, lanes)
            with cgutils.for_range_slice(builder, start, stop, step, intp=n.type) as (j, _):
                product = builder.fmul(load_a(j, lanes), load_b(j, lanes))
                builder.store(builder.fadd(builder.load(total), product), total)
            return builder.load(total)

        lanes = accumulate(ir.Constant(n.type, 0), whole, LANES, ir.Constant(vector, [0.0] * LANES))
        tail = accumulate(whole, n, 1, ir.Constant(double, 0.0))
        a, b, c, d = (builder.extract_element(lanes, ir.Constant(ir.IntType(32), lane)) for lane in range(LANES))
        total = builder.fadd(builder.fadd(a, c), builder.fadd(b, d))  # upper half of a register onto the lower
        return builder.fadd(total, tail)

    return types.float64(A, types.intp, B, types.intp), codegen


dot = _dot_python if config.DISABLE_JIT else _dot_vector


@njit(cache=True, forceinline=True, error_model="numpy")
def score(data, indices, indptr, i, one, W, k):
    """``(x_i, one) . W[k]``.

    >>> score(np.ones((1, 2)), None, None, 0, 1.0, np.ones((1, 3)), 0)
    3.0
    """
    if data.ndim == 2:
        total = dot(data, i, W, k)
        if indptr is not None:
            total += indptr[k, i]
    else:
        total = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            total += float(data[at]) * W[k, indices[at]]
    return total + one * W[k, W.shape[1] - 1]


@njit(cache=True, forceinline=True, error_model="numpy")
def squared_norm(data, indices, indptr, i, one):
    """``||(x_i, one)||^2``.

    >>> squared_norm(np.ones((1, 2)), None, None, 0, 1.0)
    3.0
    """
    if data.ndim == 2:
        total = dot(data, i, data, i) if indptr is None else float(data[i, i])
    else:
        total = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[at])  # float() would stay in single precision here
            total += value * value
    return total + one * one


@njit(cache=True, forceinline=True, error_model="numpy")
def product(data, indices, indptr, i, k, one):
    """``(x_i, one) . (x_k, one)``; CSR rows with sorted indices.

    >>> product(np.eye(2), None, None, 0, 1, 1.0)
    1.0
    """
    if data.ndim == 2:
        total = dot(data, i, data, k) if indptr is None else float(data[i, k])
    else:
        total = 0.0
        at, to = indptr[i], indptr[k]
        while at < indptr[i + 1] and to < indptr[k + 1]:
            if indices[at] == indices[to]:
                total += float(data[at]) * float(data[to])
                at += 1
                to += 1
            elif indices[at] < indices[to]:
                at += 1
            else:
                to += 1
    return total + one * one


@njit(cache=True, forceinline=True, error_model="numpy")
def add(data, indices, indptr, i, one, scale, W, k):
    """``W[k] += scale * (x_i, one)``, in place.

    >>> W = np.zeros((1, 3)); add(np.ones((1, 2)), None, None, 0, 1.0, 3.0, W, 0); W.tolist()
    [[3.0, 3.0, 3.0]]
    """
    if data.ndim == 2:
        if indptr is None:
            for j in range(data.shape[1]):
                W[k, j] += scale * float(data[i, j])
        else:
            W[k, i] += scale
    else:
        for at in range(indptr[i], indptr[i + 1]):
            W[k, indices[at]] += scale * float(data[at])
    W[k, W.shape[1] - 1] += scale * one


@njit(cache=True, forceinline=True, error_model="numpy")
def shift(data, indices, indptr, i, one, by, W, drift, k, before):
    """``W[k] += by * (x_i, one)``, and with averaging ``before`` times as much onto ``drift[k]``.

    >>> W, drift = np.zeros((1, 2)), np.zeros((1, 2))
    >>> shift(np.ones((1, 1)), None, None, 0, 1.0, 3.0, W, drift, 0, 2); drift.tolist()
    [[6.0, 6.0]]
    """
    add(data, indices, indptr, i, one, by, W, k)
    if drift.shape[0] > 0:
        add(data, indices, indptr, i, one, by * before, drift, k)


@njit(cache=True, forceinline=True, error_model="numpy")
def rank(data, indices, indptr, i, one, W, scores):
    """Score row ``i`` for every class into ``scores``: the best class, the second-best, and 0, or NaN on overflow.

    Of equals the first is the better.

    >>> rank(np.ones((1, 1)), None, None, 0, 0.0, np.array([[3.0, 0.0], [1.0, 0.0], [3.0, 0.0]]), np.empty(3))
    (0, 2, 0.0)
    """
    first, finite = 0, 0.0
    for k in range(W.shape[0]):
        scores[k] = score(data, indices, indptr, i, one, W, k)
        finite += scores[k] - scores[k]
        if scores[k] > scores[first]:
            first = k
    second = 1 if first == 0 else 0
    for k in range(W.shape[0]):
        if k != first and scores[k] > scores[second]:
            second = k
    return first, second, finite
